// SPDX-License-Identifier: Apache-2.0
// See path_template.hh.
#include "epilog/log/path_template.hh"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "common/base/file.hh"
#include "common/base/regex.hh"
#include "common/base/text.hh"
#include "epilog/log/local_nodes.hh"

namespace nvab {
namespace {

// Names of folders that hold a date are in the server's zone.
constexpr Duration kZone = std::chrono::hours(24);

// One name of the path: plain text, or a pattern for it.
struct Part {
  std::string text;
  std::optional<Regex> pattern;
};

// What the names above said.
struct Found {
  std::string path;
  std::string node;
  std::optional<int> year, month, day;
};

// The group that a property is captured by; empty: it may be anything.
std::string_view group_of(std::string_view property) {
  const std::string whole = lower(property);
  const auto fields = split(whole, ':');
  const std::string_view name = trim(fields.front());
  if (name == "hostname" || name == "fromhost" || name == "source") return "host";
  if (name == "$year" || name == "$month" || name == "$day") return name.substr(1);
  // "timegenerated:1:4:date-rfc3339": characters 1 to 4 of 2026-03-01T10:59:58.
  const bool is_time = name.starts_with("timegenerated") || name.starts_with("timereported") ||
                       name.starts_with("timestamp");
  if (!is_time || fields.size() < 4 || fields[3].find("date-rfc3339") == std::string::npos)
    return {};
  if (fields[1] == "1" && fields[2] == "4") return "year";
  if (fields[1] == "6" && fields[2] == "7") return "month";
  if (fields[1] == "9" && fields[2] == "10") return "day";
  return fields[1] == "1" && fields[2] == "10" ? "date" : "";
}

std::string pattern_of(std::string_view group) {
  if (group == "year") return "(?<year>[0-9]{4})";
  if (group == "month" || group == "day") return fmt::format("(?<{}>[0-9]{{1,2}})", group);
  if (group == "date") return "(?<year>[0-9]{4})-(?<month>[0-9]{2})-(?<day>[0-9]{2})";
  if (group == "host" || group == "job") return fmt::format("(?<{}>[^/]+)", group);
  return "[^/]*";
}

// The length of the property at the front of `text`, and what it is; 0: there is none.
std::size_t property_at(std::string_view text, std::string_view* group) {
  for (const auto& [word, meaning] :
       {std::pair<std::string_view, std::string_view>{"{node}", "host"}, {"{job}", "job"}}) {
    if (!text.starts_with(word)) continue;
    *group = meaning;
    return word.size();
  }
  if (!text.starts_with('%')) return 0;
  const std::size_t end = text.find('%', 1);
  if (end == std::string_view::npos) return 0;
  *group = group_of(text.substr(1, end - 1));
  return end + 1;
}

class Expansion {
 public:
  explicit Expansion(const ExecutionContext& context) : context_(context) {}
  Result<void> parse(std::string_view path);
  TemplatePaths run(std::string root);

 private:
  Result<Part> parse_part(std::string_view name) const;
  void walk(std::size_t part, const Found& above);
  std::optional<Found> accept(const Part& part, std::string_view name, const Found& above) const;
  bool in_window(const Found& found) const;

