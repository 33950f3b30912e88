// SPDX-License-Identifier: Apache-2.0
// The task record's reader: one hostile line in, a checked struct or a sentence out.
#include <string.h>

#include "common/wire/json_line.h"
#include "common/wire/json_scan.h"
#include "common/wire/task_fields.h"
#include "common/wire/task_record.h"

// Longer than every name that we know; a longer one is skipped as unknown.
#define NAME_SIZE 64

// Index of a word in a list of `count`, or `count`.
static size_t find_word(const char* const* words, size_t count, const char* word) {
  size_t i = 0;
  while (i < count && strcmp(words[i], word) != 0) i++;
  return i;
}

static enum nvab_task_field find_field(const char* name) {
  unsigned field = 0;
  while (field < nvab_task_field_count && strcmp(nvab_task_fields[field].name, name) != 0) field++;
  return (enum nvab_task_field)field;
}

// Reads one of the words of a list; its index goes to *index.
static bool read_word(struct nvab_json_scan* scan, const char* const* words, size_t count,
                      size_t* index) {
  char word[NAME_SIZE];
  if (!nvab_json_read_text(scan, word, sizeof word)) return false;
  *index = find_word(words, count, word);
  return *index < count || nvab_json_fail(scan, "the word is none of those allowed here");
}

static bool read_stream(struct nvab_json_scan* scan, struct nvab_task_stream* stream) {
  static const char* const members[] = {"type", "path", "dev", "ino"};
  unsigned seen = 0;
  size_t count = 0, type = 0;
  if (!nvab_json_enter(scan, '{')) return false;
  while (nvab_json_next(scan, '{', &count)) {
    char name[NAME_SIZE];
    if (!nvab_json_name(scan, name, sizeof name)) return false;
    const size_t member = find_word(members, 4, name);
    if (member < 4 && (seen & (1u << member)) != 0)
      return nvab_json_fail(scan, "a name comes twice");
    seen |= 1u << member;
    if (member == 0) read_word(scan, nvab_stream_types, 6, &type);
    if (member == 1) nvab_json_read_text(scan, stream->path, sizeof stream->path);
    if (member == 2) nvab_json_read_u64(scan, UINT64_MAX, &stream->dev);
    if (member == 3) nvab_json_read_u64(scan, UINT64_MAX, &stream->ino);
    if (member == 4) nvab_json_skip(scan);
  }
  stream->type = (enum nvab_stream_type)type;
  return (seen & 1u) != 0 || nvab_json_fail(scan, "a stream has no type");
}

static bool read_device(struct nvab_json_scan* scan, struct nvab_gpu_device* device) {
  uint64_t minor = 0;
  size_t count = 0;
  bool has_minor = false;
  if (!nvab_json_enter(scan, '{')) return false;
  while (nvab_json_next(scan, '{', &count)) {
    char name[NAME_SIZE];
    if (!nvab_json_name(scan, name, sizeof name)) return false;
    if (strcmp(name, "minor") == 0) {
      has_minor = nvab_json_read_u64(scan, UINT32_MAX, &minor);
    } else if (strcmp(name, "pci") == 0) {
      nvab_json_read_text(scan, device->pci, sizeof device->pci);
    } else if (strcmp(name, "uuid") == 0) {
      nvab_json_read_text(scan, device->uuid, sizeof device->uuid);
    } else {
      nvab_json_skip(scan);
    }
  }
  device->minor = (uint32_t)minor;
  return has_minor || nvab_json_fail(scan, "a GPU has no minor number");
}

static bool read_devices(struct nvab_json_scan* scan, struct nvab_task_record* record) {
  size_t count = 0;
  if (!nvab_json_enter(scan, '[')) return false;
  while (nvab_json_next(scan, '[', &count)) {
    if (count > NVAB_TASK_DEVICES_MAX) return nvab_json_fail(scan, "the list is too long");
    if (!read_device(scan, &record->gpu_devices[count - 1])) return false;
  }
  record->gpu_device_count = count;
  return scan->problem == NULL;
}

