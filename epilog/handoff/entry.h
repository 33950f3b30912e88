// SPDX-License-Identifier: Apache-2.0
// The queue entry: what a hook of Slurm tells about the end of a job, as one small JSON file.
//
// Files lie in QUEUE/new. They appear there by rename, so that one which is seen is whole; names
// that begin with a dot are being written, or were when a node died. A file is called
// TRIGGER_ID.json and holds one object and a newline, UTF-8, at most 64 KB:
//
//   {"v":1,"trigger_id":"1234.epilog.n1.1772362798123456.4711","hook":"epilog","host":"n1.x.org",
//    "time":"2026-03-01T10:59:58.123456Z","job":{"job_id":1234,...},"cut":["comment"]}
//
//   v           1, the version of this format. Names that a reader does not know mean nothing
//   trigger_id  unique: JOB.HOOK.HOST.MICROSECONDS.PID. Handing over twice gives two of them
//   hook        "epilog" (each node of the job), "epilogctld" or "jobcomp" (the controller)
//   host        the host's own name, from gethostname(2)
//   time        when the hook ran, a little after the end of the job
//   job         what the hook's environment told, below. All of it is a hint, nothing is proof:
//               names, paths and the comment are the user's own words
//   cut         names of members of `job` left out because their value was too long or, for a
//               number, none; absent where there are none
//   lossy       names of members in which bytes that are not UTF-8 became U+FFFD; likewise
//
// Members of `job`. E, C and J say which hook knows them in Slurm 22.05: Epilog, EpilogSlurmctld,
// jobcomp/script. Where the environment has no such variable, or an empty one, there is no member.
//
//   job_id            ECJ  raw id: each array task and each het component has its own
//   array_job_id      .CJ  only for the task of an array
//   array_task_id     .CJ
//   het_job_id        ECJ  only for a component of a heterogeneous job
//   het_offset        .CJ
//   cluster           ECJ  by jobcomp only for users who are known to accounting
//   node              E..  Slurm's name of the node
//   restart_count     EC.  already counts the requeue that ends this run: it tells no runs apart
//   name              .CJ
//   user, uid         ECJ
//   gid               ECJ
//   account           ECJ
//   partition         ECJ
//   qos, reservation  ..J
//   node_list         ECJ  a hostlist expression such as n[1-4]
//   node_count        ECJ
//   task_count        E..
//   exit_code         ECJ  "code:signal" of the batch script or the allocation; "0:0" also for a
//                          time limit, a cancel and a lost node
//   derived_exit_code ECJ  "code:signal", the highest of all steps; too low where the last step
//                          ended just before the job
//   state             ..J  FAILED, TIMEOUT, ...; PENDING where the job was requeued
//   reason            ..J  why it waited, not why it ended
//   submit_time, start_time, end_time   ..J  RFC 3339 in UTC
//   work_dir          ECJ
//   stdin, stdout, stderr   ECJ  as submitted, with %j and the like; for batch jobs stdin is always
//                          there, the others only if -o or -e was given
//   comment           EC.
//   gpus              E..  SLURM_JOB_GPUS (newer Slurm)
//   slurm_conf        E..  the configuration that the node's slurmd uses
//   attribution       EC.  "on", "auto" or "off", as the plugin set it; other words mean nothing.
//                          "off", by EpilogSlurmctld alone: not to be judged, whoever hands it over
#ifndef NVAB_EPILOG_HANDOFF_ENTRY_H
#define NVAB_EPILOG_HANDOFF_ENTRY_H

#include <stddef.h>
#include <stdint.h>

// Bounds the file. The kernel bounds a variable at 128 KB, far above what is useful.
#define NVAB_ENTRY_MAX 65536
// Longest value: a path.
#define NVAB_ENTRY_VALUE_MAX 4096
#define NVAB_TRIGGER_ID_SIZE 256

enum nvab_hook { nvab_hook_epilog, nvab_hook_epilogctld, nvab_hook_jobcomp, nvab_hook_count };

// Index by enum nvab_hook: the word in the entry and on the command line.
extern const char* const nvab_hook_names[nvab_hook_count];

// The value of a variable of the environment, or NULL; getenv outside of tests.
typedef const char* nvab_lookup(const char* name);

struct nvab_entry {
  enum nvab_hook hook;
  const char* host;
  int64_t wall_us;
  uint32_t pid;
  nvab_lookup* lookup;
};

// The job's id, or 0 where the environment has none.
uint32_t nvab_entry_job_id(const struct nvab_entry* entry);

// Writes the trigger id; returns its length. Bytes of the host's name that are no plain ones
// ([A-Za-z0-9._-]) become '_'.
size_t nvab_entry_trigger_id(const struct nvab_entry* entry, char out[NVAB_TRIGGER_ID_SIZE]);

// Writes the entry with its newline into `out` (NVAB_ENTRY_MAX bytes). Returns its length.
size_t nvab_entry_format(const struct nvab_entry* entry, char out[NVAB_ENTRY_MAX]);

#endif
