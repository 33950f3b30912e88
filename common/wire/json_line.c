// SPDX-License-Identifier: Apache-2.0
// A bounded writer of one JSON line. Once something did not fit, nothing more is written.
#include "common/wire/json_line.h"

#include <string.h>

#include "common/wire/utf8.h"

static void put(struct nvab_json_line* line, const char* text, size_t len) {
  if (line->overflow || len > line->size - line->len) {
    line->overflow = true;
    return;
  }
  memcpy(line->data + line->len, text, len);
  line->len += len;
}

static void put_char(struct nvab_json_line* line, char c) { put(line, &c, 1); }

static void before_value(struct nvab_json_line* line) {
  if (line->comma) put_char(line, ',');
  line->comma = true;
}

void nvab_json_begin(struct nvab_json_line* line, char* data, size_t size) {
  *line = (struct nvab_json_line){.data = data, .size = size};
}

void nvab_json_open(struct nvab_json_line* line, char bracket) {
  before_value(line);
  put_char(line, bracket);
  line->comma = false;
}

void nvab_json_close(struct nvab_json_line* line, char bracket) {
  put_char(line, bracket);
  line->comma = true;
}

void nvab_json_key(struct nvab_json_line* line, const char* name) {
  before_value(line);
  put_char(line, '"');
  put(line, name, strlen(name));
  put(line, "\":", 2);
  line->comma = false;
}

size_t nvab_format_u64(uint64_t value, char* out) {
  char reversed[20];
  size_t count = 0;
  do {
    reversed[count++] = (char)('0' + value % 10);
    value /= 10;
  } while (value != 0);
  for (size_t i = 0; i < count; i++) out[i] = reversed[count - 1 - i];
  out[count] = '\0';
  return count;
}

void nvab_json_u64(struct nvab_json_line* line, uint64_t value) {
  char digits[21];
  const size_t count = nvab_format_u64(value, digits);
  before_value(line);
  put(line, digits, count);
}

void nvab_json_i64(struct nvab_json_line* line, int64_t value) {
  if (value >= 0) {
    nvab_json_u64(line, (uint64_t)value);
    return;
  }
  before_value(line);
  put_char(line, '-');
  line->comma = false;
  nvab_json_u64(line, (uint64_t)0 - (uint64_t)value);
}

void nvab_json_bool(struct nvab_json_line* line, bool value) {
  before_value(line);
  put(line, value ? "true" : "false", value ? 4 : 5);
}

void nvab_json_null(struct nvab_json_line* line) {
  before_value(line);
  put(line, "null", 4);
}

static void put_escaped(struct nvab_json_line* line, unsigned char c) {
  static const char hex[] = "0123456789abcdef";
  const char two[] = {'\\', c == '\n' ? 'n' : c == '\t' ? 't' : c == '\r' ? 'r' : (char)c};
  if (c == '"' || c == '\\' || c == '\n' || c == '\t' || c == '\r') {
    put(line, two, 2);
    return;
  }
  const char six[] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
  put(line, six, 6);
}

size_t nvab_json_text(struct nvab_json_line* line, const char* text, size_t len) {
  size_t replaced = 0;
  before_value(line);
  put_char(line, '"');
  for (size_t i = 0; i < len && !line->overflow;) {
    const unsigned char c = (unsigned char)text[i];
    const size_t length = nvab_utf8_length(text + i, len - i);
    if (length == 0) {
      put(line, "\xEF\xBF\xBD", 3);
      replaced++;
      i++;
    } else if (c < 0x20 || c == 0x7F || c == '"' || c == '\\') {
      put_escaped(line, c);
      i++;
    } else {
      put(line, text + i, length);
      i += length;
    }
  }
  put_char(line, '"');
  return replaced;
}

static void put_digits(char* out, size_t width, uint64_t value) {
  while (width > 0) {
    out[--width] = (char)('0' + value % 10);
    value /= 10;
  }
}

void nvab_format_time(int64_t wall_us, char out[NVAB_TIME_TEXT_SIZE]) {
  const int64_t last = INT64_C(253402300799999999);  // 9999-12-31T23:59:59.999999Z
  const uint64_t us = (uint64_t)(wall_us < 0 ? 0 : wall_us > last ? last : wall_us);
  const uint64_t second = us / 1000000 % 86400;
  // Days to a date as Howard Hinnant's civil_from_days does it: years begin in March, so that
  // the leap day is the last of its year.
  const uint64_t days = us / 1000000 / 86400 + 719468;
  const uint64_t era = days / 146097;
  const uint64_t of_era = days % 146097;
  const uint64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  const uint64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const uint64_t march_month = (5 * of_year + 2) / 153;
  const uint64_t month = march_month < 10 ? march_month + 3 : march_month - 9;
  memcpy(out, "0000-00-00T00:00:00.000000Z", NVAB_TIME_TEXT_SIZE);
  put_digits(out, 4, year_of_era + era * 400 + (month <= 2 ? 1 : 0));
  put_digits(out + 5, 2, month);
  put_digits(out + 8, 2, of_year - (153 * march_month + 2) / 5 + 1);
  put_digits(out + 11, 2, second / 3600);
  put_digits(out + 14, 2, second / 60 % 60);
  put_digits(out + 17, 2, second % 60);
  put_digits(out + 20, 6, us % 1000000);
}

void nvab_json_time(struct nvab_json_line* line, int64_t wall_us) {
  char text[NVAB_TIME_TEXT_SIZE];
  nvab_format_time(wall_us, text);
  nvab_json_text(line, text, NVAB_TIME_TEXT_SIZE - 1);
}

size_t nvab_json_end(struct nvab_json_line* line) {
  put_char(line, '\n');
  return line->overflow ? 0 : line->len;
}
