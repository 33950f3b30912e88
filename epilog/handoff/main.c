// SPDX-License-Identifier: Apache-2.0
// nvab-handoff: writes one queue entry from the environment of a Slurm hook, within a time limit of
// its own, and ends with status 0 whatever happens: a hook that fails or lingers drains the node.
// Static and libc only, so that it starts in a millisecond on a node in any state.
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "common/wire/log_socket.h"
#include "epilog/handoff/entry.h"
#include "epilog/handoff/publish.h"

// A local disk answers in milliseconds. The node takes no new job until we are done.
#define LIMIT_MS 1000

struct options {
  enum nvab_hook hook;
  const char* queue;
  bool sync;
  long limit_ms;
};

static const char usage[] =
    "nvab-handoff --hook epilog|epilogctld|jobcomp --queue DIR [--sync] [--limit-ms N]\n"
    "Writes what the environment tells about the end of a job to DIR/new. Always ends with 0.\n";

static void log_line(const char* text) {
  nvab_log_send(nvab_log_connect(NVAB_LOG_SOCKET), NVAB_LOG_WARNING, "nvab-handoff", text,
                strlen(text));
}

// To syslog, and to stderr for whoever runs it by hand: Slurm shows that only when a hook fails.
__attribute__((format(printf, 1, 2))) static void complain(const char* format, ...) {
  char text[512];
  va_list list;
  va_start(list, format);
  const int length = vsnprintf(text, sizeof text, format, list);
  va_end(list);
  if (length < 0) return;
  log_line(text);
  fprintf(stderr, "nvab-handoff: %s\n", text);
}

// Also the time limit. What Slurm sends SIGTERM for is already late. Not a word to stderr: the pipe
// may be what we wait for.
static void give_up(int signal) {
  (void)signal;
  nvab_publish_abandon();
  log_line("no time left: the job is not handed over");
  _exit(0);
}

static void limit_time(long limit_ms) {
  static const int signals[] = {SIGALRM, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGXFSZ};
  const struct sigaction action = {.sa_handler = give_up};
  const struct itimerval timer = {
      .it_value = {.tv_sec = limit_ms / 1000, .tv_usec = limit_ms % 1000 * 1000}};
  sigset_t none;
  signal(SIGPIPE, SIG_IGN);
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
    sigaction(signals[i], &action, NULL);
  }
  // Whoever started us may have blocked them.
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  setitimer(ITIMER_REAL, &timer, NULL);
}

static bool read_hook(const char* word, enum nvab_hook* hook) {
  for (unsigned i = 0; i < nvab_hook_count; i++) {
    if (strcmp(nvab_hook_names[i], word) != 0) continue;
    *hook = (enum nvab_hook)i;
    return true;
  }
  return false;
}

// False where the command line is wrong.
static bool read_options(int count, char** words, struct options* options) {
  bool has_hook = false;
  for (int i = 1; i < count; i++) {
    const char* value = i + 1 < count ? words[i + 1] : "";
    if (strcmp(words[i], "--sync") == 0) {
      options->sync = true;
      continue;
    }
    if (strcmp(words[i], "--hook") == 0) {
      has_hook = read_hook(value, &options->hook);
    } else if (strcmp(words[i], "--queue") == 0) {
      options->queue = value;
    } else if (strcmp(words[i], "--limit-ms") == 0) {
      options->limit_ms = strtol(value, NULL, 10);
    } else {
      return false;
    }
    i++;
  }
  return has_hook && options->queue != NULL && options->queue[0] == '/' && options->limit_ms > 0;
}

static const char* look_up(const char* name) { return getenv(name); }

static void hand_over(const struct options* options) {
  static char text[NVAB_ENTRY_MAX];
  char host[256] = "unknown", trigger_id[NVAB_TRIGGER_ID_SIZE];
  struct timespec now;
  gethostname(host, sizeof host - 1);
  clock_gettime(CLOCK_REALTIME, &now);
  const struct nvab_entry entry = {
      .hook = options->hook,
      .host = host,
      .wall_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000,
      .pid = (uint32_t)getpid(),
      .lookup = look_up,
  };
  const uint32_t job_id = nvab_entry_job_id(&entry);
  if (job_id == 0) {
    complain("the environment of the hook %s names no job", nvab_hook_names[options->hook]);
    return;
  }
  nvab_entry_trigger_id(&entry, trigger_id);
  const size_t length = nvab_entry_format(&entry, text);
  const struct nvab_publish_result result =
      nvab_publish(options->queue, trigger_id, text, length, options->sync);
  if (result.doing != NULL) {
    complain("job %u is not handed over: %s the queue %s: %s", job_id, result.doing, options->queue,
             strerror(result.error));
  }
}

int main(int count, char** words) {
  struct options options = {.limit_ms = LIMIT_MS};
  if (!read_options(count, words, &options)) {
    fputs(usage, stderr);
    // Not even then: a typing mistake in a script must not drain every node.
    return 0;
  }
  limit_time(options.limit_ms);
  hand_over(&options);
  return 0;
}
