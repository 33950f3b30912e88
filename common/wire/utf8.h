// SPDX-License-Identifier: Apache-2.0
// The one UTF-8 rule that writers and readers of our lines share. libc only, no allocation,
// callable in the child of a threaded process.
#ifndef NVAB_COMMON_WIRE_UTF8_H
#define NVAB_COMMON_WIRE_UTF8_H

// NOLINTBEGIN(modernize-deprecated-headers): this is C, too
#include <stdbool.h>
#include <stddef.h>
// NOLINTEND(modernize-deprecated-headers)

#ifdef __cplusplus
extern "C" {
#endif

// Bytes (1 to 4) of the UTF-8 character that starts at `text`, or 0 where none does: a stray or
// missing continuation byte, an overlong form, a surrogate, a value over U+10FFFF, or len == 0.
size_t nvab_utf8_length(const char* text, size_t len);

// True where all of the text is UTF-8.
bool nvab_utf8_valid(const char* text, size_t len);

// Writes the code point (0 to 0x10FFFF, no surrogate) as 1 to 4 bytes at `out`; returns how many.
size_t nvab_utf8_encode(unsigned long code, char* out);

#ifdef __cplusplus
}
#endif

#endif
