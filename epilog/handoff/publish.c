// SPDX-License-Identifier: Apache-2.0
// Write beside, rename: the file system's way to publish.
#include "epilog/handoff/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

// The folder's group may read; the setgid bit of the queue says which group that is.
#define FILE_MODE 0640
#define FOLDER_MODE 0750

// For nvab_publish_abandon: the file being written, relative to the folder. Empty: none.
static int folder = -1;
static char hidden[NAME_MAX + 1];

static struct nvab_publish_result failed(const char* doing) {
  return (struct nvab_publish_result){doing, errno};
}

// A descriptor of QUEUE/new, or -1.
static int open_folder(const char* queue) {
  const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  const int parent = open(queue, flags);
  if (parent < 0) return -1;
  int fd = openat(parent, "new", flags | O_NOFOLLOW);
  if (fd < 0 && errno == ENOENT && (mkdirat(parent, "new", FOLDER_MODE) == 0 || errno == EEXIST)) {
    fd = openat(parent, "new", flags | O_NOFOLLOW);
  }
  const int error = errno;
  close(parent);
  errno = error;
  return fd;
}

static bool has_room(int fd) {
  struct statvfs about;
  if (fstatvfs(fd, &about) != 0) return true;
  const unsigned long long bytes = (unsigned long long)about.f_bavail * about.f_frsize;
  // Some file systems count no files, and say 0 of 0.
  const bool has_files = about.f_files == 0 || about.f_favail >= NVAB_RESERVED_FILES;
  if (bytes >= NVAB_RESERVED_BYTES && has_files) return true;
  errno = ENOSPC;
  return false;
}

static bool write_all(int fd, const char* text, size_t len) {
  while (len > 0) {
    const ssize_t count = write(fd, text, len);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    text += count;
    len -= (size_t)count;
  }
  return true;
}

static struct nvab_publish_result write_hidden(const char* text, size_t len, bool sync) {
  const int fd =
      openat(folder, hidden, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
  struct nvab_publish_result result = {0};
  if (fd < 0) return failed("creating a file in");
  if (!write_all(fd, text, len)) result = failed("writing a file in");
  if (result.doing == NULL && sync && fsync(fd) != 0) result = failed("syncing a file in");
  if (close(fd) != 0 && result.doing == NULL) result = failed("closing a file in");
  return result;
}

void nvab_publish_abandon(void) {
  if (folder >= 0 && hidden[0] != '\0') unlinkat(folder, hidden, 0);
}

struct nvab_publish_result nvab_publish(const char* queue, const char* name, const char* text,
                                        size_t len, bool sync) {
  char shown[NAME_MAX + 1];
  struct nvab_publish_result result = {0};
  folder = open_folder(queue);
  if (folder < 0) return failed("opening the folder new of");
  if (!has_room(folder)) return failed("looking for room in");
  snprintf(shown, sizeof shown, "%s.json", name);
  snprintf(hidden, sizeof hidden, ".%s.tmp", name);
  result = write_hidden(text, len, sync);
  if (result.doing == NULL && renameat(folder, hidden, folder, shown) != 0) {
    result = failed("publishing a file in");
  }
  if (result.doing != NULL) nvab_publish_abandon();
  hidden[0] = '\0';
  if (result.doing == NULL && sync) fsync(folder);
  return result;
}
