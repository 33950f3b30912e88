// SPDX-License-Identifier: Apache-2.0
// The table of the task record's fields, from which writer and reader both work. Private to
// task_record.c and task_parse.c.
#ifndef NVAB_COMMON_WIRE_TASK_FIELDS_H
#define NVAB_COMMON_WIRE_TASK_FIELDS_H

#include "common/wire/task_record.h"

enum nvab_field_type {
  nvab_field_u32,
  nvab_field_u64,
  nvab_field_bool,
  nvab_field_time,
  nvab_field_text,
  nvab_field_step,
  nvab_field_stream,
  nvab_field_devices,
  nvab_field_oom,
  nvab_field_cut,
};

// On which kinds of line a field may, and must, stand: bits by enum nvab_task_kind.
#define NVAB_ON(kind) (1u << nvab_task_kind_##kind)
#define NVAB_ON_ALL (NVAB_ON(step) | NVAB_ON(task_start) | NVAB_ON(task_end) | NVAB_ON(step_end))

struct nvab_field {
  const char* name;
  enum nvab_field_type type;
  unsigned on;
  unsigned required;
  size_t offset;  // in struct nvab_task_record
  size_t size;    // room of a text
  uint64_t max;   // of a number
};

// Indexed by enum nvab_task_field.
extern const struct nvab_field nvab_task_fields[nvab_task_field_count];

extern const char* const nvab_task_kinds[4];
extern const char* const nvab_stream_types[6];
extern const char* const nvab_oom_groups[nvab_oom_group_count];

#endif
