// SPDX-License-Identifier: Apache-2.0
// Results into a database file (common/model/result_store.hh). Opened at the first result, so that
// a run that finds no job leaves no file.
#include <unistd.h>

#include <chrono>
#include <utility>

#include "common/base/file.hh"
#include "common/model/result_store.hh"
#include "epilog/connector.hh"

namespace nvab {
namespace {

constexpr ParamSpec kParams[] = {
    {.name = "path", .type = ParamType::path, .help = "The database; made where there is none"},
};

class Sqlite final : public Output {
 public:
  explicit Sqlite(std::string path) : path_(std::move(path)) {}

  Result<void> write(const AttributionResult& result) override {
    if (!store_) {
      auto opened = ResultStore::open(path_);
      if (!opened) return tl::unexpected<Error>(opened.error());
      store_ = std::move(*opened);
    }
    const auto now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
    auto added = store_->add(result, now, result.trigger_id);
    if (!added) return tl::unexpected<Error>(added.error());
    return {};
  }

 private:
  std::string path_;
  std::unique_ptr<ResultStore> store_;
};

Result<std::unique_ptr<Output>> open_sqlite(const ComponentSettings& settings, Host&) {
  if (settings.text("path").empty()) {
    return fail(Error::Code::malformed, "it has no path; set path = \"/path/to/results.db\"");
  }
  return std::make_unique<Sqlite>(settings.text("path"));
}

// Without making it: who may write is what is asked.
ProbeFindings probe_sqlite(const ComponentSettings& settings, Host&) {
  const std::string& path = settings.text("path");
  const std::string what = "write to " + path;
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const bool is_there = exists(path);
  // SQLite also makes files beside it.
  if (::access(folder.c_str(), W_OK | X_OK) == 0 &&
      (!is_there || ::access(path.c_str(), R_OK | W_OK) == 0)) {
    return {probe_ok(what, is_there ? "it can be written to" : "it can be made")};
  }
  return {probe_fault(what, is_folder(folder) ? "this user may not" : folder + " is not there",
                      "make the folder, and let the user that runs nvab-run write to it")};
}

}  // namespace

extern const OutputComponent output_sqlite;
constinit const OutputComponent output_sqlite = {
    .spec = {.framework = "output",
             .name = "sqlite",
             .help = "Results in a SQLite database, for the dashboard",
             .params = kParams},
    .query = nullptr,
    .open = open_sqlite,
    .probe = probe_sqlite,
};

}  // namespace nvab
