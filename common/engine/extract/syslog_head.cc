// SPDX-License-Identifier: Apache-2.0
// Heads of system logs: RFC 3164 and 5424, rsyslog's ISO form, the journal's short forms, dmesg in
// all its clocks, Slurm's daemons.
#include "common/engine/extract/head_parts.hh"

namespace nvab {
namespace {

// "<30>" before the line: severity of the message.
void take_priority(HeadReader* in) {
  if (!in->rest.starts_with('<')) return;
  std::size_t length = 0;
  const auto priority = leading_number(in->rest.substr(1), 3, &length);
  if (!priority || *priority > 191 || !in->rest.substr(1 + length).starts_with('>')) return;
  in->head.severity = severity_of_number(*priority % 8);
  if (*priority < 8) in->head.is_kernel = true;  // facility 0, which only the kernel has
  in->rest.remove_prefix(length + 2);
}

// "kern  :err   : " of dmesg -x.
void take_dmesg_level(HeadReader* in) {
  if (!in->rest.starts_with("kern") && !in->rest.starts_with("user") &&
      !in->rest.starts_with("daemon")) {
    return;
  }
  const std::size_t first = in->rest.find(':');
  if (first == std::string_view::npos || first > 8) return;
  const std::size_t second = in->rest.find(": ", first + 1);
  if (second == std::string_view::npos || second - first > 8) return;
  std::string_view level = in->rest.substr(first + 1, second - first - 1);
  while (!level.empty() && level.back() == ' ') level.remove_suffix(1);
  const std::string_view severity = severity_word(level);
  if (severity.empty()) return;
  in->head.severity = severity;
  in->rest.remove_prefix(second + 2);
}

// "[414619.932037] " and the caller that may follow: "[ T1234] ", "[   C12] ".
bool take_uptime(HeadReader* in, bool is_the_stamp) {
  if (!in->rest.starts_with('[')) return false;
  std::string_view inside = in->rest.substr(1);
  while (inside.starts_with(' ')) inside.remove_prefix(1);
  const auto stamp = uptime_stamp(inside);
  if (!stamp || !inside.substr(stamp->length).starts_with(']')) return false;
  if (is_the_stamp) in->set_stamp(*stamp);
  in->rest = inside.substr(stamp->length + 1);
  if (in->rest.starts_with('[')) {
    const std::size_t close = in->rest.find(']');
    std::string_view caller = in->rest.substr(1, close == std::string_view::npos ? 0 : close - 1);
    while (caller.starts_with(' ')) caller.remove_prefix(1);
    if (caller.size() > 1 && (caller[0] == 'T' || caller[0] == 'C') && is_digit(caller[1])) {
      in->rest.remove_prefix(close + 1);
    }
  }
  in->take(" ");
  return true;
}

// A stamp in brackets: Slurm's daemons, dmesg -T.
bool take_bracketed_stamp(HeadReader* in) {
  if (!in->rest.starts_with('[')) return false;
  const std::string_view inside = in->rest.substr(1);
  const auto stamp = any_stamp(inside);
  if (!stamp || !inside.substr(stamp->length).starts_with(']')) return false;
  in->set_stamp(*stamp);
  in->rest = inside.substr(stamp->length + 1);
  in->take(" ");
  return true;
}

void mark_kernel(HeadReader* in) {
  in->head.is_kernel = true;
  in->head.app = "kernel";
}

// "app[12]: ", "app: ", "kernel: [123.4] ".
bool take_tag(HeadReader* in) {
  constexpr std::size_t kMaxTag = 80;
  const std::string_view text = in->rest;
  std::size_t end = 0;
  while (end < text.size() && end <= kMaxTag && text[end] != ' ' && text[end] != '[' &&
         text[end] != ':') {
    ++end;
  }
  if (end == 0 || end >= text.size() || text[end] == ' ') return false;
  std::string_view behind = text.substr(end);
  std::optional<int> pid;
  if (behind.starts_with('[')) {
    std::size_t length = 0;
    pid = leading_number(behind.substr(1), 9, &length);
    const std::size_t close = behind.find(']');
    if (close == std::string_view::npos || close > 40) return false;
    behind.remove_prefix(close + 1);
  }
  if (!behind.starts_with(':')) return false;
  behind.remove_prefix(1);
  if (!behind.empty() && behind.front() != ' ') return false;
  in->head.app = text.substr(0, end);
  in->head.pid = pid;
  in->rest = behind;
  in->take(" ");
  if (in->head.app == "kernel") {
    in->head.is_kernel = true;
    take_uptime(in, false);
  }
  return true;
}

// A host name and a space, when a program's tag follows it.
void take_host_and_tag(HeadReader* in) {
  const std::string_view before = in->rest;
  in->skip_spaces();
  const std::size_t space = in->rest.find(' ');
  const std::string_view host = in->rest.substr(0, space);
  if (space == std::string_view::npos || !is_host_name(host)) {
    if (!take_tag(in)) in->rest = before.starts_with(' ') ? before.substr(1) : before;
    return;
  }
  in->head.node = host;
  in->rest.remove_prefix(space + 1);
  in->skip_spaces();
  take_tag(in);
}

std::string_view take_word(HeadReader* in) {
  const std::size_t space = in->rest.find(' ');
  const std::string_view word = in->rest.substr(0, space);
  in->rest.remove_prefix(space == std::string_view::npos ? in->rest.size() : space + 1);
  return word;
}

// "1 2026-03-01T10:59:58Z host app 123 - - text" behind the priority.
bool take_rfc5424(HeadReader* in) {
  if (!in->rest.starts_with("1 ")) return false;
  const auto stamp = iso_stamp(in->rest.substr(2));
  if (!stamp || !in->rest.substr(2 + stamp->length).starts_with(' ')) return false;
  in->set_stamp(*stamp);
  in->rest.remove_prefix(2 + stamp->length + 1);
  in->head.node = take_word(in);
  in->head.app = take_word(in);
  std::size_t length = 0;
  in->head.pid = leading_number(take_word(in), 9, &length);
  take_word(in);  // message id
  if (!in->take("- ") && in->rest.starts_with('[')) {
    const std::size_t end = in->rest.find("] ");
    if (end != std::string_view::npos) in->rest.remove_prefix(end + 2);
  }
  in->take("\xEF\xBB\xBF");
  if (in->head.node == "-") in->head.node = {};
  if (in->head.app == "-") in->head.app = {};
  if (in->head.app == "kernel") in->head.is_kernel = true;
  if (in->head.is_kernel) take_uptime(in, false);
  return true;
}

// util-linux writes "2025-05-14T14:21:26,123456+00:00 text": nobody else has a comma and a zone.
bool is_dmesg_iso(std::string_view text, const Stamp& stamp) {
  return stamp.kind == StampKind::zoned && text.size() > 19 && text[10] == 'T' && text[19] == ',';
}

bool is_host_then_tag(std::string_view text) {
  HeadReader probe{text, {}};
  const std::string_view host = take_word(&probe);
  return is_host_name(host) && take_tag(&probe) && (probe.head.pid || probe.head.app == "kernel");
}

// Behind an uptime: dmesg has the text, the journal's short-monotonic host and program.
void after_uptime(HeadReader* in) {
  if (is_host_then_tag(in->rest)) return take_host_and_tag(in);
  mark_kernel(in);
}

}  // namespace

void take_syslog_head(HeadReader* in, HeadOptions options) {
  take_priority(in);
  take_dmesg_level(in);
  if (take_rfc5424(in)) return;
  if (take_uptime(in, true)) {
    if (options.is_dmesg) return mark_kernel(in);
    return after_uptime(in);
  }
  const std::string_view whole = in->rest;
  if (take_bracketed_stamp(in)) {
    const bool ctime =
        in->head.stamp == StampKind::zoneless && whole.size() > 1 && is_letter(whole[1]);
    if (options.is_dmesg || ctime) mark_kernel(in);
    return;
  }
  if (take_glog(in)) return;
  const auto stamp = any_stamp(in->rest);
  if (!stamp) {
    if (options.is_dmesg || in->head.is_kernel) mark_kernel(in);
    return;
  }
  in->set_stamp(*stamp);
  in->rest.remove_prefix(stamp->length);
  if (options.is_dmesg || is_dmesg_iso(whole, *stamp)) {
    in->take(" ");
    return mark_kernel(in);
  }
  take_host_and_tag(in);
}

}  // namespace nvab