  const ExecutionContext& context_;
  std::vector<Part> parts_;
  TemplatePaths out_;
};

Result<Part> Expansion::parse_part(std::string_view name) const {
  Part part;
  part.text = name;
  std::string regex;
  bool is_pattern = false;
  for (std::size_t i = 0; i < name.size();) {
    std::string_view group;
    if (const std::size_t length = property_at(name.substr(i), &group); length > 0) {
      const std::string named = pattern_of(group);
      // A second place of the same property may hold what it likes: the first one decides.
      const std::string_view first = group == "date" ? "year" : group;
      const bool is_new = first.empty() || regex.find("(?<" + std::string(first)) == regex.npos;
      regex += is_new ? named : "[^/]*";
      is_pattern = true;
      i += length;
      continue;
    }
    const char c = name[i++];
    if (c == '%') {
      return fail(Error::Code::malformed,
                  fmt::format("the path has a property without end: {}", sanitize(name)));
    }
    is_pattern |= c == '*' || c == '?' || c == '[';
    if (c == '*' || c == '?') {
      regex += c == '*' ? "[^/]*" : "[^/]";
    } else if (c == '[' || c == ']') {
      regex += c;
    } else {
      if (std::string_view("\\.+()|{}^$").find(c) != std::string_view::npos) regex += '\\';
      regex += c;
    }
  }
  if (!is_pattern) return part;
  auto compiled = Regex::compile("\\A" + regex + "\\z");
  if (!compiled) return fail(fmt::format("the path's part {}", name), compiled.error());
  part.pattern = std::move(*compiled);
  return part;
}

// Slashes inside a property are none of the path's.
Result<void> Expansion::parse(std::string_view path) {
  std::string name;
  const auto end_name = [&]() -> Result<void> {
    if (name.empty()) return {};
    auto part = parse_part(std::exchange(name, {}));
    if (!part) return tl::unexpected<Error>(part.error());
    parts_.push_back(std::move(*part));
    return {};
  };
  for (std::size_t i = 0; i < path.size();) {
    std::string_view group;
    const std::size_t length = std::max<std::size_t>(property_at(path.substr(i), &group), 1);
    if (length == 1 && path[i] == '/') {
      if (auto done = end_name(); !done) return done;
    } else {
      name += path.substr(i, length);
    }
    i += length;
  }
  return end_name();
}

bool Expansion::in_window(const Found& found) const {
  using namespace std::chrono;
  if (!found.year) return true;
  const auto first = year(*found.year) / month(static_cast<unsigned>(found.month.value_or(1))) /
                     day(static_cast<unsigned>(found.day.value_or(1)));
  if (!first.ok()) return false;
  auto last = first;
  if (!found.month) last = first.year() / December / 31;
  if (found.month && !found.day) last = sys_days(first.year() / first.month() / std::chrono::last);
  const Time begin = sys_days(first), end = sys_days(last) + days(1);
  return (!context_.start_time || end + kZone >= *context_.start_time) &&
         (!context_.end_time || begin - kZone <= *context_.end_time);
}

std::optional<Found> Expansion::accept(const Part& part, std::string_view name,
                                       const Found& above) const {
  const auto captures = part.pattern->match(name);
  if (!captures) return std::nullopt;
  Found found = above;
  for (const Capture& capture : *captures) {
    const auto number = [&] { return static_cast<int>(parse_int(capture.text).value_or(0)); };
    if (capture.name == "host") {
      found.node = node_called(context_, capture.text);
      if (found.node.empty()) return std::nullopt;
    } else if (capture.name == "job") {
      const auto raw = parse_int(capture.text);
      const auto& ids = context_.files.raw_ids;
      const bool is_raw = raw && std::find(ids.begin(), ids.end(), *raw) != ids.end();
      if (!is_raw && !context_.is_called(capture.text)) return std::nullopt;
    } else if (capture.name == "year") {
      found.year = number();
    } else if (capture.name == "month") {
      found.month = number();
    } else if (capture.name == "day") {
      found.day = number();
    }
  }
  if (!in_window(found)) return std::nullopt;
  return found;
}

void Expansion::walk(std::size_t part, const Found& above) {
  if (part == parts_.size()) {
    if (out_.paths.size() < kMaxSourceFiles) out_.paths.push_back({above.path, above.node});
    return;
  }
  const auto below = [&](std::string_view name) {
    return above.path.empty() || above.path.ends_with('/') ? above.path + std::string(name)
                                                           : above.path + "/" + std::string(name);
  };
  if (!parts_[part].pattern) {
    Found next = above;
    next.path = below(parts_[part].text);
    if (exists(next.path)) walk(part + 1, next);
    return;
  }
  const std::string folder = above.path.empty() ? "." : above.path;
  const auto names = list_folder(folder);
  if (!names) {
    // What is no folder is no part of the tree.
    if (is_folder(folder)) out_.skipped.push_back({folder, names.error()});
    return;
  }
  for (const std::string& name : *names) {
    if (name.starts_with('.')) continue;
    auto found = accept(parts_[part], name, above);
    if (!found) continue;
    found->path = below(name);
    walk(part + 1, *found);
  }
}

TemplatePaths Expansion::run(std::string root) {
  Found top;
  top.path = std::move(root);
  walk(0, top);
  return std::move(out_);
}

}  // namespace

bool is_path_template(std::string_view path) {
  std::string_view group;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (property_at(path.substr(i), &group) > 0) return true;
  }
  return false;
}

Result<TemplatePaths> expand_path_template(std::string_view path, const ExecutionContext& context) {
  Expansion expansion(context);
  if (auto parsed = expansion.parse(path); !parsed) return tl::unexpected<Error>(parsed.error());
  return expansion.run(path.starts_with('/') ? "/" : "");
}

}  // namespace nvab