static bool read_oom(struct nvab_json_scan* scan, uint64_t* groups) {
  size_t count = 0;
  for (size_t i = 0; i < nvab_oom_group_count; i++) groups[i] = NVAB_OOM_UNKNOWN;
  if (!nvab_json_enter(scan, '{')) return false;
  while (nvab_json_next(scan, '{', &count)) {
    char name[NAME_SIZE];
    if (!nvab_json_name(scan, name, sizeof name)) return false;
    const size_t group = find_word(nvab_oom_groups, nvab_oom_group_count, name);
    const bool known = group < nvab_oom_group_count;
    if (!(known ? nvab_json_read_u64(scan, NVAB_OOM_UNKNOWN - 1, &groups[group])
                : nvab_json_skip(scan))) {
      return false;
    }
  }
  return scan->problem == NULL;
}

static bool read_cut(struct nvab_json_scan* scan, uint64_t* cut) {
  size_t count = 0;
  if (!nvab_json_enter(scan, '[')) return false;
  while (nvab_json_next(scan, '[', &count)) {
    char name[NAME_SIZE];
    if (!nvab_json_read_text(scan, name, sizeof name)) return false;
    const enum nvab_task_field field = find_field(name);
    if (field < nvab_task_field_count) *cut |= UINT64_C(1) << field;
  }
  return scan->problem == NULL;
}

static bool read_value(struct nvab_json_scan* scan, const struct nvab_field* about,
                       struct nvab_task_record* record) {
  char* place = (char*)record + about->offset;
  char text[NVAB_STEP_TEXT_SIZE];
  uint64_t number = 0;
  switch (about->type) {
    case nvab_field_u32:
      if (!nvab_json_read_u64(scan, about->max, &number)) return false;
      *(uint32_t*)place = (uint32_t)number;
      return true;
    case nvab_field_u64:
      return nvab_json_read_u64(scan, about->max, (uint64_t*)place);
    case nvab_field_bool:
      return nvab_json_read_bool(scan, (bool*)place);
    case nvab_field_time:
      return nvab_json_read_time(scan, (int64_t*)place);
    case nvab_field_text:
      return nvab_json_read_text(scan, place, about->size);
    case nvab_field_step:
      if (!nvab_json_read_text(scan, text, sizeof text)) return false;
      return nvab_step_number(text, (uint32_t*)place) ||
             nvab_json_fail(scan, "a step id was expected");
    case nvab_field_stream:
      return read_stream(scan, (struct nvab_task_stream*)place);
    case nvab_field_devices:
      return read_devices(scan, record);
    case nvab_field_oom:
      return read_oom(scan, record->oom_kill);
    case nvab_field_cut:
      return read_cut(scan, &record->cut);
  }
  return nvab_json_fail(scan, "the field has no type");
}

// One line on its way to a record. Fields may come before the kind that they belong to, so that
// is checked at the end.
struct task_line {
  struct nvab_json_scan scan;
  struct nvab_task_record* record;
  enum nvab_task_field field;  // the one being read; nvab_task_field_count: none that we know
  bool has_kind, has_version;
  uint64_t version;
};

static bool read_head(struct task_line* line, bool is_version) {
  size_t kind = 0;
  bool* seen = is_version ? &line->has_version : &line->has_kind;
  if (*seen) return nvab_json_fail(&line->scan, "a name comes twice");
  *seen = true;
  if (is_version) return nvab_json_read_u64(&line->scan, UINT32_MAX, &line->version);
  if (!read_word(&line->scan, nvab_task_kinds, 4, &kind)) return false;
  line->record->kind = (enum nvab_task_kind)kind;
  return true;
}

