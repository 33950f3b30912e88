// SPDX-License-Identifier: Apache-2.0
// The component output.card: the verdict as a short text beside the job's standard output, for its
// owner. Written by a child process that has become the owner (epilog/log/as_user.hh), so that
// nothing is written where the owner could not write, and by rename, so that no link is followed.
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "common/base/file.hh"
#include "common/base/text.hh"
#include "epilog/connector.hh"
#include "epilog/log/as_user.hh"
#include "epilog/log/job_files.hh"
#include "epilog/log/spool.hh"
#include "epilog/output/result_filter.hh"
#include "epilog/output/text_card.hh"

namespace nvab {
namespace {

constexpr std::string_view kSuffix = ".nvab";
// A card has some KB; a job with a thousand culprits must not fill its owner's quota.
constexpr std::size_t kMaxCard = 64 * 1024;
constexpr int kCardWidth = 100;
// Of a card whose job has no output file to take the mode from.
constexpr unsigned kPrivateMode = 0640;

constexpr ParamSpec kParams[] = {
    {.name = "when",
     .fallback = "requested",
     .help = "Which results; requested: of jobs with --attribution=on",
     .choices = kResultFilters},
    {.name = "explain",
     .type = ParamType::boolean,
     .fallback = "false",
     .help = "Also the chain, what was dropped, and alternatives"},
    {.name = "timeout_seconds",
     .type = ParamType::duration,
     .fallback = "20",
     .help = "Time that writing one has"},
};

// Tasks of an array may share one output file.
bool is_of_this_job(const std::string& path, const JobFiles& files) {
  if (!files.array_task_id) return true;
  if (has_number(path, *files.array_task_id)) return true;
  return files.raw_ids.front() != files.array_job_id && has_number(path, files.raw_ids.front());
}

struct Place {
  std::string path;
  unsigned mode = kPrivateMode;
};

// In the child. Beside the output; where that went to a terminal or a device, in the job's folder.
Place place_of(const JobFileSearch& search) {
  const JobFiles& files = search.context.files;
  const std::string& id = search.context.job_id;
  Place place;
  const std::string output = standard_output_of(search);
  struct stat status {};
  const bool is_there = !output.empty() && ::stat(output.c_str(), &status) == 0;
  const bool is_file = !output.empty() && (!is_there || S_ISREG(status.st_mode));
  if (is_file) {
    place.path = output + (is_of_this_job(output, files) ? "" : "." + id);
  } else if (!files.work_dir.empty()) {
    place.path = fmt::format("{}/slurm-{}", files.work_dir, id);
  }
  if (!place.path.empty()) place.path += kSuffix;
  if (is_there && is_file) place.mode = status.st_mode & 0666;
  return place;
}

// In the child.
Result<Json> write_card(const JobFileSearch& search, const std::string& card) {
  const Place place = place_of(search);
  if (!place.path.starts_with('/')) {
    return fail(Error::Code::unsupported,
                "the job has neither an output file nor a folder that is known");
  }
  struct stat status {};
  if (::lstat(place.path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    return fail(Error::Code::unsupported,
                place.path + " is there already, and is no regular file: it is left alone");
  }
  auto written = write_file(place.path, card, place.mode);
  if (written) return Json::of(place.path);
  Error error = std::move(written.error());
  // A folder that is not there, or not the owner's, will not be so in a minute.
  const bool is_final =
      error.code == Error::Code::not_found || error.code == Error::Code::permission;
  if (is_final) error.code = Error::Code::unsupported;
  return tl::unexpected(std::move(error));
}

class CardFile final : public Output {
 public:
  CardFile(ResultFilter when, bool explain, Duration timeout, Host& host)
      : when_(when), explain_(explain), timeout_(timeout), host_(host) {}

  bool wants(const AttributionResult& result) const override {
    const ExecutionContext& c = result.context;
    return c.scheduler == "slurm" && !c.files.raw_ids.empty() &&
           c.job_id.find('.') == std::string::npos && passes(when_, result);
  }
  Result<void> write(const AttributionResult& result) override;

 private:
  ResultFilter when_;
  bool explain_;
  Duration timeout_;
  Host& host_;
};

Result<void> CardFile::write(const AttributionResult& result) {
  constexpr std::string_view kDoing = "writing the card beside the job's output";
  const ExecutionContext& context = result.context;
  if (!context.uid) {
    return fail(Error::Code::not_found, fmt::format("{}: who owns the job is not known", kDoing));
  }
  if (!may_become(*context.uid)) {
    return fail(
        Error::Code::unsupported,
        fmt::format("{}: we may not write as uid {}; run nvab-run as root", kDoing, *context.uid));
  }
  std::string card = text_card(result, {kCardWidth, false, explain_});
  if (card.size() > kMaxCard) card = excerpt(card, kMaxCard) + "\n";
  const Deadline deadline = Deadline::after(timeout_);
  const JobFileSearch search = {context, recorded_streams(host_.spool, context, deadline), {}};
  auto done =
      run_as({*context.uid, context.files.gid}, deadline, [&] { return write_card(search, card); });
  if (!done) return fail(kDoing, std::move(done.error()));
  return {};
}

Result<std::unique_ptr<Output>> open_card(const ComponentSettings& settings, Host& host) {
  return std::make_unique<CardFile>(result_filter_from(settings.text("when")),
                                    settings.flag("explain"), settings.duration("timeout_seconds"),
                                    host);
}

}  // namespace

extern const OutputComponent output_card;
constinit const OutputComponent output_card = {
    .spec = {.framework = "output",
             .name = "card",
             .help = "A text card beside the job's output, as its owner: OUTPUT.nvab",
             .params = kParams},
    .query = nullptr,
    .open = open_card,
};

}  // namespace nvab
