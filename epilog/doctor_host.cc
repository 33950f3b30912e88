// SPDX-License-Identifier: Apache-2.0
// See doctor_host.hh.
#include "epilog/doctor_host.hh"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "common/base/file.hh"
#include "common/base/http.hh"
#include "common/base/text.hh"

namespace nvab {
namespace {

// File systems of the network, by their numbers in statfs(2) and in their own sources. There locks
// do not hold for sure, and a server that stalls would stall Slurm's hooks.
struct FileSystem {
  std::uint64_t type;
  const char* name;
};
constexpr std::array kOfNetwork = {
    FileSystem{0x6969, "NFS"},      FileSystem{0x0BD00BD0, "Lustre"},
    FileSystem{0x47504653, "GPFS"}, FileSystem{0x19830326, "BeeGFS"},
    FileSystem{0x00C36400, "Ceph"}, FileSystem{0xFF534D42, "CIFS"},
    FileSystem{0xFE534D42, "SMB"},
};

const char* network_file_system(const std::string& path) {
  struct statfs status {};
  if (::statfs(path.c_str(), &status) != 0) return nullptr;
  const auto type = static_cast<std::uint64_t>(status.f_type) & 0xFFFFFFFF;
  const auto found = std::find_if(kOfNetwork.begin(), kOfNetwork.end(),
                                  [&](const FileSystem& one) { return one.type == type; });
  return found == kOfNetwork.end() ? nullptr : found->name;
}

std::string user_fix(const char* verb, const std::string& folder) {
  return fmt::format("let uid {} {} {}, or run nvab-run as its owner", ::geteuid(), verb, folder);
}

std::string shown(const std::string& path) { return path.empty() ? "(not set)" : path; }

}  // namespace

bool is_writable(const std::string& folder) {
  const Fd fd(::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  if (fd) return true;
  // Some file systems have no files without names.
  return errno == EOPNOTSUPP && ::access(folder.c_str(), W_OK | X_OK) == 0;
}

ProbeFindings probe_spool(const std::string& folder) {
  const std::string what = "read task records in " + shown(folder);
  const auto names = list_folder(folder);
  if (!names && names.error().code == Error::Code::not_found) {
    return {
        probe_warning(what, "there is no such folder",
                      "make it with mode 0755 for SlurmdUser on each node, and load the plugin; "
                      "without it, how each task ended is not known")};
  }
  if (!names) return {probe_fault(what, names.error().message, user_fix("read", folder))};
  return {probe_ok(what, fmt::format("{} files", names->size()))};
}

ProbeFindings probe_queue(const std::string& folder) {
  const std::string what = "work on the queue in " + shown(folder);
  if (!is_folder(folder)) {
    return {probe_warning(what, "there is no such folder",
                          "make it for the user that runs the hooks, or ask for jobs with -j")};
  }
  if (const char* name = network_file_system(folder)) {
    return {probe_fault(what, fmt::format("it lies on {}", name),
                        "use a local disk: set path in [queue], and NVAB_QUEUE for the hooks")};
  }
  if (!is_writable(folder)) {
    return {probe_fault(what, "files cannot be made there", user_fix("write to", folder))};
  }
  for (const char* state : {"new", "claimed", "conflicted", "done", "dead"}) {
    const std::string path = folder + "/" + state;
    if (is_folder(path) && !is_writable(path)) {
      return {probe_fault(what, fmt::format("{} cannot be written to", path),
                          user_fix("write to", path))};
    }
  }
  const auto dead = list_folder(folder + "/dead");
  if (dead && !dead->empty()) {
    return {probe_warning(what, fmt::format("{} entries were given up", dead->size()),
                          "nvab-run --queue-status says why, nvab-run --requeue all tries again")};
  }
  return {probe_ok(what, "it can be written to")};
}

ProbeFindings probe_service(const ComponentSettings& run, Deadline deadline) {
  std::string url = run.text("service_url");
  if (url.empty()) return {};
  const std::string what = "ask the service at " + url;
  const std::string fix = "see that nvab-service runs there, and service_url in [run]";
  HttpOptions options;
  options.ca_file = run.text("service_ca");
  options.client_certificate = run.text("service_certificate");
  options.client_key = run.text("service_key");
  constexpr std::string_view kUnix = "unix:";
  if (url.starts_with(kUnix)) {
    options.unix_socket = url.substr(kUnix.size());
    url = "http://localhost";
  }
  while (url.ends_with('/')) url.pop_back();
  auto client = HttpClient::create(std::move(options));
  if (!client) return {probe_fault(what, client.error().message, "install libcurl4")};
  HttpRequest request;
  request.url = url + "/v2/healthz";
  const auto answer = client->send(request, deadline);
  if (!answer) return {probe_fault(what, answer.error().message, fix)};
  if (answer->status != 200) {
    return {probe_fault(what, fmt::format("it answers with HTTP {}", answer->status), fix)};
  }
  return {probe_ok(what, "it is ready")};
}

}  // namespace nvab
