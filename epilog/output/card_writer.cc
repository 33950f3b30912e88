// SPDX-License-Identifier: Apache-2.0
// See card_writer.hh.
#include "epilog/output/card_writer.hh"

#include <fmt/core.h>

#include <algorithm>

#include "common/base/text.hh"
#include "epilog/output/text_layout.hh"

namespace nvab {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kLabel = 10;  // columns of the labels
constexpr std::size_t kMaxPlace = 24;

std::string_view code_of(Tint tint) {
  switch (tint) {
    case Tint::none:
      return "";
    case Tint::red:
      return "\x1b[1;31m";
    case Tint::yellow:
      return "\x1b[1;33m";
    case Tint::green:
      return "\x1b[1;32m";
    case Tint::dim:
      return "\x1b[2m";
    case Tint::bold:
      return "\x1b[1m";
  }
  return "";
}

std::string safe(std::string_view text) { return sanitize(text); }

}  // namespace

std::string clock_text(Time time) {
  const std::string stamp = format_rfc3339(time);  // 2026-03-01T10:59:58.123456Z
  std::string clock = stamp.substr(11, stamp.size() - 12);
  constexpr std::size_t kMilliseconds = 12;
  if (clock.size() > kMilliseconds) clock.resize(kMilliseconds);
  return clock;
}

CardWriter::CardWriter(const CardStyle& style)
    : style_(style), width_(static_cast<std::size_t>(std::max(style.width, kMinCardWidth))) {}

void CardWriter::put(std::string_view text, Tint tint) {
  if (!style_.color || tint == Tint::none || text.empty()) {
    out_ += text;
    return;
  }
  out_ += code_of(tint);
  out_ += text;
  out_ += "\x1b[0m";
}

void CardWriter::margin(std::string_view label) {
  out_.append(kIndent, ' ');
  put(pad_to(label, kLabel), Tint::dim);
}

void CardWriter::rule(std::string_view left, std::string_view right) {
  const std::string end = cut_to(safe(right), width_ / 2);
  const std::size_t room = width_ - columns_of(end) - 8;
  const std::string begin = cut_to(safe(left), room);
  const std::size_t used = columns_of(begin) + columns_of(end) + 6;
  put("── ", Tint::dim);
  put(begin, Tint::bold);
  out_ += ' ';
  for (std::size_t i = used; i < width_; ++i) put("─", Tint::dim);
  out_ += ' ';
  out_ += end;
  out_ += '\n';
}

void CardWriter::heading(std::string_view text) {
  out_ += '\n';
  out_.append(kIndent, ' ');
  put(text, Tint::bold);
  out_ += '\n';
}

void CardWriter::title(std::string_view text, Tint tint, std::string_view right) {
  const std::string end = safe(right);
  const std::string whole = safe(text);
  const std::size_t room = width_ - kIndent - columns_of(end) - 2;
  if (columns_of(whole) <= room) {
    out_.append(kIndent, ' ');
    put(whole, tint);
    out_.append(width_ - kIndent - columns_of(whole) - columns_of(end), ' ');
    put(end, Tint::dim);
    out_ += '\n';
    return;
  }
  for (const std::string& line : wrap(whole, width_ - kIndent)) {
    out_.append(kIndent, ' ');
    put(line, tint);
    out_ += '\n';
  }
  out_.append(kIndent, ' ');
  put(end, Tint::dim);
  out_ += '\n';
}

void CardWriter::paragraph(std::string_view text) {
  for (const std::string& line : wrap(safe(text), width_ - kIndent)) {
    out_.append(kIndent, ' ');
    out_ += line + '\n';
  }
}

void CardWriter::note(std::string_view text) {
  out_.append(kIndent, ' ');
  put(text, Tint::yellow);
  out_ += '\n';
}

void CardWriter::labelled(std::string_view label, std::string_view text, Tint tint) {
  std::string_view shown = label;
  for (const std::string& line : wrap(safe(text), width_ - kIndent - kLabel)) {
    margin(shown);
    put(line, tint);
    out_ += '\n';
    shown = "";
  }
}

void CardWriter::command(std::string_view text) {
  out_.append(kIndent + kLabel + 2, ' ');
  std::string line = safe(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  put(line, Tint::green);
  out_ += '\n';
}

void CardWriter::evidence(std::string_view label, const TimelineItem& item, bool is_root) {
  std::string place = safe(item.node);
  if (item.rank) place += fmt::format("{}rank {}", place.empty() ? "" : " ", *item.rank);
  place = cut_to(place, kMaxPlace);
  std::string head = item.time ? clock_text(*item.time) : "--:--:--";
  if (!place.empty()) head += "  " + place;
  const std::size_t room = width_ - kIndent - kLabel;
  const std::size_t left = room > columns_of(head) + 22 ? room - columns_of(head) - 2 : 20;
  const std::string text = cut_to(safe(item.text), left);

  margin(label);
  out_ += head + "  ";
  put(text, is_root ? Tint::bold : Tint::none);
  out_ += '\n';
  std::string where = safe(item.origin.stream);
  if (item.origin.line > 0) where += fmt::format(":{}", item.origin.line);
  where += fmt::format("{}[{}]", where.empty() ? "" : "  ", item.rule);
  margin("");
  out_ += "  ";
  put(cut_to(where, room - 2), Tint::dim);
  out_ += '\n';
}

}  // namespace nvab
