// SPDX-License-Identifier: Apache-2.0
// The component output.slurm: a short verdict in Slurm's accounting (accounting_comment.hh), where
// `sacct -o SystemComment` shows it. By sacct and sacctmgr as child processes: read, merge, write,
// and read again whether it came out as meant.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "common/base/subprocess.hh"
#include "common/base/text.hh"
#include "epilog/connector.hh"
#include "epilog/eca/sacct_rows.hh"
#include "epilog/eca/slurm.hh"
#include "epilog/output/accounting_comment.hh"
#include "epilog/output/result_filter.hh"

namespace nvab {
namespace {

// Components of one het job; the largest have some tens.
constexpr std::size_t kMaxRows = 256;

constexpr ParamSpec kParams[] = {
    {.name = "field",
     .fallback = "system_comment",
     .help = "The field of accounting that gets it",
     .choices = "admin_comment|system_comment|comment"},
    {.name = "when", .fallback = "all", .help = "Which results", .choices = kResultFilters},
    {.name = "timeout_seconds",
     .type = ParamType::duration,
     .fallback = "30",
     .help = "Time that one call has"},
    {.name = "sacct", .type = ParamType::path, .fallback = "sacct", .help = "The sacct to run"},
    {.name = "sacctmgr",
     .type = ParamType::path,
     .fallback = "sacctmgr",
     .help = "The sacctmgr to run"},
    {.name = "conf",
     .type = ParamType::path,
     .help = "slurm.conf, where SLURM_CONF does not say it"},
};

struct Options {
  std::string field, spare;  // as sacct calls them
  ResultFilter when = ResultFilter::all;
  Duration timeout{};
  std::string sacct, sacctmgr, conf;
};

// A row of accounting: one run of a job, or of a component of a het job.
struct Row {
  std::string cluster, id;  // as sacctmgr takes it: "7", "64_2", "3+1"
  long long raw_id = 0;
  std::string submit;
  std::string comment, spare;
};

class SlurmComment final : public Output {
 public:
  explicit SlurmComment(Options options) : options_(std::move(options)) {}

  // A verdict on one step is none on its job.
  bool wants(const AttributionResult& result) const override {
    const ExecutionContext& c = result.context;
    return c.scheduler == "slurm" && !c.files.raw_ids.empty() &&
           c.job_id.find('.') == std::string::npos && passes(options_.when, result);
  }
  Result<void> write(const AttributionResult& result) override;

 private:
  // What this sacctmgr does to capital letters.
  enum class Case { unknown, kept, lowered };

  Result<std::string> run(std::vector<std::string> argv) const;
  Result<std::vector<Row>> read(const std::string& ids, const std::string& cluster) const;
  Result<Row> read_again(const Row& row) const;
  Result<void> set(const Row& row, const std::string& field, const std::string& value) const;
  Result<std::vector<Row>> rows_of(const ExecutionContext& context) const;
  Result<void> learn_case(const Row& row);
  Result<void> put(const Row& row, const std::string& part);

