// SPDX-License-Identifier: Apache-2.0
// Results into a database file (common/model/result_store.hh). Opened at the first result, so that
// a run that finds no job leaves no file.
#include <chrono>
#include <utility>

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

}  // namespace

extern const OutputComponent output_sqlite;
constinit const OutputComponent output_sqlite = {
    .spec = {.framework = "output",
             .name = "sqlite",
             .help = "Results in a SQLite database, for the dashboard",
             .params = kParams},
    .query = nullptr,
    .open = open_sqlite,
};

}  // namespace nvab
