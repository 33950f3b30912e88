// SPDX-License-Identifier: Apache-2.0
// See queue_view.hh; the layout of the queue is in epilog/queue/store.hh.
#include "service/web/queue_view.hh"

#include <dirent.h>
#include <sys/stat.h>

#include <functional>
#include <memory>
#include <string_view>

namespace nvab {
namespace {

// Calls `visit` with each entry's file; false where the folder cannot be read.
bool each_entry(const std::string& folder, const std::function<void(const std::string&)>& visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(folder.c_str()), ::closedir);
  if (!dir) return false;
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with('.') && name.ends_with(".json")) visit(folder + '/' + entry->d_name);
  }
  return true;
}

}  // namespace

std::optional<QueueView> view_queue(const std::string& folder) {
  QueueView view;
  const bool is_there = each_entry(folder + "/new", [&](const std::string& path) {
    ++view.waiting;
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return;
    const Time written = from_unix_seconds(static_cast<double>(status.st_ctim.tv_sec));
    if (!view.oldest || written < *view.oldest) view.oldest = written;
  });
  if (!is_there) return std::nullopt;
  each_entry(folder + "/conflicted", [&](const std::string&) { ++view.conflicted; });
  each_entry(folder + "/dead", [&](const std::string&) { ++view.dead; });
  return view;
}

}  // namespace nvab
