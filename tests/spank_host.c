// SPDX-License-Identifier: Apache-2.0
// Stands in for srun, sbatch, slurmd and slurmstepd: loads a SPANK plugin as Slurm does (opens it,
// closes it, opens it again) and calls its hooks, so that most of it can be tested without a
// cluster. spank_host PLUGIN ACTION...
//
//   HOOK                  call slurm_spank_HOOK in the context
//   option=VALUE          call the callback of the registered option, as at submission
//   remote-option=VALUE   the same in slurmstepd
//   tasks=HOW,HOW,...     fork tasks and run their hooks; HOW: exitN, sigN; they end at once, and
//                         are reaped one by one in the order of their start
//   descriptors, threads  print how many this process has beyond those at its start
//   blocked               print the blocked signals of the thread that the plugin started
//
// Environment: HOST_CONTEXT local, allocator, remote (usual), slurmd, job_script; HOST_ARGS the
// plugin's arguments; HOST_JOB, HOST_STEP, HOST_RESTART, HOST_ARRAY, HOST_ARRAY_TASK; HOST_FAIL=1
// makes every query fail; HOST_REAP_MS waits before each task is reaped; HOST_FILES the limit of
// descriptors; HOST_PROC a folder where each task gets a link to "all"; JOBENV_X is X in the job's
// environment.
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <slurm/spank.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_TASKS 64
#define MAX_ARGS 16

static struct {
  void* library;
  bool in_init;
  struct spank_option option;
  int argc;
  char* argv[MAX_ARGS + 1];
  int task;  // the local id that items are about; -1: no task
  pid_t pid;
  int status;
} host = {.task = -1};

static const char* setting(const char* name, const char* otherwise) {
  const char* value = getenv(name);
  return value != NULL ? value : otherwise;
}

static unsigned number(const char* name, unsigned otherwise) {
  const char* value = getenv(name);
  return value != NULL ? (unsigned)strtoul(value, NULL, 10) : otherwise;
}

static bool must_fail(void) { return getenv("HOST_FAIL") != NULL; }

static void bug(const char* what) {
  printf("BUG: %s\n", what);
  exit(99);
}

// ---- what Slurm offers to plugins
// -----------------------------------------------------------------

