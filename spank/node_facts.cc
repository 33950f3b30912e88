// SPDX-License-Identifier: Apache-2.0
// Reads /proc and /sys with open and read alone.
#include "spank/node_facts.hh"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace nvab {
namespace {

// "/proc/driver/nvidia/gpus/0000:61:00.0/information" has about 400 bytes.
constexpr size_t kInformationSize = 2048;
// The longest path below `root` that is asked for.
constexpr size_t kPathSize = 512;

uint64_t microseconds(clockid_t clock) noexcept {
  timespec time = {};
  clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000 + static_cast<uint64_t>(time.tv_nsec) / 1000;
}

// Copies until white space or the end of the text; "" where it does not fit.
void copy_word(const char* text, char* out, size_t size) noexcept {
  const size_t length = strcspn(text, " \t\r\n");
  const bool fits = length < size;
  if (fits) memcpy(out, text, length);
  out[fits ? length : 0] = '\0';
}

// What follows "NAME:" and white space on its line, or null.
const char* value_after(const char* text, const char* name) noexcept {
  const char* found = strstr(text, name);
  if (found == nullptr) return nullptr;
  found += strlen(name);
  return found + strspn(found, " \t");
}

bool read_gpu(const char* root, const char* pci, nvab_gpu_device* device) noexcept {
  char path[kPathSize], text[kInformationSize];
  *device = {};
  snprintf(path, sizeof path, "/proc/driver/nvidia/gpus/%s/information", pci);
  if (read_file(root, path, text, sizeof text) < 0) return false;
  const char* minor = value_after(text, "Device Minor:");
  if (minor == nullptr) return false;
  device->minor = static_cast<uint32_t>(strtoul(minor, nullptr, 10));
  copy_word(pci, device->pci, sizeof device->pci);
  // The driver writes '?' for what it does not know before the GPU's first use.
  const char* uuid = value_after(text, "GPU UUID:");
  if (uuid != nullptr) copy_word(uuid, device->uuid, sizeof device->uuid);
  if (strchr(device->uuid, '?') != nullptr) device->uuid[0] = '\0';
  return true;
}

nvab_stream_type type_of(const struct statx& about) noexcept {
  if (S_ISREG(about.stx_mode)) {
    return about.stx_nlink == 0 ? nvab_stream_deleted : nvab_stream_file;
  }
  if (S_ISFIFO(about.stx_mode)) return nvab_stream_pipe;
  if (S_ISSOCK(about.stx_mode)) return nvab_stream_socket;
  if (S_ISCHR(about.stx_mode)) return nvab_stream_device;
  return nvab_stream_other;
}

// Is `word` one of the words between `from` and `to`, which commas part?
bool lists(const char* from, const char* to, const char* word) noexcept {
  const size_t length = strlen(word);
  while (from < to) {
    const char* end = std::find(from, to, ',');
    if (static_cast<size_t>(end - from) == length && memcmp(from, word, length) == 0) return true;
    from = end + (end < to ? 1 : 0);
  }
  return length == 0 && from == to;
}

// One line "N:CONTROLLERS:PATH".
struct CgroupLine {
  const char* controllers;
  const char* controllers_end;
  const char* path;
  const char* path_end;
};

// Takes the next line off *text; false at the end, or where the line is none of that form.
bool take_line(const char** text, CgroupLine* line) noexcept {
  const char* end = strchrnul(*text, '\n');
  const char* first = std::find(*text, end, ':');
  const char* second = first == end ? end : std::find(first + 1, end, ':');
  if (second == end) return false;
  *line = {first + 1, second, second + 1, end};
  *text = *end == '\n' ? end + 1 : end;
  return true;
}

bool copy_path(const CgroupLine& line, char* out, size_t size) noexcept {
  const auto length = static_cast<size_t>(line.path_end - line.path);
  if (length >= size) return false;
  memcpy(out, line.path, length);
  out[length] = '\0';
  return true;
}

}  // namespace

Moment now() noexcept {
  return {static_cast<int64_t>(microseconds(CLOCK_REALTIME)), microseconds(CLOCK_MONOTONIC)};
}

ssize_t read_file(const char* root, const char* path, char* out, size_t size) noexcept {
  char whole[kPathSize * 2];
  const int length = snprintf(whole, sizeof whole, "%s%s", root, path);
  if (length < 0 || static_cast<size_t>(length) >= sizeof whole) return -1;
  const int fd = open(whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return -1;
  size_t used = 0;
  ssize_t got = 0;
  while (used < size - 1 && (got = read(fd, out + used, size - 1 - used)) > 0) {
    used += static_cast<size_t>(got);
  }
  close(fd);
  out[used] = '\0';
  return got < 0 ? -1 : static_cast<ssize_t>(used);
}

void read_boot_id(const char* root, char* out, size_t size) noexcept {
  char text[64];
  out[0] = '\0';
  if (read_file(root, "/proc/sys/kernel/random/boot_id", text, sizeof text) < 0) return;
  copy_word(text, out, size);
}

size_t read_gpus(const char* root, nvab_gpu_device* out, size_t room) noexcept {
  char path[kPathSize];
  size_t count = 0;
  snprintf(path, sizeof path, "%s/proc/driver/nvidia/gpus", root);
  DIR* folder = opendir(path);
  if (folder == nullptr) return 0;
  while (const dirent* entry = readdir(folder)) {
    if (entry->d_name[0] == '.' || count == room) continue;
    if (read_gpu(root, entry->d_name, &out[count])) count++;
  }
  closedir(folder);
  std::sort(out, out + count,
            [](const nvab_gpu_device& a, const nvab_gpu_device& b) { return a.minor < b.minor; });
  return count;
}

nvab_task_stream read_stream(int fd) noexcept {
  nvab_task_stream stream = {};
  struct statx about = {};
  char link[32];
  stream.type = nvab_stream_other;
  if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO | STATX_NLINK,
            &about) != 0) {
    return stream;
  }
  stream.type = type_of(about);
  stream.dev = makedev(about.stx_dev_major, about.stx_dev_minor);
  stream.ino = about.stx_ino;
  if (stream.type != nvab_stream_file && stream.type != nvab_stream_device) return stream;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, stream.path, sizeof stream.path);
  // A path that fills the buffer was cut. A device may have no place in the file system at all.
  const bool whole = length > 0 && static_cast<size_t>(length) < sizeof stream.path;
  if (!whole || stream.path[0] != '/') memset(stream.path, 0, sizeof stream.path);
  return stream;
}

bool find_cgroup(const char* text, const char* controller, char* out, size_t size) noexcept {
  CgroupLine line = {};
  while (take_line(&text, &line)) {
    if (lists(line.controllers, line.controllers_end, controller)) {
      return copy_path(line, out, size);
    }
  }
  return false;
}

size_t job_part(const char* path, uint32_t job_id) noexcept {
  char component[32];
  const auto length = static_cast<size_t>(snprintf(component, sizeof component, "/job_%u", job_id));
  for (const char* at = strstr(path, component); at != nullptr; at = strstr(at + 1, component)) {
    if (at[length] == '/' || at[length] == '\0') return static_cast<size_t>(at - path) + length;
  }
  return 0;
}

bool find_job_cgroup(const char* text, uint32_t job_id, char* out, size_t size) noexcept {
  if (find_cgroup(text, "memory", out, size) && job_part(out, job_id) > 0) return true;
  CgroupLine line = {};
  while (take_line(&text, &line)) {
    if (copy_path(line, out, size) && job_part(out, job_id) > 0) return true;
  }
  return false;
}

}  // namespace nvab
