// SPDX-License-Identifier: Apache-2.0
// See job_ids.hh. Slurm's own commands do not all take ranges of array tasks (sacct 22.05 refuses
// them), so they are expanded here.
#include "epilog/eca/job_ids.hh"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "common/base/text.hh"

namespace nvab {
namespace {

std::optional<std::uint32_t> number(std::string_view digits) {
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  const auto value = parse_int(digits);
  if (!value || *value >= kMaxSlurmJobId) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

bool is_step(std::string_view step) {
  return number(step) || step == "batch" || step == "extern" || step == "interactive";
}

// "1234" and what follows it, up to the step.
struct Parts {
  std::string_view job, separator, rest, step;
};

Parts split_parts(std::string_view text) {
  Parts parts;
  const std::size_t bracket = std::min(text.find(']'), text.size());
  const std::size_t dot = text.find('.', bracket == text.size() ? 0 : bracket);
  if (dot != std::string_view::npos) {
    parts.step = text.substr(dot + 1);
    text = text.substr(0, dot);
  }
  const std::size_t end = text.find_first_of("_+");
  parts.job = text.substr(0, end);
  if (end == std::string_view::npos) return parts;
  parts.separator = text.substr(end, 1);
  parts.rest = text.substr(end + 1);
  return parts;
}

// One range of array indices: "7", "1-9", "1-9:2".
bool add_range(std::string_view range, std::vector<std::uint32_t>* tasks) {
  const std::size_t colon = range.find(':');
  const auto step = colon == std::string_view::npos ? std::optional<std::uint32_t>(1)
                                                    : number(range.substr(colon + 1));
  range = range.substr(0, colon);
  const std::size_t dash = range.find('-');
  const auto first = number(range.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : number(range.substr(dash + 1));
  if (!first || !last || !step || *step == 0 || *last < *first) return false;
  if ((*last - *first) / *step >= kMaxAskedJobs) return false;
  for (std::uint64_t task = *first; task <= *last; task += *step) {
    tasks->push_back(static_cast<std::uint32_t>(task));
  }
  return tasks->size() <= kMaxAskedJobs;
}

// "[1-9,20%4]": squeue adds after % how many may run at once.
std::optional<std::vector<std::uint32_t>> parse_ranges(std::string_view text) {
  if (!text.starts_with('[') || !text.ends_with(']')) return std::nullopt;
  text = text.substr(1, text.size() - 2);
  text = text.substr(0, text.find('%'));
  std::vector<std::uint32_t> tasks;
  for (const std::string_view range : split(text, ',')) {
    if (!add_range(trim(range), &tasks)) return std::nullopt;
  }
  return tasks;
}

// Commas and blanks outside of brackets separate.
std::vector<std::string_view> split_names(std::string_view text) {
  std::vector<std::string_view> names;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    const bool separates = c == ',' || c == ' ' || c == '\t' || c == '\n';
    if (!separates || (depth > 0 && i < text.size())) continue;
    if (i > begin) names.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  return names;
}

// What one name stands for; empty where it is none.
std::vector<SlurmJobId> expand_name(std::string_view name) {
  if (const auto single = parse_job_id(name)) return {*single};
  const Parts parts = split_parts(name);
  const auto job = number(parts.job);
  if (!job || *job == 0 || parts.separator != "_") return {};
  if (!parts.step.empty() && !is_step(parts.step)) return {};
  if (parts.rest == "*") return {{*job, {}, {}, std::string(parts.step)}};
  const auto tasks = parse_ranges(parts.rest);
  std::vector<SlurmJobId> ids;
  if (!tasks) return ids;
  for (const std::uint32_t task : *tasks) ids.push_back({*job, task, {}, std::string(parts.step)});
  return ids;
}

}  // namespace

std::string to_string(const SlurmJobId& id) {
  std::string text = std::to_string(id.job);
  if (id.array_task) text += '_' + std::to_string(*id.array_task);
  if (id.het_offset) text += '+' + std::to_string(*id.het_offset);
  if (!id.step.empty()) text += '.' + id.step;
  return text;
}

std::optional<SlurmJobId> parse_job_id(std::string_view text) {
  const Parts parts = split_parts(trim(text));
  const auto job = number(parts.job);
  if (!job || *job == 0) return std::nullopt;
  const bool has_step = trim(text).find('.') != std::string_view::npos;
  if (has_step && !is_step(parts.step)) return std::nullopt;
  SlurmJobId id{*job, {}, {}, std::string(parts.step)};
  if (parts.separator.empty()) return id;
  const auto part = number(parts.rest);
  if (!part) return std::nullopt;
  (parts.separator == "_" ? id.array_task : id.het_offset) = part;
  return id;
}

Result<std::vector<SlurmJobId>> parse_job_ids(std::string_view text) {
  std::vector<SlurmJobId> all;
  std::set<std::string> seen;
  for (const std::string_view name : split_names(text)) {
    const std::vector<SlurmJobId> ids = expand_name(name);
    if (ids.empty()) {
      return fail(Error::Code::malformed,
                  fmt::format("'{}' names no Slurm job; write 1234, 1234_7, 1234_[1-9], 1234+1 or "
                              "1234.0",
                              excerpt(sanitize(name), 60)));
    }
    for (const SlurmJobId& id : ids) {
      if (seen.insert(to_string(id)).second) all.push_back(id);
    }
    if (all.size() > kMaxAskedJobs) {
      return fail(Error::Code::malformed,
                  fmt::format("more than {} jobs in one call; use --since instead", kMaxAskedJobs));
    }
  }
  return all;
}

}  // namespace nvab
