// SPDX-License-Identifier: Apache-2.0
// A strict JSON scanner (RFC 8259) over one bounded line.
#include "common/wire/json_scan.h"

#include <string.h>

#include "common/wire/utf8.h"

void nvab_json_scan_begin(struct nvab_json_scan* scan, const char* text, size_t len) {
  *scan = (struct nvab_json_scan){.text = text, .len = len};
}

bool nvab_json_fail(struct nvab_json_scan* scan, const char* problem) {
  if (scan->problem == NULL) scan->problem = problem;
  return false;
}

// The next byte, or 0 at the end and after a failure (a zero byte in the text fits no rule either).
static char peek(const struct nvab_json_scan* scan) {
  return scan->problem == NULL && scan->at < scan->len ? scan->text[scan->at] : '\0';
}

static char peek_value(struct nvab_json_scan* scan) {
  char c = peek(scan);
  while (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
    scan->at++;
    c = peek(scan);
  }
  return c;
}

static bool take(struct nvab_json_scan* scan, char c, const char* problem) {
  if (peek_value(scan) != c) return nvab_json_fail(scan, problem);
  scan->at++;
  return true;
}

bool nvab_json_enter(struct nvab_json_scan* scan, char bracket) {
  return take(scan, bracket, bracket == '{' ? "an object was expected" : "a list was expected");
}

