// SPDX-License-Identifier: Apache-2.0
// From the environment of a hook to a queue entry, by one table of members.
#include "epilog/handoff/entry.h"

#include <stdbool.h>
#include <string.h>

#include "common/wire/json_line.h"

const char* const nvab_hook_names[nvab_hook_count] = {"epilog", "epilogctld", "jobcomp"};

enum member_type {
  member_text,
  member_number,
  member_id,      // a number of which jobcomp says 0 for "none"
  member_index,   // a number of which jobcomp says 4294967294 for "none"
  member_status,  // a raw wait status, or already "code:signal"
  member_time,    // seconds since 1970
};

struct member {
  const char* name;
  enum member_type type;
  const char* slurm;    // variable in Epilog and EpilogSlurmctld, or NULL
  const char* jobcomp;  // variable in jobcomp/script, or NULL
};

// Two lines with one name: the first variable that is there counts.
static const struct member members[] = {
    {"job_id", member_id, "SLURM_JOB_ID", "JOBID"},
    {"array_job_id", member_id, "SLURM_ARRAY_JOB_ID", "ARRAYJOBID"},
    {"array_task_id", member_index, "SLURM_ARRAY_TASK_ID", "ARRAYTASKID"},
    {"het_job_id", member_id, "SLURM_HET_JOB_ID", "HETJOBID"},
    {"het_offset", member_index, "SLURM_HET_JOB_OFFSET", "HETJOBOFFSET"},
    {"cluster", member_text, "SLURM_CLUSTER_NAME", "CLUSTER"},
    {"node", member_text, "SLURMD_NODENAME", NULL},
    {"restart_count", member_number, "SLURM_JOB_RESTART_COUNT", NULL},
    {"name", member_text, "SLURM_JOB_NAME", "JOBNAME"},
    {"user", member_text, "SLURM_JOB_USER", "USERNAME"},
    {"uid", member_number, "SLURM_JOB_UID", "UID"},
    {"gid", member_number, "SLURM_JOB_GID", "GID"},
    {"account", member_text, "SLURM_JOB_ACCOUNT", "ACCOUNT"},
    {"partition", member_text, "SLURM_JOB_PARTITION", "PARTITION"},
    {"qos", member_text, "SLURM_JOB_QOS", "QOS"},
    {"reservation", member_text, "SLURM_JOB_RESERVATION", "RESERVATION"},
    {"node_list", member_text, "SLURM_JOB_NODELIST", "NODES"},
    {"node_list", member_text, "SLURM_NODELIST", NULL},
    {"node_count", member_number, "SLURM_JOB_NUM_NODES", "NODECNT"},
    {"task_count", member_number, "SLURM_JOB_NTASKS", NULL},
    {"exit_code", member_status, "SLURM_JOB_EXIT_CODE2", "EXITCODE"},
    {"derived_exit_code", member_status, "SLURM_JOB_DERIVED_EC", "DERIVED_EC"},
    {"state", member_text, NULL, "JOBSTATE"},
    {"reason", member_text, NULL, "STATEREASONPREV"},
    {"submit_time", member_time, NULL, "SUBMIT"},
    {"start_time", member_time, NULL, "START"},
    {"end_time", member_time, NULL, "END"},
    {"work_dir", member_text, "SLURM_JOB_WORK_DIR", "WORK_DIR"},
    {"stdin", member_text, "SLURM_JOB_STDIN", "STDIN"},
    {"stdout", member_text, "SLURM_JOB_STDOUT", "STDOUT"},
    {"stderr", member_text, "SLURM_JOB_STDERR", "STDERR"},
    {"comment", member_text, "SLURM_JOB_COMMENT", NULL},
    {"gpus", member_text, "SLURM_JOB_GPUS", NULL},
    {"slurm_conf", member_text, "SLURM_CONF", NULL},
    {"attribution", member_text, "SPANK_ATTRIBUTION", NULL},
};
#define MEMBER_COUNT (sizeof members / sizeof members[0])

// Kept free while `job` is written, so that the lists after it always fit.
#define TAIL_SIZE 2048

// What jobcomp/script says of a job that is no task of an array (NO_VAL).
#define NO_VALUE UINT64_C(4294967294)
// The largest whole number that every reader of JSON keeps (2^53).
#define NUMBER_MAX UINT64_C(9007199254740992)

// A bit for each line of the table.
typedef uint64_t member_set;
_Static_assert(MEMBER_COUNT <= 64, "member_set has a bit for each member");

struct writer {
  const struct nvab_entry* entry;
  struct nvab_json_line line;
  member_set written, cut, lossy;
};

// Digits alone, up to NUMBER_MAX.
static bool read_number(const char* text, size_t length, uint64_t* number) {
  uint64_t value = 0;
  if (length == 0 || length > 16) return false;
  for (size_t i = 0; i < length; i++) {
    if (text[i] < '0' || text[i] > '9') return false;
    value = value * 10 + (uint64_t)(text[i] - '0');
  }
  *number = value;
  return value <= NUMBER_MAX;
}

// The variable of this hook; NULL where it is not set, empty, or says "none".
static const char* value_of(const struct nvab_entry* entry, const struct member* member) {
  const char* name = entry->hook == nvab_hook_jobcomp ? member->jobcomp : member->slurm;
  const char* value = name != NULL ? entry->lookup(name) : NULL;
  // "(null)" is what slurmctld says of the account of a user who has none.
  if (value == NULL || value[0] == '\0' || strcmp(value, "(null)") == 0) return NULL;
  if (member->type == member_id && strcmp(value, "0") == 0) return NULL;
  if (member->type == member_index && strcmp(value, "4294967294") == 0) return NULL;
  return value;
}

