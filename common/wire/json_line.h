// SPDX-License-Identifier: Apache-2.0
// Writes one line of JSON into a buffer of the caller: bounded, no allocation, no locale, no lock,
// so that it may run in slurmstepd, in the child of a threaded process, and in the epilog.
#ifndef NVAB_COMMON_WIRE_JSON_LINE_H
#define NVAB_COMMON_WIRE_JSON_LINE_H

// NOLINTBEGIN(modernize-deprecated-headers): this is C, too
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
// NOLINTEND(modernize-deprecated-headers)

#ifdef __cplusplus
extern "C" {
#endif

// "2026-03-01T10:59:58.123456Z" and its final zero.
#define NVAB_TIME_TEXT_SIZE 28

// A line being written. Treat the members as private; copy the struct to return to a state.
struct nvab_json_line {
  char* data;     // of the caller
  size_t size;    // room there
  size_t len;     // bytes written
  bool overflow;  // something did not fit: the line is worthless
  bool comma;     // the next value needs one before it
};

// Starts an empty line. Nothing is ever written past data[size - 1].
void nvab_json_begin(struct nvab_json_line* line, char* data, size_t size);

// Brackets: one of { } [ ]. The caller keeps them balanced.
void nvab_json_open(struct nvab_json_line* line, char bracket);
void nvab_json_close(struct nvab_json_line* line, char bracket);

// A member's name; must be plain ASCII without quotes or backslashes.
void nvab_json_key(struct nvab_json_line* line, const char* name);

void nvab_json_u64(struct nvab_json_line* line, uint64_t value);
void nvab_json_i64(struct nvab_json_line* line, int64_t value);
void nvab_json_bool(struct nvab_json_line* line, bool value);
void nvab_json_null(struct nvab_json_line* line);

// A string. Control characters are escaped; each byte that is not UTF-8 becomes U+FFFD.
// Returns how many bytes were replaced in that way.
size_t nvab_json_text(struct nvab_json_line* line, const char* text, size_t len);

// A time in UTC with microseconds, from microseconds since 1970.
void nvab_json_time(struct nvab_json_line* line, int64_t wall_us);

// Ends the line with '\n'. Returns its length with it, or 0 where something did not fit.
size_t nvab_json_end(struct nvab_json_line* line);

// Years 1970 to 9999; what lies outside becomes the nearest of the two ends. gmtime_r is not used:
// it takes glibc's time zone lock, which another thread may have held when this process forked.
void nvab_format_time(int64_t wall_us, char out[NVAB_TIME_TEXT_SIZE]);

// Decimal digits and a final zero into `out` (at least 21 bytes). Returns their number.
size_t nvab_format_u64(uint64_t value, char* out);

#ifdef __cplusplus
}
#endif

#endif
