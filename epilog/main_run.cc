// SPDX-License-Identifier: Apache-2.0
// nvab-run: says why a job ended. See nvab-run(1).
#include <csignal>
#include <cstdio>
#include <exception>
#include <vector>

#include "common/base/file.hh"
#include "epilog/doctor.hh"
#include "epilog/interrupt.hh"
#include "epilog/run.hh"
#include "epilog/run_queue.hh"

namespace {

using namespace nvab;

// What the person asked about settings, instead of a run.
int answer_about_settings(const RunOptions& options) {
  if (options.list_connectors) {
    std::fputs(list_connectors().c_str(), stdout);
    return kExitOk;
  }
  int code = kExitOk;
  for (const std::string& config : config_files(options)) {
    const int one =
        options.show_config ? show_config(config, options) : check_config(config, options);
    if (code == kExitOk) code = one;
  }
  return code;
}

int report_doctor(const RunOptions& options) {
  int code = kExitOk;
  for (const std::string& config : config_files(options)) {
    const std::vector<DoctorCheck> checks = examine(config, options);
    std::fputs(options.format == "json" ? doctor_json(config, checks).c_str()
                                        : doctor_text(checks).c_str(),
               stdout);
    const int one = doctor_exit_code(checks, options.strict);
    // What is at fault outweighs what is only to be looked at.
    if (code == kExitOk || one == kExitNoOutput) code = one;
  }
  return code;
}

// Summaries on stderr and in --summary-json; the exit code, changed where that file fails.
int report(const std::vector<RunSummary>& runs, const RunOptions& options) {
  int code = options.exit_code_by_action ? exit_code_by_action(runs) : exit_code_of(runs);
  const Json json = summaries_to_json(runs);
  if (options.log_format == LogFormat::json) {
    std::fprintf(stderr, "%s\n", json.dump().c_str());
  } else if (!options.quiet || code != kExitOk) {
    std::fputs(summaries_to_text(runs).c_str(), stderr);
  }
  if (!options.summary_json.empty()) {
    const auto written = write_file(options.summary_json, json.dump_pretty() + "\n");
    if (!written) {
      log_error("writing the summary: " + written.error().message);
      if (code == kExitOk) code = kExitNoOutput;
    }
  }
  return code;
}

int run(int argc, char** argv) {
  const ParsedOptions parsed = parse_run_options(argc, argv);
  if (!parsed.options) return parsed.exit_code;
  const RunOptions& options = *parsed.options;
  log_start("nvab-run", options.log_level, options.log_format);
  if (options.list_connectors || options.check_config || options.show_config) {
    return answer_about_settings(options);
  }
  if (options.doctor) return report_doctor(options);
  if (options.queue == QueueMode::status || options.queue == QueueMode::requeue) {
    return answer_about_queue(config_files(options).front(), options);
  }
  std::vector<RunSummary> runs;
  for (const std::string& config : config_files(options)) {
    runs.push_back(options.queue == QueueMode::none ? run_with(config, options)
                                                    : run_queue(config, options));
  }
  return report(runs, options);
}

}  // namespace

int main(int argc, char** argv) {
  // A closed pipe is an error of that output, not the end of the others.
  ::signal(SIGPIPE, SIG_IGN);
  try {
    const int code = run(argc, argv);
    // What was begun elsewhere is ended by now; whoever sent the signal sees that it worked.
    if (const int signal = interrupted_by(); signal != 0) {
      std::fflush(nullptr);
      ::raise(signal);
    }
    return code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nvab-run: error: %s\n", error.what());
    return kExitNoOutput;
  }
}
