// SPDX-License-Identifier: Apache-2.0
// The task record's reader over hostile lines. What it takes, the writer writes and it takes again:
// then both must be the same line.
#include <cstdlib>
#include <cstring>

#include "common/wire/task_record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static char first[NVAB_TASK_LINE_MAX * 4], second[NVAB_TASK_LINE_MAX * 4];
  nvab_task_record record;
  nvab_task_error error;
  const char* text = reinterpret_cast<const char*>(data);
  if (nvab_task_parse(text, size, &record, &error) != nvab_task_ok) {
    if (std::strlen(error.message) < 20 || error.offset > size) std::abort();
    return 0;
  }
  // A reader takes control characters that the writer would have left out: six bytes for one.
  const size_t length = nvab_task_format(&record, first, sizeof first);
  if (length == 0) std::abort();
  if (length > NVAB_TASK_LINE_MAX) return 0;
  if (nvab_task_parse(first, length, &record, &error) != nvab_task_ok) std::abort();
  if (nvab_task_format(&record, second, sizeof second) != length) std::abort();
  if (std::memcmp(first, second, length) != 0) std::abort();
  return 0;
}