#define LOGGER(name)                   \
  void name(const char* format, ...) { \
    va_list list;                      \
    va_start(list, format);            \
    printf(#name ": ");                \
    vprintf(format, list);             \
    puts("");                          \
    fflush(stdout);                    \
    va_end(list);                      \
  }
LOGGER(slurm_error)
LOGGER(slurm_info)
LOGGER(slurm_debug)

spank_context_t spank_context(void) {
  const char* context = setting("HOST_CONTEXT", "remote");
  if (strcmp(context, "local") == 0) return S_CTX_LOCAL;
  if (strcmp(context, "allocator") == 0) return S_CTX_ALLOCATOR;
  if (strcmp(context, "slurmd") == 0) return S_CTX_SLURMD;
  if (strcmp(context, "job_script") == 0) return S_CTX_JOB_SCRIPT;
  return S_CTX_REMOTE;
}

const char* spank_strerror(spank_err_t error) {
  return error == ESPANK_SUCCESS ? "Success" : "stub error";
}

spank_err_t spank_option_register(spank_t spank, struct spank_option* option) {
  (void)spank;
  if (!host.in_init) bug("an option is registered outside of init");
  if (must_fail()) return ESPANK_ERROR;
  host.option = *option;
  return ESPANK_SUCCESS;
}

spank_err_t spank_job_control_setenv(spank_t spank, const char* name, const char* value, int over) {
  (void)spank;
  // In the real one this is a SIGSEGV that drains the node.
  if (spank_context() == S_CTX_JOB_SCRIPT) bug("job control in a job script's context");
  printf("job control: %s=%s overwrite=%d\n", name, value, over);
  return must_fail() ? ESPANK_ERROR : ESPANK_SUCCESS;
}

spank_err_t spank_getenv(spank_t spank, const char* name, char* out, int size) {
  char prefixed[128];
  (void)spank;
  snprintf(prefixed, sizeof prefixed, "JOBENV_%s", name);
  const char* value = getenv(prefixed);
  if (must_fail() || value == NULL) return ESPANK_ENV_NOEXIST;
  snprintf(out, (size_t)size, "%s", value);
  return strlen(value) < (size_t)size ? ESPANK_SUCCESS : ESPANK_NOSPACE;
}

static spank_err_t task_item(spank_item_t item, va_list list) {
  if (host.task < 0) return ESPANK_NOT_TASK;
  if (item == S_TASK_ID) *va_arg(list, int*) = host.task;
  if (item == S_TASK_GLOBAL_ID) *va_arg(list, uint32_t*) = 10 + (uint32_t)host.task;
  if (item == S_TASK_PID) *va_arg(list, pid_t*) = host.pid;
  if (item == S_TASK_EXIT_STATUS) *va_arg(list, int*) = host.status;
  return ESPANK_SUCCESS;
}

static spank_err_t job_item(spank_item_t item, va_list list) {
  static char version[] = "99.11.1";
  switch (item) {
    case S_JOB_UID:
      *va_arg(list, uid_t*) = 1234;
      break;
    case S_JOB_ID:
      *va_arg(list, uint32_t*) = number("HOST_JOB", 4242);
      break;
    case S_JOB_STEPID:
      *va_arg(list, uint32_t*) = number("HOST_STEP", 7);
      break;
    case S_JOB_NNODES:
      *va_arg(list, uint32_t*) = 2;
      break;
    case S_JOB_NODEID:
      *va_arg(list, uint32_t*) = 1;
      break;
    case S_JOB_LOCAL_TASK_COUNT:
      *va_arg(list, uint32_t*) = 3;
      break;
    case S_JOB_TOTAL_TASK_COUNT:
      *va_arg(list, uint32_t*) = 0;
      break;
    case S_SLURM_RESTART_COUNT:
      *va_arg(list, uint32_t*) = number("HOST_RESTART", 0);
      break;
    case S_JOB_ARRAY_ID:
      *va_arg(list, uint32_t*) = number("HOST_ARRAY", 4242);
      break;
    case S_JOB_ARRAY_TASK_ID:
      *va_arg(list, uint32_t*) = number("HOST_ARRAY_TASK", 0xfffffffe);
      break;
    case S_SLURM_VERSION:
      *va_arg(list, char**) = version;
      break;
    default:
      return ESPANK_BAD_ARG;
  }
  return ESPANK_SUCCESS;
}

spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...) {
  va_list list;
  (void)spank;
  if (must_fail() || spank_context() != S_CTX_REMOTE) return ESPANK_NOT_REMOTE;
  va_start(list, item);
  const bool is_task = item >= S_TASK_ID && item <= S_TASK_PID;
  const spank_err_t error = is_task ? task_item(item, list) : job_item(item, list);
  va_end(list);
  return error;
}

// ---- actions
// --------------------------------------------------------------------------------------

static void* load(const char* path) {
  void* library = dlopen(path, RTLD_NOW);
  if (library == NULL) {
    printf("dlopen: %s\n", dlerror());
    exit(1);
  }
  return library;
}

// A hook that is not there is no error: Slurm skips it.
static void call(const char* hook) {
  char name[64];
  spank_f* function = NULL;
  snprintf(name, sizeof name, "slurm_spank_%s", hook);
  *(void**)&function = dlsym(host.library, name);
  host.in_init = strcmp(hook, "init") == 0;
  if (function != NULL && function((spank_t)1, host.argc, host.argv) != 0)
    bug("a hook did not return 0");
  host.in_init = false;
}

static void end_as(const char* how) {
  if (strncmp(how, "exit", 4) == 0) _exit(atoi(how + 4));
  kill(getpid(), atoi(how + 3));
  _exit(1);
}

static pid_t fork_task(int index, const char* how, const int go[2]) {
  char byte;
  const pid_t pid = fork();
  if (pid != 0) return pid;
  close(go[1]);
  // Released when the parent closes the pipe, as slurmstepd holds its tasks back.
  if (read(go[0], &byte, 1) != 0) _exit(98);
  host.task = index;
  host.pid = -1;  // as in Slurm: the task's own process is not told
  call("task_init");
  fflush(stdout);
  end_as(how);
  return -1;
}