bool nvab_json_next(struct nvab_json_scan* scan, char bracket, size_t* count) {
  const char end = bracket == '{' ? '}' : ']';
  const char c = peek_value(scan);
  if (scan->problem != NULL) return false;
  if (c == end) {
    scan->at++;
    return false;
  }
  if (*count > 0 && !take(scan, ',', "a comma or the end of the list was expected")) return false;
  ++*count;
  return true;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Four hexadecimal digits at the scan's place.
static bool read_hex(struct nvab_json_scan* scan, unsigned long* code) {
  *code = 0;
  for (int i = 0; i < 4; i++) {
    const int digit = hex_digit(peek(scan));
    if (digit < 0) return nvab_json_fail(scan, "\\u needs four hexadecimal digits");
    *code = *code * 16 + (unsigned long)digit;
    scan->at++;
  }
  return true;
}

// What follows "\u"; a pair of surrogates is one character.
static bool read_code(struct nvab_json_scan* scan, unsigned long* code) {
  unsigned long low = 0;
  if (!read_hex(scan, code)) return false;
  if (*code == 0) return nvab_json_fail(scan, "a string holds a zero character");
  if (*code < 0xD800 || *code > 0xDFFF) return true;
  if (*code > 0xDBFF || scan->len - scan->at < 2 || memcmp(scan->text + scan->at, "\\u", 2) != 0) {
    return nvab_json_fail(scan, "a surrogate stands alone");
  }
  scan->at += 2;
  if (!read_hex(scan, &low)) return false;
  if (low < 0xDC00 || low > 0xDFFF) return nvab_json_fail(scan, "a surrogate stands alone");
  *code = 0x10000 + ((*code - 0xD800) << 10) + (low - 0xDC00);
  return true;
}

// One character of a string, decoded into at most 4 bytes. Returns their number, 0 on failure.
static size_t read_character(struct nvab_json_scan* scan, char out[4]) {
  static const char escapes[] = "\"\\/bfnrt";
  static const char meanings[] = "\"\\/\b\f\n\r\t";
  const size_t length = nvab_utf8_length(scan->text + scan->at, scan->len - scan->at);
  unsigned long code = 0;
  if (length == 0) return nvab_json_fail(scan, "a string is not UTF-8, or has no end");
  if ((unsigned char)peek(scan) < 0x20) {
    return nvab_json_fail(scan, "a string holds a control character");
  }
  if (peek(scan) != '\\') {
    memcpy(out, scan->text + scan->at, length);
    scan->at += length;
    return length;
  }
  scan->at++;
  const char* escape = peek(scan) != '\0' ? strchr(escapes, peek(scan)) : NULL;
  if (escape != NULL) {
    out[0] = meanings[escape - escapes];
    scan->at++;
    return 1;
  }
  if (peek(scan) != 'u') return nvab_json_fail(scan, "an escape is unknown");
  scan->at++;
  return read_code(scan, &code) ? nvab_utf8_encode(code, out) : 0;
}

// With out == NULL the string is only checked. Where it does not fit, *fits becomes false, `out`
// empty, and the rest is only checked.
static bool read_string(struct nvab_json_scan* scan, char* out, size_t size, bool* fits) {
  size_t used = 0;
  *fits = true;
  if (!take(scan, '"', "a string was expected")) return false;
  while (peek(scan) != '"') {
    char character[4];
    const size_t length = read_character(scan, character);
    if (length == 0) return false;
    if (out == NULL || !*fits) continue;
    *fits = length < size - used;
    if (!*fits) continue;
    memcpy(out + used, character, length);
    used += length;
  }
  scan->at++;
  if (out != NULL) out[*fits ? used : 0] = '\0';
  return true;
}

bool nvab_json_read_text(struct nvab_json_scan* scan, char* out, size_t size) {
  bool fits = true;
  return read_string(scan, out, size, &fits) &&
         (fits || nvab_json_fail(scan, "a string is too long"));
}

static bool take_colon(struct nvab_json_scan* scan) {
  return take(scan, ':', "a colon was expected");
}

bool nvab_json_name(struct nvab_json_scan* scan, char* name, size_t size) {
  bool fits = true;
  return read_string(scan, name, size, &fits) && take_colon(scan);
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool nvab_json_read_u64(struct nvab_json_scan* scan, uint64_t max, uint64_t* out) {
  uint64_t value = 0;
  if (!is_digit(peek_value(scan))) return nvab_json_fail(scan, "a whole number was expected");
  const bool leads_with_zero = peek(scan) == '0';
  while (is_digit(peek(scan))) {
    const uint64_t digit = (uint64_t)(peek(scan) - '0');
    if (digit > max || value > (max - digit) / 10) {
      return nvab_json_fail(scan, "a number is too large");
    }
    value = value * 10 + digit;
    scan->at++;
    if (leads_with_zero && is_digit(peek(scan))) {
      return nvab_json_fail(scan, "a number has a leading zero");
    }
  }
  if (peek(scan) == '.' || peek(scan) == 'e' || peek(scan) == 'E') {
    return nvab_json_fail(scan, "a whole number was expected");
  }
  *out = value;
  return true;
}

static bool take_word(struct nvab_json_scan* scan, const char* word) {
  const size_t length = strlen(word);
  peek_value(scan);
  if (scan->problem != NULL || scan->len - scan->at < length ||
      memcmp(scan->text + scan->at, word, length) != 0) {
    return false;
  }
  scan->at += length;
  return true;
}

bool nvab_json_read_bool(struct nvab_json_scan* scan, bool* out) {
  *out = take_word(scan, "true");
  return *out || take_word(scan, "false") || nvab_json_fail(scan, "true or false was expected");
}

bool nvab_json_take_null(struct nvab_json_scan* scan) { return take_word(scan, "null"); }

// `width` digits; -1 where there are others.
static int fixed_digits(const char* text, size_t width) {
  int value = 0;
  for (size_t i = 0; i < width; i++) {
    if (!is_digit(text[i])) return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

// Days from 1970-01-01 (Howard Hinnant's days_from_civil), for the years 1970 to 9999.
static int64_t days_since_1970(int64_t year, int64_t month, int64_t day) {
  const int64_t shifted = year - (month <= 2 ? 1 : 0);
  const int64_t era = shifted / 400;
  const int64_t year_of_era = shifted - era * 400;
  const int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year - 719468;
}

static int days_in_month(int year, int month) {
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return month == 2 && leap ? 29 : days[month - 1];
}

// ".123456Z" or "Z": microseconds, -1 where it is neither.
static int64_t read_fraction(const char* text) {
  int64_t us = 0;
  size_t digits = 0;
  if (text[0] == 'Z') return text[1] == '\0' ? 0 : -1;
  if (text[0] != '.') return -1;
  for (; is_digit(text[1 + digits]); digits++) {
    if (digits < 6) us = us * 10 + (text[1 + digits] - '0');
  }
  if (digits == 0 || strcmp(text + 1 + digits, "Z") != 0) return -1;
  for (; digits < 6; digits++) us *= 10;
  return us;
}

bool nvab_json_read_time(struct nvab_json_scan* scan, int64_t* wall_us) {
  static const char problem[] = "a time such as 2026-03-01T10:59:58.123456Z was expected";
  char text[36];
  if (!nvab_json_read_text(scan, text, sizeof text)) return false;
  if (strlen(text) < 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' ||
      text[16] != ':') {
    return nvab_json_fail(scan, problem);
  }
  const int year = fixed_digits(text, 4), month = fixed_digits(text + 5, 2);
  const int day = fixed_digits(text + 8, 2), hour = fixed_digits(text + 11, 2);
  const int minute = fixed_digits(text + 14, 2), second = fixed_digits(text + 17, 2);
  const int64_t fraction = read_fraction(text + 19);
  if (year < 1970 || month < 1 || month > 12 || day < 1 || day > days_in_month(year, month) ||
      hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60 ||
      fraction < 0) {
    return nvab_json_fail(scan, problem);
  }
  const int64_t seconds =
      days_since_1970(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
  *wall_us = seconds * 1000000 + fraction;
  return true;
}

static bool skip_number(struct nvab_json_scan* scan) {
  const size_t start = scan->at;
  if (peek(scan) == '-') scan->at++;
  if (peek(scan) == '0') {
    scan->at++;
  } else {
    while (is_digit(peek(scan))) scan->at++;
  }
  if (scan->at == start || !is_digit(scan->text[scan->at - 1])) {
    return nvab_json_fail(scan, "a value was expected");
  }
  if (peek(scan) == '.') {
    scan->at++;
    while (is_digit(peek(scan))) scan->at++;
    if (scan->text[scan->at - 1] == '.')
      return nvab_json_fail(scan, "a number has no digits after its point");
  }
  if (peek(scan) != 'e' && peek(scan) != 'E') return true;
  scan->at++;
  if (peek(scan) == '+' || peek(scan) == '-') scan->at++;
  if (!is_digit(peek(scan))) return nvab_json_fail(scan, "a number has no exponent after its e");
  while (is_digit(peek(scan))) scan->at++;
  return true;
}

static bool skip(struct nvab_json_scan* scan, int depth) {
  size_t count = 0;
  bool fits = true;
  const char c = peek_value(scan);
  if (c == '"') return read_string(scan, NULL, 0, &fits);
  if (c == 't' || c == 'f' || c == 'n') {
    return take_word(scan, "true") || take_word(scan, "false") || take_word(scan, "null") ||
           nvab_json_fail(scan, "a value was expected");
  }
  if (c != '{' && c != '[') return skip_number(scan);
  if (depth == 0) return nvab_json_fail(scan, "the value is nested too deeply");
  nvab_json_enter(scan, c);
  while (nvab_json_next(scan, c, &count)) {
    if (c == '{' && !(read_string(scan, NULL, 0, &fits) && take_colon(scan))) break;
    if (!skip(scan, depth - 1)) break;
  }
  return scan->problem == NULL;
}

bool nvab_json_skip(struct nvab_json_scan* scan) { return skip(scan, NVAB_JSON_MAX_DEPTH); }

bool nvab_json_at_end(struct nvab_json_scan* scan) {
  peek_value(scan);
  return scan->problem == NULL && scan->at == scan->len;
}