  Options options_;
  Case case_ = Case::unknown;
};

Result<std::string> SlurmComment::run(std::vector<std::string> argv) const {
  Command command;
  command.argv = std::move(argv);
  command.keep = {"SLURM_CONF"};
  if (!options_.conf.empty()) command.environment = {"SLURM_CONF=" + options_.conf};
  command.deadline = Deadline::after(options_.timeout);
  auto end = run_command(command);
  if (!end) return tl::unexpected(std::move(end.error()));
  if (!end->succeeded()) return tl::unexpected(command_failure(command, *end));
  return std::move(end->output);
}

// A comment may hold line ends: what ends a field is what nobody can guess.
Result<std::vector<Row>> SlurmComment::read(const std::string& ids,
                                            const std::string& cluster) const {
  constexpr std::size_t kFields = 6;
  const std::string delimiter = secret_delimiter();
  std::vector<std::string> argv = {options_.sacct, "--noheader",    "--parsable",   "--allusers",
                                   "--duplicates", "--allocations", "--jobs=" + ids};
  if (!cluster.empty()) argv.push_back("--clusters=" + cluster);
  argv.push_back("--delimiter=" + delimiter);
  argv.push_back(
      fmt::format("--format=Cluster,JobID,JobIDRaw,Submit,{},{}", options_.field, options_.spare));
  const auto output = run(std::move(argv));
  if (!output) return tl::unexpected(output.error());
  std::vector<std::string_view> fields;
  std::size_t at = 0;
  for (std::size_t end; (end = output->find(delimiter, at)) != std::string::npos;
       at = end + delimiter.size()) {
    fields.push_back(std::string_view(*output).substr(at, end - at));
  }
  if (fields.size() % kFields != 0 || !trim(std::string_view(*output).substr(at)).empty()) {
    return fail(Error::Code::malformed, "sacct printed something else than the fields asked for");
  }
  std::vector<Row> rows;
  for (std::size_t i = 0; i < fields.size(); i += kFields) {
    const auto raw = parse_int(fields[i + 2]);
    if (!raw) return fail(Error::Code::malformed, "sacct printed a job id that is no number");
    rows.push_back({std::string(trim(fields[i])), std::string(fields[i + 1]), *raw,
                    std::string(fields[i + 3]), std::string(fields[i + 4]),
                    std::string(fields[i + 5])});
  }
  return rows;
}

Result<Row> SlurmComment::read_again(const Row& row) const {
  auto rows = read(std::to_string(row.raw_id), row.cluster);
  if (!rows) return tl::unexpected(std::move(rows.error()));
  for (Row& other : *rows) {
    if (other.raw_id == row.raw_id && other.submit == row.submit) return std::move(other);
  }
  return fail(Error::Code::not_found, "accounting does not show the job any more");
}

Result<void> SlurmComment::set(const Row& row, const std::string& field,
                               const std::string& value) const {
  std::vector<std::string> argv = {options_.sacctmgr, "-i", "modify", "job", "where",
                                   "jobid=" + row.id};
  if (!row.cluster.empty()) argv.push_back("cluster=" + row.cluster);
  argv.push_back("set");
  argv.push_back(field + "=" + value);
  auto done = run(std::move(argv));
  if (!done) return tl::unexpected(std::move(done.error()));
  return {};
}

bool has_newer(const std::vector<Row>& rows, const Row& row) {
  return std::any_of(rows.begin(), rows.end(), [&](const Row& other) {
    return other.raw_id == row.raw_id && other.submit > row.submit;
  });
}

// The rows of this run and no other. sacctmgr changes the newest row of an id, whatever else it is
// told: an older one cannot be had.
Result<std::vector<Row>> SlurmComment::rows_of(const ExecutionContext& context) const {
  const auto& raw_ids = context.files.raw_ids;
  std::vector<std::string> ids;
  for (const long long id : raw_ids) ids.push_back(std::to_string(id));
  auto all = read(join(ids, ","), context.cluster);
  if (!all) return all;
  std::vector<Row> rows;
  for (const Row& row : *all) {
    const bool is_component = row.id.starts_with(context.job_id + "+");
    if (!is_component && std::count(raw_ids.begin(), raw_ids.end(), row.raw_id) == 0) continue;
    // Components of one het job need not have been submitted in the same second.
    const bool is_first = row.raw_id == raw_ids.front();
    const auto submit = parse_slurm_time(row.submit);
    if (is_first && context.submit_time && submit != context.submit_time) continue;
    if (has_newer(*all, row)) {
      if (!is_first) continue;
      return fail(Error::Code::unsupported,
                  fmt::format("another run of job {} was submitted after {} UTC, and sacctmgr "
                              "changes only the newest run of a job",
                              row.id, row.submit));
    }
    rows.push_back(row);
    // For a moment accounting takes a task for a job of its own; its id would mean the whole array.
    const JobFiles& files = context.files;
    if (files.array_job_id && files.array_task_id) {
      rows.back().id = fmt::format("{}_{}", *files.array_job_id, *files.array_task_id);
    }
  }
  if (rows.size() < raw_ids.size() && rows.size() > 0) {
    return fail(Error::Code::not_found, "accounting does not show all components of the job yet");
  }
  if (rows.empty()) return fail(Error::Code::not_found, "accounting does not show the job yet");
  if (rows.size() > kMaxRows) {
    return fail(Error::Code::unsupported, fmt::format("it has {} components", rows.size()));
  }
  return rows;
}

// By a word in another field of the same row, which is empty and is so again afterwards.
Result<void> SlurmComment::learn_case(const Row& row) {
  if (case_ != Case::unknown || !row.spare.empty()) return {};
  if (auto done = set(row, options_.spare, "NVAB1:case"); !done) return done;
  const auto after = read_again(row);
  auto cleared = set(row, options_.spare, "");
  if (!after) return tl::unexpected(after.error());
  if (cleared) case_ = has_capitals(after->spare) ? Case::kept : Case::lowered;
  return cleared;
}

Result<void> SlurmComment::put(const Row& row, const std::string& part) {
  const std::string merged = merge_comment(row.comment, part);
  const std::string foreign = foreign_part(row.comment);
  const bool is_there = lower(merged) == lower(row.comment);
  if (is_there) return {};
  if (has_capitals(foreign)) {
    if (auto learned = learn_case(row); !learned) return learned;
  }
  const auto writable = is_writable(foreign, case_ == Case::kept);
  if (!writable) {
    return fail(fmt::format("{} of job {} stays as it is (another [output.slurm] field may do)",
                            options_.field, row.id),
                writable.error());
  }
  if (auto done = set(row, options_.field, merged); !done) return done;
  const auto after = read_again(row);
  if (!after) return tl::unexpected(after.error());
  const std::string_view own = own_part(after->comment);
  if (lower(own) != lower(part) || lower(foreign_part(after->comment)) != lower(foreign)) {
    return fail(Error::Code::conflict,
                fmt::format("{} of job {} was changed by somebody else at the same moment",
                            options_.field, row.id));
  }
  case_ = has_capitals(own) ? Case::kept : Case::lowered;
  return {};
}

Result<void> SlurmComment::write(const AttributionResult& result) {
  auto rows = rows_of(result.context);
  if (!rows) return fail("writing the verdict into accounting", std::move(rows.error()));
  const std::string part = comment_part(result);
  for (const Row& row : *rows) {
    if (auto done = put(row, part); !done) {
      return fail("writing the verdict into accounting", std::move(done.error()));
    }
  }
  return {};
}

Result<std::unique_ptr<Output>> open_slurm(const ComponentSettings& settings, Host&) {
  Options options;
  const std::string& field = settings.text("field");
  options.field = field == "admin_comment" ? "AdminComment"
                  : field == "comment"     ? "Comment"
                                           : "SystemComment";
  options.spare = field == "system_comment" ? "AdminComment" : "SystemComment";
  options.when = result_filter_from(settings.text("when"));
  options.timeout = settings.duration("timeout_seconds");
  options.sacct = settings.text("sacct");
  options.sacctmgr = settings.text("sacctmgr");
  options.conf = settings.text("conf");
  return std::make_unique<SlurmComment>(std::move(options));
}

}  // namespace

extern const OutputComponent output_slurm;
constinit const OutputComponent output_slurm = {
    .spec = {.framework = "output",
             .name = "slurm",
             .help = "A short verdict in a comment field of Slurm's accounting",
             .params = kParams},
    .query = nullptr,
    .open = open_slurm,
};

}  // namespace nvab