// With HOST_PROC, a /proc for tests: the task's entry there is the one called "all".
static void fake_process(pid_t pid) {
  char path[4096];
  if (getenv("HOST_PROC") == NULL) return;
  snprintf(path, sizeof path, "%s/%d", getenv("HOST_PROC"), (int)pid);
  if (symlink("all", path) != 0 && errno != EEXIST) bug("symlink");
}

static void run_tasks(char* list) {
  pid_t pids[MAX_TASKS];
  int go[2], count = 0;
  fflush(stdout);
  if (pipe(go) != 0) bug("pipe");
  for (char* how = strtok(list, ","); how != NULL; how = strtok(NULL, ",")) {
    if (count == MAX_TASKS) bug("too many tasks");
    pids[count] = fork_task(count, how, go);
    count++;
  }
  close(go[0]);
  for (host.task = 0; host.task < count; host.task++) {
    host.pid = pids[host.task];
    fake_process(host.pid);
    call("task_post_fork");
  }
  close(go[1]);
  for (host.task = 0; host.task < count; host.task++) {
    usleep(number("HOST_REAP_MS", 0) * 1000);
    host.pid = pids[host.task];
    waitpid(host.pid, &host.status, 0);
    call("task_exit");
  }
  host.task = -1;
}

static int entries(const char* path) {
  int count = 0;
  DIR* folder = opendir(path);
  if (folder == NULL) return -1;
  while (readdir(folder) != NULL) count++;
  closedir(folder);
  return count;
}

// The line SigBlk of every thread but the first.
static void print_blocked(void) {
  char path[300], line[256];
  DIR* folder = opendir("/proc/self/task");
  struct dirent* entry;
  while (folder != NULL && (entry = readdir(folder)) != NULL) {
    if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid()) continue;
    snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
    FILE* file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
      if (strncmp(line, "SigBlk:", 7) == 0) printf("%s", line);
    }
    if (file != NULL) fclose(file);
  }
  if (folder != NULL) closedir(folder);
}

static void give_option(const char* value, int remote) {
  if (host.option.cb == NULL) bug("no option is registered");
  printf("option callback: %d\n", host.option.cb(host.option.val, value, remote));
}

static bool is_mapped(const char* path) {
  char line[4096];
  bool found = false;
  const char* name = strrchr(path, '/');
  FILE* file = fopen("/proc/self/maps", "re");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    if (strstr(line, name != NULL ? name : path) != NULL) found = true;
  }
  if (file != NULL) fclose(file);
  return found;
}

static void split_arguments(void) {
  static char words[4096];
  snprintf(words, sizeof words, "%s", setting("HOST_ARGS", ""));
  for (char* word = strtok(words, " "); word != NULL && host.argc < MAX_ARGS;
       word = strtok(NULL, " ")) {
    host.argv[host.argc++] = word;
  }
}

static void act(char* action, int descriptors) {
  const char* value = strchr(action, '=') != NULL ? strchr(action, '=') + 1 : "";
  if (strncmp(action, "option=", 7) == 0) {
    give_option(value, 0);
  } else if (strncmp(action, "remote-option=", 14) == 0) {
    give_option(value, 1);
  } else if (strncmp(action, "tasks=", 6) == 0) {
    run_tasks(strchr(action, '=') + 1);
  } else if (strcmp(action, "descriptors") == 0) {
    printf("descriptors: %d\n", entries("/proc/self/fd") - descriptors);
  } else if (strcmp(action, "threads") == 0) {
    printf("threads: %d\n", entries("/proc/self/task") - 3);
  } else if (strcmp(action, "blocked") == 0) {
    print_blocked();
  } else {
    call(action);
  }
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (getenv("HOST_FILES") != NULL) {
    const struct rlimit limit = {number("HOST_FILES", 0), number("HOST_FILES", 0)};
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  split_arguments();
  dlclose(load(argv[1]));
  host.library = load(argv[1]);
  const int descriptors = entries("/proc/self/fd");
  for (int i = 2; i < argc; i++) act(argv[i], descriptors);
  dlclose(host.library);
  printf("mapped after dlclose: %s\n", is_mapped(argv[1]) ? "yes" : "no");
  return 0;
}
