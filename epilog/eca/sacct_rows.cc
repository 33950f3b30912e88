// SPDX-License-Identifier: Apache-2.0
// See sacct_rows.hh. Fields and their readers are one table; the last field is one that cannot hold
// a line end, so that a row ends where its last field does, whatever stands in a job's name.
#include "epilog/eca/sacct_rows.hh"

#include <fmt/core.h>

#include <algorithm>

#include "common/base/hostlist.hh"
#include "common/base/text.hh"

namespace nvab {
namespace {

// Longer ids and names than any that Slurm makes; a hostile one must not fill memory.
constexpr std::size_t kMaxText = 4096;

std::string clean(std::string_view text) { return sanitize(text.substr(0, kMaxText)); }

std::optional<int> small_number(std::string_view text) {
  const auto value = parse_int(text);
  if (!value || *value < 0 || *value > 1'000'000'000) return std::nullopt;
  return static_cast<int>(*value);
}

std::optional<long long> id_number(std::string_view text) {
  const auto value = parse_int(text);
  // (uid_t)-1 and -2 are Slurm's "none".
  if (!value || *value < 0 || *value >= 0xfffffffe) return std::nullopt;
  return value;
}

std::optional<ExitCode> exit_of(std::string_view text) {
  return text.empty() ? std::nullopt : parse_exit_code(text);
}

std::vector<std::string> nodes_of(std::string_view text) {
  if (text.empty() || text == "None assigned") return {};
  auto nodes = expand_hostlist(text);
  if (!nodes) return {};
  sort_hosts(*nodes);
  return std::move(*nodes);
}

// "billing=8,cpu=8,gres/gpu:h100=4,gres/gpu=4,mem=50M,node=1": all GPUs of the job.
std::optional<int> gpus_of(std::string_view tres) {
  constexpr std::string_view kPlain = "gres/gpu=", kTyped = "gres/gpu:";
  std::optional<int> typed;
  for (const std::string_view one : split(tres, ',')) {
    if (one.starts_with(kPlain)) return small_number(one.substr(kPlain.size()));
    const std::size_t equals = one.rfind('=');
    if (!one.starts_with(kTyped) || equals == std::string_view::npos) continue;
    if (const auto count = small_number(one.substr(equals + 1))) typed = typed.value_or(0) + *count;
  }
  return typed;
}

struct Field {
  std::string_view name;
  bool is_newer;  // not in Slurm 22.05
  void (*read)(SacctRow& row, std::string_view text);
};

// In the order in which they are asked for.
constexpr Field kFields[] = {
    {"JobIDRaw", false,
     [](SacctRow& row, std::string_view text) {
       const auto raw = parse_job_id(text);
       row.raw_id = raw ? raw->job : 0;
     }},
    {"JobID", false,
     [](SacctRow& row, std::string_view text) {
       if (const auto id = parse_job_id(text)) row.id = *id;
     }},
    {"State", false, [](SacctRow& row, std::string_view text) { row.state = clean(text); }},
    {"ExitCode", false,
     [](SacctRow& row, std::string_view text) { row.exit_code = exit_of(text); }},
    {"DerivedExitCode", false,
     [](SacctRow& row, std::string_view text) { row.derived_exit_code = exit_of(text); }},
    {"Submit", false,
     [](SacctRow& row, std::string_view text) { row.submit = parse_slurm_time(text); }},
    {"Start", false,
     [](SacctRow& row, std::string_view text) { row.start = parse_slurm_time(text); }},
    {"End", false, [](SacctRow& row, std::string_view text) { row.end = parse_slurm_time(text); }},
    {"TimelimitRaw", false,
     [](SacctRow& row, std::string_view text) {
       if (const auto minutes = small_number(text)) row.time_limit_s = 60LL * *minutes;
     }},
    {"NodeList", false, [](SacctRow& row, std::string_view text) { row.nodes = nodes_of(text); }},
    {"NTasks", false,
     [](SacctRow& row, std::string_view text) { row.ntasks = small_number(text); }},
    {"UID", false, [](SacctRow& row, std::string_view text) { row.uid = id_number(text); }},
    {"GID", false, [](SacctRow& row, std::string_view text) { row.gid = id_number(text); }},
    {"User", false, [](SacctRow& row, std::string_view text) { row.user = clean(text); }},
    {"Account", false, [](SacctRow& row, std::string_view text) { row.account = clean(text); }},
    {"Partition", false, [](SacctRow& row, std::string_view text) { row.partition = clean(text); }},
    {"ReqMem", false, [](SacctRow& row, std::string_view text) { row.req_mem = clean(text); }},
    {"AllocTRES", false, [](SacctRow& row, std::string_view text) { row.gpus = gpus_of(text); }},
    {"Restarts", true,
     [](SacctRow& row, std::string_view text) { row.restarts = small_number(text); }},
    {"FailedNode", true,
     [](SacctRow& row, std::string_view text) { row.failed_node = clean(text); }},
    {"Reason", false, [](SacctRow& row, std::string_view text) { row.reason = clean(text); }},
    {"JobName", false, [](SacctRow& row, std::string_view text) { row.name = clean(text); }},
    // Paths stay as they are: they are opened, not shown.
    {"WorkDir", false,
     [](SacctRow& row, std::string_view text) { row.work_dir = text.substr(0, kMaxText); }},
    {"SubmitLine", false,
     [](SacctRow& row, std::string_view text) { row.submit_line = text.substr(0, kMaxText); }},
    {"StdOut", true,
     [](SacctRow& row, std::string_view text) { row.stdout_pattern = text.substr(0, kMaxText); }},
    {"StdErr", true,
     [](SacctRow& row, std::string_view text) { row.stderr_pattern = text.substr(0, kMaxText); }},
    {"Cluster", false, [](SacctRow& row, std::string_view text) { row.cluster = clean(text); }},
};

const Field* find_field(std::string_view name) {
  for (const Field& field : kFields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

// The text up to the delimiter, or for the last field of a row up to the line's end; what follows
// stays in `rest`. Nothing where there is no such end.
std::optional<std::string_view> take_field(std::string_view* rest, std::string_view end) {
  const std::size_t at = rest->find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view text = rest->substr(0, at);
  rest->remove_prefix(at + end.size());
  return text;
}

tl::unexpected<Error> garbled(std::string_view at) {
  return fail(Error::Code::malformed,
              fmt::format("sacct printed what is no row of accounting: '{}'",
                          excerpt(sanitize(at.substr(0, 200)), 80)));
}

}  // namespace

std::string_view SacctRow::base_state() const {
  return std::string_view(state).substr(0, state.find_first_of(" +"));
}

std::vector<std::string> sacct_fields(const std::set<std::string>& available) {
  std::vector<std::string> names;
  for (const Field& field : kFields) {
    if (!field.is_newer || available.count(lower(field.name)) > 0) names.emplace_back(field.name);
  }
  return names;
}

std::set<std::string> parse_field_list(std::string_view output) {
  std::set<std::string> names;
  std::string flat(output);
  std::replace(flat.begin(), flat.end(), '\n', ' ');
  for (const std::string_view name : split(flat, ' ')) {
    if (!trim(name).empty()) names.insert(lower(trim(name)));
  }
  return names;
}

std::optional<Time> parse_slurm_time(std::string_view text) { return parse_rfc3339(text); }

Result<std::vector<SacctRow>> parse_sacct(std::string_view output,
                                          const std::vector<std::string>& fields,
                                          std::string_view delimiter) {
  std::vector<SacctRow> rows;
  std::string_view rest = output;
  while (!rest.empty()) {
    const std::string_view begin = rest;
    SacctRow row;
    bool waits = false;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const auto text = take_field(&rest, i + 1 < fields.size() ? delimiter : "\n");
      if (!text) return garbled(begin);
      const Field* field = find_field(fields[i]);
      if (field != nullptr) field->read(row, *text);
      if (fields[i] == "JobID") waits = text->find("_[") != std::string_view::npos;
    }
    if (waits) continue;
    if (row.raw_id == 0 || row.id.job == 0 || row.state.empty()) return garbled(begin);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace nvab
