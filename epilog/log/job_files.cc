// SPDX-License-Identifier: Apache-2.0
// See job_files.hh.
#include "epilog/log/job_files.hh"

#include <errno.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "common/base/file.hh"
#include "common/base/text.hh"
#include "epilog/eca/job_ids.hh"
#include "epilog/log/output_pattern.hh"

namespace nvab {
namespace {

// Clocks of file servers and nodes differ; Slurm itself writes its last words a little late.
constexpr Duration kWriteSlack = std::chrono::minutes(2);
// Files of one srun -o pattern: its tasks are known, but no person looks at more.
constexpr int kMaxPatternFiles = 4096;
// Where #SBATCH lines stand: at the head.
constexpr std::size_t kMaxScript = 1024 * 1024;

// A file that may be the job's.
struct Candidate {
  SourceFile file;
  bool is_certain = false;  // it was seen to be opened, or asked for: that it is missing is news
};

class Finder {
 public:
  explicit Finder(const JobFileSearch& search) : search_(search), files_(search.context.files) {}
  JobFilesFound run();
  std::string standard_output() const;

 private:
  void add_recorded();
  void add_batch();
  void add_steps();
  void add_pattern(const std::string& pattern, const PatternValues& values, bool is_certain);
  // False where the file is not there.
  bool take(const Candidate& candidate);
  bool is_recorded(const std::string& step) const;
  bool leads_to_srun(const std::string& step) const;
  bool has_own_name(const std::string& path) const;
  PatternValues values() const;
  OutputPatterns batch_patterns() const;
  std::string recorded_output(bool of_batch, bool* is_known) const;
  std::string absolute(const std::string& path) const;

