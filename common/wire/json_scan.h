// SPDX-License-Identifier: Apache-2.0
// Reads one line of hostile JSON step by step: strict, bounded, without allocation or recursion
// that the input controls. Every function leaves the scan failed for good at the first problem.
#ifndef NVAB_COMMON_WIRE_JSON_SCAN_H
#define NVAB_COMMON_WIRE_JSON_SCAN_H

// NOLINTBEGIN(modernize-deprecated-headers): this is C, too
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
// NOLINTEND(modernize-deprecated-headers)

#ifdef __cplusplus
extern "C" {
#endif

// Nothing we write is deeper than 3; a newer writer may add a little.
#define NVAB_JSON_MAX_DEPTH 8

struct nvab_json_scan {
  const char* text;  // of the caller, must outlive the scan; need not end with a zero
  size_t len;
  size_t at;            // where the scan stands; after a failure, where it failed
  const char* problem;  // NULL while all is well; else a phrase such as "a string has no end"
};

void nvab_json_scan_begin(struct nvab_json_scan* scan, const char* text, size_t len);

// Records the problem unless there is one already. Returns false, for `return nvab_json_fail(…)`.
bool nvab_json_fail(struct nvab_json_scan* scan, const char* problem);

// Takes the opening bracket. Then, as long as nvab_json_next returns true, one element (with its
// nvab_json_name before it in an object) must be taken; when it returns false, the closing bracket
// was taken, or the scan has failed. `count` is the caller's, 0 at first; it counts the elements.
// A name that does not fit comes out as "": it can be none that the caller knows.
bool nvab_json_enter(struct nvab_json_scan* scan, char bracket);
bool nvab_json_next(struct nvab_json_scan* scan, char bracket, size_t* count);
bool nvab_json_name(struct nvab_json_scan* scan, char* name, size_t size);

// A string, decoded, with a final zero. Fails where it does not fit, is not UTF-8, or holds a zero.
bool nvab_json_read_text(struct nvab_json_scan* scan, char* out, size_t size);

// A whole number from 0 to `max`, written without sign, fraction or exponent.
bool nvab_json_read_u64(struct nvab_json_scan* scan, uint64_t max, uint64_t* out);

bool nvab_json_read_bool(struct nvab_json_scan* scan, bool* out);

// A string with an RFC 3339 time in UTC ("…Z"), as microseconds since 1970; further digits are cut.
bool nvab_json_read_time(struct nvab_json_scan* scan, int64_t* wall_us);

// Takes "null" if that comes next.
bool nvab_json_take_null(struct nvab_json_scan* scan);

// Checks and skips any value.
bool nvab_json_skip(struct nvab_json_scan* scan);

// True where nothing but white space is left.
bool nvab_json_at_end(struct nvab_json_scan* scan);

#ifdef __cplusplus
}
#endif

#endif