static bool read_member(struct task_line* line) {
  struct nvab_json_scan* scan = &line->scan;
  char name[NAME_SIZE];
  if (!nvab_json_name(scan, name, sizeof name)) return false;
  if (strcmp(name, "v") == 0 || strcmp(name, "kind") == 0) return read_head(line, name[0] == 'v');
  line->field = find_field(name);
  if (line->field == nvab_task_field_count) return nvab_json_skip(scan);
  if (nvab_json_take_null(scan)) return true;
  if (nvab_task_has(line->record, line->field)) return nvab_json_fail(scan, "a name comes twice");
  nvab_task_mark(line->record, line->field);
  return read_value(scan, &nvab_task_fields[line->field], line->record);
}

// What one field alone cannot say.
static bool check_whole(struct task_line* line) {
  const struct nvab_task_record* record = line->record;
  const unsigned kind = 1u << record->kind;
  if (!line->has_kind) return nvab_json_fail(&line->scan, "there is no kind");
  for (unsigned i = 0; i < nvab_task_field_count; i++) {
    const bool is_there = nvab_task_has(record, (enum nvab_task_field)i);
    line->field = (enum nvab_task_field)i;
    if (is_there && (nvab_task_fields[i].on & kind) == 0) {
      return nvab_json_fail(&line->scan, "the field does not belong on a line of this kind");
    }
    if (!is_there && (nvab_task_fields[i].required & kind) != 0) {
      return nvab_json_fail(&line->scan, "the field is missing");
    }
  }
  line->field = nvab_task_field_count;
  if (record->kind != nvab_task_kind_task_end) return true;
  const bool has_signal = nvab_task_has(record, nvab_task_signal);
  if (nvab_task_has(record, nvab_task_exit_code) == has_signal) {
    return nvab_json_fail(&line->scan, "a task ends either by exit_code or by signal");
  }
  return has_signal || !record->core || nvab_json_fail(&line->scan, "only a signal dumps core");
}

static void append(struct nvab_task_error* error, const char* text) {
  const size_t used = strlen(error->message);
  const size_t room = sizeof error->message - 1 - used;
  const size_t length = strlen(text);
  memcpy(error->message + used, text, length < room ? length : room);
}

static enum nvab_task_status refuse(struct nvab_task_error* error, enum nvab_task_status status,
                                    const struct task_line* line, const char* problem) {
  char digits[21];
  if (error == NULL) return status;
  memset(error, 0, sizeof *error);
  error->status = status;
  error->offset = line->scan.at;
  nvab_format_u64(line->scan.at, digits);
  append(error, "reading a task record: ");
  if (line->field < nvab_task_field_count) {
    append(error, "field ");
    append(error, nvab_task_field_name(line->field));
    append(error, ", ");
  }
  append(error, "byte ");
  append(error, digits);
  append(error, ": ");
  append(error, problem);
  return status;
}

enum nvab_task_status nvab_task_parse(const char* text, size_t len, struct nvab_task_record* record,
                                      struct nvab_task_error* error) {
  struct task_line line = {.record = record, .field = nvab_task_field_count};
  size_t count = 0;
  nvab_json_scan_begin(&line.scan, text, len);
  if (len > NVAB_TASK_LINE_MAX) {
    return refuse(error, nvab_task_too_long, &line, "the line is longer than 32768 bytes");
  }
  nvab_task_begin(record, nvab_task_kind_step);
  nvab_json_enter(&line.scan, '{');
  while (nvab_json_next(&line.scan, '{', &count) && read_member(&line)) {
    line.field = nvab_task_field_count;
  }
  if (line.scan.problem == NULL && !nvab_json_at_end(&line.scan)) {
    nvab_json_fail(&line.scan, "something follows the object");
  }
  if (line.scan.problem == NULL && !line.has_version) {
    nvab_json_fail(&line.scan, "there is no version (v)");
  }
  // Also where a version that we do not know broke the rules that we do know.
  if (line.has_version && line.version != NVAB_TASK_RECORD_VERSION) {
    return refuse(error, nvab_task_wrong_version, &line,
                  "the version (v) is not 1; a newer nvab wrote it");
  }
  if (line.scan.problem == NULL) check_whole(&line);
  if (line.scan.problem == NULL) return nvab_task_ok;
  return refuse(error, nvab_task_malformed, &line, line.scan.problem);
}
