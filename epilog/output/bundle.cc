// SPDX-License-Identifier: Apache-2.0
// See bundle.hh. A bundle that will be redacted is first written to a folder that only we can read.
#include "epilog/output/bundle.hh"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "common/base/file.hh"
#include "common/base/log.hh"
#include "epilog/output/bundle_writer.hh"
#include "epilog/output/redact_bundle.hh"

namespace nvab {
namespace {

Result<void> make_empty_folder(const std::string& folder) {
  if (auto made = make_folders(folder); !made) return made;
  auto names = list_folder(folder);
  if (!names) return tl::unexpected<Error>(names.error());
  if (!names->empty()) {
    return fail(Error::Code::conflict,
                "saving a bundle to " + folder + ": there is something in it; name a new folder");
  }
  return {};
}

// A folder that is gone when its owner is.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> create(const std::string& beside) {
    std::string path = beside + ".unredacted.XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) {
      return tl::unexpected<Error>(from_errno(errno, "making the folder " + path));
    }
    return TemporaryFolder(std::move(path));
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

class Bundle final : public EvidenceKeeper {
 public:
  Bundle(BundleOptions options, Host& host) : options_(std::move(options)), host_(host) {}
  void begin(const ExecutionContext& context, bool is_only) override;
  void see(const Observation& observation) override {
    if (writer_) writer_->add(observation);
  }
  Result<void> write(const AttributionResult& result) override;

 private:
  Result<void> prepare();

  BundleOptions options_;
  Host& host_;
  std::string folder_;                        // of the current context
  std::optional<TemporaryFolder> temporary_;  // where it is written, when it will be redacted
  std::optional<BundleWriter> writer_;
  Result<void> status_;
};

Result<void> Bundle::prepare() {
  if (auto made = make_empty_folder(folder_); !made) return made;
  if (!options_.redact) {
    writer_.emplace(folder_);
    return {};
  }
  auto temporary = TemporaryFolder::create(folder_);
  if (!temporary) return tl::unexpected<Error>(temporary.error());
  temporary_ = std::move(*temporary);
  writer_.emplace(temporary_->path());
  return {};
}

void Bundle::begin(const ExecutionContext& context, bool is_only) {
  folder_ = options_.folder;
  if (!is_only) {
    std::string name = context.job_id.empty() ? "job" : context.job_id;
    std::replace(name.begin(), name.end(), '/', '_');
    if (context.attempt > 0) name += "." + std::to_string(context.attempt);
    folder_ += "/" + stream_file_name(name);
  }
  writer_.reset();
  temporary_.reset();
  status_ = prepare();
}

Result<void> Bundle::write(const AttributionResult& result) {
  if (!status_) return status_;
  const std::string_view lines = options_.all_lines ? "all" : "selected";
  if (auto done = writer_->finish(result, lines, options_.redact); !done) return done;
  writer_.reset();
  if (!options_.redact) return {};
  auto redacted = redact_bundle(temporary_->path(), folder_, result, host_);
  temporary_.reset();
  if (!redacted) return tl::unexpected<Error>(redacted.error());
  if (!redacted->empty()) log_warning("the redacted bundle in " + folder_ + ": " + *redacted);
  return {};
}

}  // namespace

std::unique_ptr<EvidenceKeeper> make_bundle(BundleOptions options, Host& host) {
  return std::make_unique<Bundle>(std::move(options), host);
}

}  // namespace nvab
