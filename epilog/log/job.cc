// SPDX-License-Identifier: Apache-2.0
// The component log.job: the output of the job's own programs, found by itself and read with its
// owner's rights.
#include <fmt/core.h>
#include <unistd.h>

#include <utility>

#include "common/base/file.hh"
#include "common/base/text.hh"
#include "epilog/connector.hh"
#include "epilog/log/as_user.hh"
#include "epilog/log/file.hh"
#include "epilog/log/job_files.hh"
#include "epilog/log/spool.hh"
#include "epilog/log/user_rights.hh"

namespace nvab {
namespace {

class JobLog final : public Collector {
 public:
  JobLog(std::string connector, Host& host) : connector_(std::move(connector)), host_(host) {}
  Source source() const override { return Source::applog; }
  CollectOutcome collect(const ExecutionContext& context, ObservationSink& sink) override;

 private:
  CollectOutcome read(const JobFileSearch& search, ObservationSink& sink);

  std::string connector_;
  Host& host_;
};

// In the child.
CollectOutcome JobLog::read(const JobFileSearch& search, ObservationSink& sink) {
  host_.progress = nullptr;
  JobFilesFound found = find_job_files(search);
  if (found.source.files.empty() && found.source.skipped.empty()) {
    CollectOutcome nothing;
    nothing.status = ConnectorStatus::no_data;
    nothing.reason = found.nowhere;
    return nothing;
  }
  if (!may_become(*search.context.uid)) {
    for (SourceFile& file : found.source.files) {
      file.owner = static_cast<std::uint32_t>(*search.context.uid);
    }
  }
  LogFileOptions options;
  options.connector = connector_;
  options.source = Source::applog;
  options.found = std::move(found.source);
  return make_log_file(std::move(options), host_)->collect(search.context, sink);
}

CollectOutcome JobLog::collect(const ExecutionContext& context, ObservationSink& sink) {
  if (context.scheduler != "slurm") {
    CollectOutcome none;
    none.status = ConnectorStatus::no_data;
    none.reason = "only Slurm's jobs have output files that are found by themselves";
    return none;
  }
  if (!context.uid) {
    CollectOutcome denied;
    denied.status = ConnectorStatus::denied;
    denied.reason = "who owns the job is not known, so its files are not read";
    return denied;
  }
  std::string boot_id;
  if (const auto text = read_file(host_.root + "/proc/sys/kernel/random/boot_id", 100)) {
    boot_id = trim(*text);
  }
  // A spool that is not there, or not ours to read, is no trouble here: log.task_exits tells it.
  const JobFileSearch search = {context, recorded_streams(host_.spool, context, host_.deadline),
                                std::move(boot_id)};
  return collect_as({*context.uid, context.files.gid}, host_.deadline, sink,
                    [&](ObservationSink& out) { return read(search, out); });
}

Result<std::unique_ptr<Collector>> open_log_job(const ComponentSettings& settings, Host& host) {
  return std::make_unique<JobLog>(settings.full_name(), host);
}

ProbeFindings probe_log_job(const ComponentSettings&, Host&) {
  const std::string what = "read jobs' files as their owners";
  // Any ordinary user will do: root's rights are not asked for.
  const long long somebody = static_cast<long long>(::geteuid()) + 1;
  if (may_become(somebody)) return {probe_ok(what, "this process may become them")};
  return {probe_warning(what,
                        "this process cannot become other users: only files that it may read "
                        "itself, and that are the owner's, are read",
                        "run nvab-run as root, or give its unit CAP_SETUID and CAP_SETGID")};
}

}  // namespace

extern const CollectorComponent log_job;
constinit const CollectorComponent log_job = {
    .spec = {.framework = "log",
             .name = "job",
             .help = "Output files of a Slurm job, found by task record, patterns or default name",
             .params = {}},
    .query = nullptr,
    .open = open_log_job,
    .probe = probe_log_job,
};

}  // namespace nvab