  const JobFileSearch& search_;
  const JobFiles& files_;
  std::set<std::string> seen_;
  JobFilesFound found_;
};

// Its name says which job wrote it, so that no other one did.
bool Finder::has_own_name(const std::string& path) const {
  for (const long long id : files_.raw_ids) {
    if (has_number(path, id)) return true;
  }
  return files_.array_job_id && has_number(path, *files_.array_job_id);
}

std::string Finder::absolute(const std::string& path) const {
  if (path.starts_with('/') || files_.work_dir.empty()) return path;
  return files_.work_dir + "/" + path;
}

PatternValues Finder::values() const {
  PatternValues values;
  const ExecutionContext& c = search_.context;
  if (!files_.raw_ids.empty()) values.job_id = files_.raw_ids.front();
  values.array_job_id = files_.array_job_id;
  values.array_task_id = files_.array_task_id;
  values.job_name = c.name;
  values.user = c.user;
  values.node = files_.batch_node;
  return values;
}

bool Finder::take(const Candidate& candidate) {
  const std::string& path = candidate.file.path;
  if (!path.starts_with('/') || !seen_.insert(path).second) return true;
  struct stat status {};
  const auto skip = [&](Error error) {
    found_.source.skipped.push_back({path, std::move(error)});
    return true;
  };
  if (::lstat(path.c_str(), &status) != 0) {
    const int error_number = errno;
    const bool is_absent = error_number == ENOENT || error_number == ENOTDIR;
    if (is_absent && !candidate.is_certain) {
      seen_.erase(path);
      return false;
    }
    return skip(from_errno(error_number, "looking at it"));
  }
  const ExecutionContext& c = search_.context;
  const Time written = from_unix_seconds(static_cast<double>(status.st_mtim.tv_sec));
  // Slurm empties the file for the next run; one that is appended to holds both, and whose a line
  // is cannot be told.
  if (S_ISREG(status.st_mode) && files_.next_run && written >= *files_.next_run) {
    return skip({Error::Code::conflict, "the next run of the job has written to it"});
  }
  const bool is_file = S_ISREG(status.st_mode) && !has_own_name(path);
  if (is_file && c.end_time && written > *c.end_time + kWriteSlack) {
    return skip({Error::Code::conflict,
                 "it was written to after the job's end: what is in it may be another run's"});
  }
  if (is_file && c.start_time && written < *c.start_time - kWriteSlack) {
    return skip({Error::Code::conflict, "it was last written to before the job started"});
  }
  found_.source.files.push_back(candidate.file);
  return true;
}

// ---- by the task record
// -----------------------------------------------------------------------------

bool Finder::is_recorded(const std::string& step) const {
  return std::any_of(search_.streams.begin(), search_.streams.end(),
                     [&](const TaskStream& stream) { return stream.step == step; });
}

// What its tasks print goes through srun, which may write it into a file of its own.
bool Finder::leads_to_srun(const std::string& step) const {
  return std::any_of(search_.streams.begin(), search_.streams.end(), [&](const TaskStream& stream) {
    return stream.step == step && stream.kind == TaskStream::Kind::pipe;
  });
}

void Finder::add_recorded() {
  struct Writer {
    const TaskStream* stream;
    std::set<std::pair<std::string, int>> tasks;  // step and task
    std::set<std::string> nodes;
  };
  std::map<std::string, Writer> writers;
  for (const TaskStream& stream : search_.streams) {
    if (stream.kind != TaskStream::Kind::file || stream.path.empty()) continue;
    Writer& writer = writers.try_emplace(stream.path, Writer{&stream, {}, {}}).first->second;
    writer.tasks.emplace(stream.step, stream.task);
    writer.nodes.insert(stream.node);
  }
  for (const auto& [path, writer] : writers) {
    Candidate candidate;
    candidate.is_certain = true;
    candidate.file = {.path = path, .stream = path, .follow_link = false};
    FileIdentity identity;
    identity.ino = writer.stream->ino;
    // Another machine numbers its devices otherwise; the inode is the file server's.
    const bool is_here = !search_.boot_id.empty() && writer.stream->boot_id == search_.boot_id;
    if (is_here) identity.dev = writer.stream->dev;
    candidate.file.identity = identity;
    // What a script prints is also its programs': only a task of its own has a file of its own.
    const bool is_own = writer.tasks.size() == 1 && parse_int(writer.stream->step).has_value();
    if (is_own) candidate.file.task = writer.stream->task;
    if (is_own && writer.nodes.size() == 1) candidate.file.node = *writer.nodes.begin();
    take(candidate);
  }
}

// ---- by what the job was submitted with
// -----------------------------------------------------------

void Finder::add_pattern(const std::string& pattern, const PatternValues& values, bool is_certain) {
  Candidate candidate;
  candidate.file.follow_link = false;
  if (parse_int(values.step)) {
    candidate.file.task = values.task;
    candidate.file.node = values.node;
  }
  // Only newer versions know %b; where its file is there it was one of those.
  for (const bool newer : {true, false}) {
    candidate.file.path = absolute(expand_output_pattern(pattern, values, newer));
    candidate.file.stream = candidate.file.path;
    candidate.is_certain = is_certain && !newer;
    if (take(candidate)) return;
  }
}

std::string first_of(std::initializer_list<std::string> texts) {
  for (const std::string& text : texts) {
    if (!text.empty()) return text;
  }
  return {};
}

std::string default_output(const JobFiles& files) {
  return files.array_job_id ? "slurm-%A_%a.out" : "slurm-%j.out";
}

// The script's output, in the order in which Slurm takes its options: what a hand-over or
// accounting knows, the command line, the script's own lines (as it is now), the default.
OutputPatterns Finder::batch_patterns() const {
  const OutputPatterns command = patterns_of_command(files_.submit_line);
  OutputPatterns script;
  const std::string name = script_of_command(files_.submit_line);
  if (files_.stdout_pattern.empty() && !name.empty()) {
    if (const auto text = read_file(absolute(name), kMaxScript)) script = patterns_of_script(*text);
  }
  return {first_of({files_.stdout_pattern, command.output, script.output, default_output(files_)}),
          first_of({files_.stderr_pattern, command.error, script.error})};
}

void Finder::add_batch() {
  if (!files_.is_batch || is_recorded("batch") || files_.raw_ids.empty()) return;
  const auto [output, error] = batch_patterns();
  const std::string fallback = default_output(files_);
  const bool is_known = !files_.stdout_pattern.empty();
  add_pattern(output, values(), is_known);
  if (!error.empty()) add_pattern(error, values(), !files_.stderr_pattern.empty());
  if (output != fallback && !is_known) add_pattern(fallback, values(), false);
}

// Files that srun opened: with %t or %n on the nodes, one a task or node.
void Finder::add_steps() {
  for (const JobFiles::Step& step : files_.steps) {
    if (is_recorded(step.id) && !leads_to_srun(step.id)) continue;
    const OutputPatterns patterns = patterns_of_command(step.submit_line);
    for (const std::string& pattern : {patterns.output, patterns.error}) {
      // srun takes "all", "none" and the number of a task for what to do with its own output.
      if (pattern.empty() || pattern == "none" || pattern == "all" || parse_int(pattern)) continue;
      const int tasks = names_the_task(pattern) ? std::max(1, step.ntasks) : 1;
      const int nodes =
          names_the_node(pattern) ? std::max(1, static_cast<int>(step.nodes.size())) : 1;
      for (int i = 0; i < std::min(tasks * nodes, kMaxPatternFiles); ++i) {
        PatternValues one = values();
        one.step = step.id;
        one.task = i % tasks;
        one.node_number = i / tasks;
        const auto node = static_cast<std::size_t>(one.node_number);
        one.node = nodes > 1 && node < step.nodes.size() ? step.nodes[node] : "";
        if (tasks == 1) one.step = step.id;
        add_pattern(pattern, one, false);
      }
    }
  }
}

// ---- the one file that a person knows as the job's output
// ---------------------------------------

// `is_known`: the record says where it went, be it to no file.
std::string Finder::recorded_output(bool of_batch, bool* is_known) const {
  const TaskStream* first = nullptr;
  for (const TaskStream& stream : search_.streams) {
    if (stream.is_stderr || (stream.step == "batch") != of_batch) continue;
    if (!of_batch && !parse_int(stream.step)) continue;
    const auto order = [](const TaskStream& s) {
      return std::tuple(parse_int(s.step).value_or(0), s.task, s.node);
    };
    if (first == nullptr || order(stream) < order(*first)) first = &stream;
  }
  *is_known = first != nullptr;
  return first != nullptr && first->kind == TaskStream::Kind::file ? first->path : std::string();
}

std::string Finder::standard_output() const {
  bool is_known = false;
  std::string path = recorded_output(true, &is_known);
  if (is_known) return path;
  if (!files_.is_batch) {
    path = recorded_output(false, &is_known);
    if (!path.empty() || files_.steps.empty()) return path;
  }
  if (files_.raw_ids.empty()) return {};
  PatternValues one = values();
  std::string pattern;
  if (files_.is_batch) {
    pattern = batch_patterns().output;
  } else {
    pattern = patterns_of_command(files_.steps.front().submit_line).output;
    one.step = files_.steps.front().id;
  }
  if (pattern.empty() || pattern == "none" || pattern == "all" || parse_int(pattern)) return {};
  const std::string newer = absolute(expand_output_pattern(pattern, one, true));
  return exists(newer) ? newer : absolute(expand_output_pattern(pattern, one));
}

// ---- all of it
// ---------------------------------------------------------------------------------------

std::string why_nowhere(const JobFileSearch& search) {
  const auto all_lead = [&](TaskStream::Kind kind) {
    return !search.streams.empty() &&
           std::all_of(search.streams.begin(), search.streams.end(),
                       [&](const TaskStream& stream) { return stream.kind == kind; });
  };
  if (all_lead(TaskStream::Kind::device)) {
    return "the job's output went to " + search.streams.front().path;
  }
  if (all_lead(TaskStream::Kind::deleted)) return "the job's output file was deleted";
  const bool is_interactive = !search.context.files.is_batch;
  if (all_lead(TaskStream::Kind::pipe) || is_interactive) {
    return "the job's output went to the terminal of srun or salloc, not to a file";
  }
  return "no output file of the job was found";
}

JobFilesFound Finder::run() {
  add_recorded();
  add_batch();
  add_steps();
  if (found_.source.files.empty()) found_.nowhere = why_nowhere(search_);
  return std::move(found_);
}

}  // namespace

bool has_number(std::string_view path, long long number) {
  constexpr std::string_view kDigits = "0123456789";
  const std::string wanted = std::to_string(number);
  for (std::size_t at = path.find_first_of(kDigits); at != std::string_view::npos;) {
    const std::size_t end = std::min(path.find_first_not_of(kDigits, at), path.size());
    std::string_view digits = path.substr(at, end - at);
    digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
    if (digits == wanted) return true;
    at = path.find_first_of(kDigits, end);
  }
  return false;
}

std::string standard_output_of(const JobFileSearch& search) {
  return Finder(search).standard_output();
}

JobFilesFound find_job_files(const JobFileSearch& search) { return Finder(search).run(); }

}  // namespace nvab
