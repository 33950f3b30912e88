// SPDX-License-Identifier: Apache-2.0
// UTF-8 by the table of Unicode 15, section 3.9 (well-formed byte sequences).
#include "common/wire/utf8.h"

static bool is_tail(unsigned char byte) { return (byte & 0xC0) == 0x80; }

// Bounds of the second byte; everything odd about UTF-8 (overlong, surrogate, too large) is there.
static bool second_fits(unsigned char first, unsigned char second) {
  if (first == 0xE0) return second >= 0xA0 && second <= 0xBF;
  if (first == 0xED) return second >= 0x80 && second <= 0x9F;
  if (first == 0xF0) return second >= 0x90 && second <= 0xBF;
  if (first == 0xF4) return second >= 0x80 && second <= 0x8F;
  return is_tail(second);
}

size_t nvab_utf8_length(const char* text, size_t len) {
  const unsigned char* byte = (const unsigned char*)text;
  if (len == 0) return 0;
  if (byte[0] < 0x80) return 1;
  if (byte[0] < 0xC2 || byte[0] > 0xF4) return 0;
  const size_t want = byte[0] < 0xE0 ? 2 : byte[0] < 0xF0 ? 3 : 4;
  if (len < want || !second_fits(byte[0], byte[1])) return 0;
  for (size_t i = 2; i < want; i++) {
    if (!is_tail(byte[i])) return 0;
  }
  return want;
}

bool nvab_utf8_valid(const char* text, size_t len) {
  while (len > 0) {
    const size_t step = nvab_utf8_length(text, len);
    if (step == 0) return false;
    text += step;
    len -= step;
  }
  return true;
}

size_t nvab_utf8_encode(unsigned long code, char* out) {
  unsigned char* byte = (unsigned char*)out;
  if (code < 0x80) {
    byte[0] = (unsigned char)code;
    return 1;
  }
  const size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (size_t i = length - 1; i > 0; i--) {
    byte[i] = (unsigned char)(0x80 | (code & 0x3F));
    code >>= 6;
  }
  const unsigned char lead = length == 2 ? 0xC0 : length == 3 ? 0xE0 : 0xF0;
  byte[0] = (unsigned char)(lead | code);
  return length;
}
