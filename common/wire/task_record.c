// SPDX-License-Identifier: Apache-2.0
// The task record's table of fields, and its writer.
#include "common/wire/task_record.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/wire/json_line.h"
#include "common/wire/json_scan.h"
#include "common/wire/task_fields.h"
#include "common/wire/utf8.h"

const char* const nvab_task_kinds[4] = {"step", "task_start", "task_end", "step_end"};
const char* const nvab_stream_types[6] = {"file", "deleted", "pipe", "socket", "device", "other"};
const char* const nvab_oom_groups[nvab_oom_group_count] = {"job", "step", "task"};

#define AT(member) offsetof(struct nvab_task_record, member)
#define ROOM(member) sizeof(((struct nvab_task_record*)0)->member)
#define NUMBER(field, on, required) \
  [nvab_task_##field] = {#field, nvab_field_u32, on, required, AT(field), 0, UINT32_MAX}
#define LIMITED(field, on, required, max) \
  [nvab_task_##field] = {#field, nvab_field_u32, on, required, AT(field), 0, max}
#define TEXT(field, on, required) \
  [nvab_task_##field] = {#field, nvab_field_text, on, required, AT(field), ROOM(field), 0}
#define OTHER(field, type, on, required, member) \
  [nvab_task_##field] = {#field, nvab_field_##type, on, required, AT(member), 0, 0}

enum {
  all = NVAB_ON_ALL,
  step = NVAB_ON(step),
  start = NVAB_ON(task_start),
  end = NVAB_ON(task_end),
  step_end = NVAB_ON(step_end),
};

const struct nvab_field nvab_task_fields[nvab_task_field_count] = {
    TEXT(cluster, all, 0),
    NUMBER(job_id, all, all),
    NUMBER(array_job_id, all, 0),
    NUMBER(array_task_id, all, 0),
    NUMBER(het_job_id, all, 0),
    NUMBER(het_offset, all, 0),
    OTHER(step_id, step, all, all, step_id),
    TEXT(node, all, all),
    NUMBER(node_id, all, 0),
    NUMBER(restart_count, all, all),
    NUMBER(uid, all, 0),
    OTHER(time, time, all, all, wall_us),
    [nvab_task_mono_us] = {"mono_us", nvab_field_u64, all, 0, AT(mono_us), 0, UINT64_MAX},
    TEXT(boot_id, step, 0),
    TEXT(slurm_version, step, 0),
    TEXT(mode, step, 0),
    NUMBER(nodes, step, 0),
    NUMBER(tasks, step, 0),
    NUMBER(local_tasks, step, 0),
    NUMBER(task_id, start | end, start | end),
    NUMBER(local_id, start | end, 0),
    NUMBER(pid, start | end, 0),
    LIMITED(exit_code, end, 0, 255),
    LIMITED(signal, end, 0, 127),  // what a wait status can hold
    OTHER(core, bool, end, 0, core),
    TEXT(time_source, end, 0),
    OTHER(oom_kill, oom, end | step_end, 0, oom_kill),
    NUMBER(tasks_ended, step_end, 0),
    NUMBER(lines_lost, step_end, 0),
    TEXT(job_gpus, step | start, 0),
    TEXT(step_gpus, step | start, 0),
    TEXT(cuda_visible_devices, start, 0),
    OTHER(gpu_devices, devices, step, 0, gpu_devices),
    TEXT(cgroup, start, 0),
    TEXT(cwd, start, 0),
    OTHER(stdout, stream, start, 0, stdout_to),
    OTHER(stderr, stream, start, 0, stderr_to),
    OTHER(cut, cut, all, 0, cut),
};

static uint64_t bit(enum nvab_task_field field) { return UINT64_C(1) << field; }

bool nvab_task_has(const struct nvab_task_record* record, enum nvab_task_field field) {
  return (record->present & bit(field)) != 0;
}

const char* nvab_task_field_name(enum nvab_task_field field) {
  return nvab_task_fields[field].name;
}

const char* nvab_task_kind_name(enum nvab_task_kind kind) { return nvab_task_kinds[kind]; }

static const struct {
  uint32_t id;
  const char* name;
} named_steps[] = {
    {NVAB_STEP_BATCH, "batch"},
    {NVAB_STEP_EXTERN, "extern"},
    {NVAB_STEP_INTERACTIVE, "interactive"},
};

const char* nvab_step_text(uint32_t step_id, char out[NVAB_STEP_TEXT_SIZE]) {
  char digits[21];
  for (size_t i = 0; i < sizeof named_steps / sizeof named_steps[0]; i++) {
    const char* name = named_steps[i].name;
    if (named_steps[i].id == step_id) return memcpy(out, name, strlen(name) + 1);
  }
  nvab_format_u64(step_id, digits);
  return memcpy(out, digits, strlen(digits) + 1);
}

bool nvab_step_number(const char* text, uint32_t* step_id) {
  struct nvab_json_scan scan;
  uint64_t number = 0;
  for (size_t i = 0; i < sizeof named_steps / sizeof named_steps[0]; i++) {
    if (strcmp(named_steps[i].name, text) == 0) {
      *step_id = named_steps[i].id;
      return true;
    }
  }
  if (text[0] < '0' || text[0] > '9') return false;
  nvab_json_scan_begin(&scan, text, strlen(text));
  if (!nvab_json_read_u64(&scan, UINT32_MAX, &number) || scan.at != scan.len) return false;
  *step_id = (uint32_t)number;
  return true;
}

void nvab_task_begin(struct nvab_task_record* record, enum nvab_task_kind kind) {
  memset(record, 0, sizeof *record);
  record->kind = kind;
}

void nvab_task_mark(struct nvab_task_record* record, enum nvab_task_field field) {
  record->present |= bit(field);
}

bool nvab_task_set(struct nvab_task_record* record, enum nvab_task_field field, uint64_t value) {
  const struct nvab_field* about = &nvab_task_fields[field];
  char* place = (char*)record + about->offset;
  switch (about->type) {
    case nvab_field_u32:
      if (value > about->max) return false;
      *(uint32_t*)place = (uint32_t)value;
      break;
    case nvab_field_step:
      if (value > UINT32_MAX) return false;
      *(uint32_t*)place = (uint32_t)value;
      break;
    case nvab_field_u64:
      *(uint64_t*)place = value;
      break;
    case nvab_field_time:
      *(int64_t*)place = (int64_t)value;
      break;
    case nvab_field_bool:
      if (value > 1) return false;
      *(bool*)place = value != 0;
      break;
    case nvab_field_text:
    case nvab_field_stream:
    case nvab_field_devices:
    case nvab_field_oom:
    case nvab_field_cut:
      return false;
  }
  nvab_task_mark(record, field);
  return true;
}

// A text that fits, is UTF-8, and needs at most two bytes a byte on the line: the line's limit
// counts on that.
static bool is_fit(const char* text, size_t room, size_t* length) {
  *length = strnlen(text, room);
  if (*length == room || !nvab_utf8_valid(text, *length)) return false;
  for (size_t i = 0; i < *length; i++) {
    if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F) return false;
  }
  return true;
}

void nvab_task_leave_out(struct nvab_task_record* record, enum nvab_task_field field) {
  record->cut |= bit(field);
  nvab_task_mark(record, nvab_task_cut);
}

static bool leave_out(struct nvab_task_record* record, enum nvab_task_field field) {
  nvab_task_leave_out(record, field);
  return false;
}

bool nvab_task_set_text(struct nvab_task_record* record, enum nvab_task_field field,
                        const char* text) {
  const struct nvab_field* about = &nvab_task_fields[field];
  size_t length = 0;
  if (about->type != nvab_field_text) return false;
  if (text == NULL) return true;
  if (!is_fit(text, about->size, &length)) return leave_out(record, field);
  memcpy((char*)record + about->offset, text, length + 1);
  nvab_task_mark(record, field);
  return true;
}

bool nvab_task_set_stream(struct nvab_task_record* record, enum nvab_task_field field,
                          const struct nvab_task_stream* stream) {
  const struct nvab_field* about = &nvab_task_fields[field];
  struct nvab_task_stream* place = (struct nvab_task_stream*)((char*)record + about->offset);
  size_t length = 0;
  if (about->type != nvab_field_stream) return false;
  *place = *stream;
  nvab_task_mark(record, field);
  if (is_fit(stream->path, sizeof stream->path, &length)) return true;
  place->path[0] = '\0';
  return leave_out(record, field);
}

static void put_stream(struct nvab_json_line* line, const struct nvab_task_stream* stream) {
  const char* type = nvab_stream_types[stream->type];
  nvab_json_open(line, '{');
  nvab_json_key(line, "type");
  nvab_json_text(line, type, strlen(type));
  if (stream->path[0] != '\0') {
    nvab_json_key(line, "path");
    nvab_json_text(line, stream->path, strlen(stream->path));
  }
  nvab_json_key(line, "dev");
  nvab_json_u64(line, stream->dev);
  nvab_json_key(line, "ino");
  nvab_json_u64(line, stream->ino);
  nvab_json_close(line, '}');
}

static void put_known_text(struct nvab_json_line* line, const char* name, const char* text) {
  if (text[0] == '\0') return;
  nvab_json_key(line, name);
  nvab_json_text(line, text, strlen(text));
}

static void put_devices(struct nvab_json_line* line, const struct nvab_task_record* record) {
  nvab_json_open(line, '[');
  for (size_t i = 0; i < record->gpu_device_count && i < NVAB_TASK_DEVICES_MAX; i++) {
    nvab_json_open(line, '{');
    nvab_json_key(line, "minor");
    nvab_json_u64(line, record->gpu_devices[i].minor);
    put_known_text(line, "pci", record->gpu_devices[i].pci);
    put_known_text(line, "uuid", record->gpu_devices[i].uuid);
    nvab_json_close(line, '}');
  }
  nvab_json_close(line, ']');
}

static void put_oom(struct nvab_json_line* line, const struct nvab_task_record* record) {
  nvab_json_open(line, '{');
  for (size_t i = 0; i < nvab_oom_group_count; i++) {
    if (record->oom_kill[i] == NVAB_OOM_UNKNOWN) continue;
    nvab_json_key(line, nvab_oom_groups[i]);
    nvab_json_u64(line, record->oom_kill[i]);
  }
  nvab_json_close(line, '}');
}

static void put_cut(struct nvab_json_line* line, uint64_t cut) {
  nvab_json_open(line, '[');
  for (unsigned field = 0; field < nvab_task_field_count; field++) {
    const char* name = nvab_task_fields[field].name;
    if ((cut & bit(field)) != 0) nvab_json_text(line, name, strlen(name));
  }
  nvab_json_close(line, ']');
}

static void put_value(struct nvab_json_line* line, const struct nvab_task_record* record,
                      const struct nvab_field* about) {
  const char* place = (const char*)record + about->offset;
  char text[NVAB_STEP_TEXT_SIZE];
  switch (about->type) {
    case nvab_field_u32:
      nvab_json_u64(line, *(const uint32_t*)place);
      return;
    case nvab_field_u64:
      nvab_json_u64(line, *(const uint64_t*)place);
      return;
    case nvab_field_bool:
      nvab_json_bool(line, *(const bool*)place);
      return;
    case nvab_field_time:
      nvab_json_time(line, *(const int64_t*)place);
      return;
    case nvab_field_text:
      nvab_json_text(line, place, strnlen(place, about->size));
      return;
    case nvab_field_step:
      nvab_step_text(*(const uint32_t*)place, text);
      nvab_json_text(line, text, strlen(text));
      return;
    case nvab_field_stream:
      put_stream(line, (const struct nvab_task_stream*)place);
      return;
    case nvab_field_devices:
      put_devices(line, record);
      return;
    case nvab_field_oom:
      put_oom(line, record);
      return;
    case nvab_field_cut:
      put_cut(line, record->cut);
      return;
  }
}

size_t nvab_task_format(const struct nvab_task_record* record, char* out, size_t size) {
  const char* kind = nvab_task_kind_name(record->kind);
  struct nvab_json_line line;
  nvab_json_begin(&line, out, size);
  nvab_json_open(&line, '{');
  nvab_json_key(&line, "v");
  nvab_json_u64(&line, NVAB_TASK_RECORD_VERSION);
  nvab_json_key(&line, "kind");
  nvab_json_text(&line, kind, strlen(kind));
  for (unsigned field = 0; field < nvab_task_field_count; field++) {
    const struct nvab_field* about = &nvab_task_fields[field];
    if (!nvab_task_has(record, (enum nvab_task_field)field)) continue;
    if ((about->on & (1u << record->kind)) == 0) continue;
    nvab_json_key(&line, about->name);
    put_value(&line, record, about);
  }
  nvab_json_close(&line, '}');
  return nvab_json_end(&line);
}

int nvab_task_write(int fd, const struct nvab_task_record* record) {
  char line[NVAB_TASK_LINE_MAX];
  const size_t length = nvab_task_format(record, line, sizeof line);
  if (length == 0) return EMSGSIZE;
  const ssize_t written = write(fd, line, length);
  if (written < 0) return errno;
  if ((size_t)written == length) return 0;
  // Keeps the damage to this line, should there be room for one byte more.
  return write(fd, "\n", 1) < 0 ? errno : ENOSPC;
}

size_t nvab_task_file_name(const struct nvab_task_record* record,
                           char out[NVAB_TASK_FILE_NAME_SIZE]) {
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  char text[NVAB_STEP_TEXT_SIZE];
  size_t used = nvab_format_u64(record->job_id, out);
  out[used++] = '.';
  nvab_step_text(record->step_id, text);
  memcpy(out + used, text, strlen(text));
  used += strlen(text);
  out[used++] = '.';
  for (const char* c = record->node; *c != '\0'; c++) {
    out[used++] = strchr(plain, *c) != NULL ? *c : '_';
  }
  out[used++] = '.';
  used += nvab_format_u64((uint64_t)record->wall_us, out + used);
  memcpy(out + used, ".ndjson", sizeof ".ndjson");
  return used + strlen(".ndjson");
}