// "768" and "3:0" are both "3:0".
static bool put_status(struct writer* writer, const char* value, size_t length) {
  char text[48];
  uint64_t code = 0, signal = 0;
  const char* colon = strchr(value, ':');
  if (colon == NULL) {
    if (!read_number(value, length, &code) || code > UINT32_MAX) return false;
    signal = code & 0x7F;
    code = code >> 8 & 0xFF;
  } else if (!read_number(value, (size_t)(colon - value), &code) ||
             !read_number(colon + 1, strlen(colon + 1), &signal)) {
    return false;
  }
  size_t used = nvab_format_u64(code, text);
  text[used++] = ':';
  used += nvab_format_u64(signal, text + used);
  nvab_json_text(&writer->line, text, used);
  return true;
}

// False where the value is not one of the type, or is too long.
static bool put_value(struct writer* writer, size_t index, const char* value) {
  uint64_t number = 0;
  const size_t length = strnlen(value, NVAB_ENTRY_VALUE_MAX);
  if (length == NVAB_ENTRY_VALUE_MAX) return false;
  switch (members[index].type) {
    case member_text:
      if (nvab_json_text(&writer->line, value, length) > 0) writer->lossy |= UINT64_C(1) << index;
      return true;
    case member_number:
    case member_id:
    case member_index:
      if (!read_number(value, length, &number)) return false;
      nvab_json_u64(&writer->line, number);
      return true;
    case member_time:
      // Where Slurm has no time it says Unknown; beyond this it could not be a time.
      if (!read_number(value, length, &number) || number > UINT32_MAX) return false;
      nvab_json_time(&writer->line, (int64_t)number * 1000000);
      return true;
    case member_status:
      return put_status(writer, value, length);
  }
  return false;
}

static bool is_written(const struct writer* writer, const char* name) {
  for (size_t i = 0; i < MEMBER_COUNT; i++) {
    const bool is_there = (writer->written & UINT64_C(1) << i) != 0;
    if (is_there && strcmp(members[i].name, name) == 0) return true;
  }
  return false;
}

static void put_member(struct writer* writer, size_t index) {
  const char* value = value_of(writer->entry, &members[index]);
  const struct nvab_json_line before = writer->line;
  if (value == NULL || is_written(writer, members[index].name)) return;
  nvab_json_key(&writer->line, members[index].name);
  if (put_value(writer, index, value) && !writer->line.overflow) {
    writer->written |= UINT64_C(1) << index;
    return;
  }
  writer->line = before;
  writer->cut |= UINT64_C(1) << index;
}

static void put_names(struct writer* writer, const char* key, member_set set) {
  if (set == 0) return;
  nvab_json_key(&writer->line, key);
  nvab_json_open(&writer->line, '[');
  for (size_t i = 0; i < MEMBER_COUNT; i++) {
    const char* name = members[i].name;
    if ((set & UINT64_C(1) << i) != 0) nvab_json_text(&writer->line, name, strlen(name));
  }
  nvab_json_close(&writer->line, ']');
}

static void put_text(struct nvab_json_line* line, const char* key, const char* text) {
  nvab_json_key(line, key);
  nvab_json_text(line, text, strlen(text));
}

uint32_t nvab_entry_job_id(const struct nvab_entry* entry) {
  uint64_t number = 0;
  const char* value = value_of(entry, &members[0]);
  if (value == NULL || !read_number(value, strlen(value), &number) || number >= NO_VALUE) return 0;
  return (uint32_t)number;
}

size_t nvab_entry_trigger_id(const struct nvab_entry* entry, char out[NVAB_TRIGGER_ID_SIZE]) {
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  const char* hook = nvab_hook_names[entry->hook];
  size_t used = nvab_format_u64(nvab_entry_job_id(entry), out);
  out[used++] = '.';
  memcpy(out + used, hook, strlen(hook));
  used += strlen(hook);
  out[used++] = '.';
  // Two numbers, dots and the final zero are still to come.
  for (const char* c = entry->host; *c != '\0' && used < NVAB_TRIGGER_ID_SIZE - 48; c++) {
    out[used++] = strchr(plain, *c) != NULL ? *c : '_';
  }
  out[used++] = '.';
  used += nvab_format_u64((uint64_t)entry->wall_us, out + used);
  out[used++] = '.';
  used += nvab_format_u64(entry->pid, out + used);
  return used;
}

size_t nvab_entry_format(const struct nvab_entry* entry, char out[NVAB_ENTRY_MAX]) {
  char trigger_id[NVAB_TRIGGER_ID_SIZE];
  struct writer writer = {.entry = entry};
  struct nvab_json_line* line = &writer.line;
  nvab_entry_trigger_id(entry, trigger_id);
  nvab_json_begin(line, out, NVAB_ENTRY_MAX - TAIL_SIZE);
  nvab_json_open(line, '{');
  nvab_json_key(line, "v");
  nvab_json_u64(line, 1);
  put_text(line, "trigger_id", trigger_id);
  put_text(line, "hook", nvab_hook_names[entry->hook]);
  put_text(line, "host", entry->host);
  nvab_json_key(line, "time");
  nvab_json_time(line, entry->wall_us);
  nvab_json_key(line, "job");
  nvab_json_open(line, '{');
  for (size_t i = 0; i < MEMBER_COUNT; i++) put_member(&writer, i);
  line->size = NVAB_ENTRY_MAX;
  nvab_json_close(line, '}');
  put_names(&writer, "cut", writer.cut);
  put_names(&writer, "lossy", writer.lossy & writer.written);
  nvab_json_close(line, '}');
  return nvab_json_end(line);
}
