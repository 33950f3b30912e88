// SPDX-License-Identifier: Apache-2.0
// See journal_export.hh.
#include "epilog/log/journal_export.hh"

#include <algorithm>

#include "common/base/json.hh"
#include "common/base/text.hh"

namespace nvab {
namespace {

// Names of fields have 64 bytes at most.
constexpr std::size_t kMaxName = 256;

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
         });
}

// A value is a text, a list of bytes where it is no UTF-8, or null where it was too long.
std::optional<std::string> text_of(const Json& value) {
  if (auto text = value.as_string()) return text;
  if (!value.is_array()) return std::nullopt;
  std::string bytes;
  for (const Json& element : value.elements()) {
    const auto byte = element.as_int();
    // The same field several times is a list of its values: the first.
    if (!byte) return bytes.empty() ? element.as_string() : std::nullopt;
    if (*byte < 0 || *byte > 255) return std::nullopt;
    bytes += static_cast<char>(*byte);
  }
  return bytes;
}

}  // namespace

void JournalExportParser::end_entry() {
  if (has_fields_) {
    ++entries_;
    sink_(record_);
  }
  record_ = JournalRecord();
  has_fields_ = false;
}

// "NAME=value", or "NAME" alone before a value of any bytes, or nothing between two entries.
void JournalExportParser::end_line() {
  const std::string line = std::exchange(line_, {});
  const bool was_cut = std::exchange(is_cut_, false);
  if (line.empty()) return end_entry();
  const std::size_t equal = line.find('=');
  const std::string_view name = std::string_view(line).substr(0, equal);
  is_broken_ = !is_name(name) || (equal == std::string::npos && was_cut);
  if (is_broken_) return;
  has_fields_ = true;
  if (equal != std::string::npos)
    return record_.set(name, std::string_view(line).substr(equal + 1));
  name_ = name;
  state_ = State::size;
  size_ = 0;
  size_bytes_ = 0;
}

std::size_t JournalExportParser::take_line(std::string_view bytes) {
  const std::size_t end = bytes.find('\n');
  const std::string_view part = bytes.substr(0, end);
  const std::size_t room =
      kMaxName + kMaxExportField - std::min(line_.size(), kMaxName + kMaxExportField);
  is_cut_ |= part.size() > room;
  line_.append(part.substr(0, room));
  if (end == std::string_view::npos) return bytes.size();
  end_line();
  return end + 1;
}

// Eight bytes, the lowest first.
std::size_t JournalExportParser::take_size(std::string_view bytes) {
  size_ |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes.front()))
           << (8 * size_bytes_);
  if (++size_bytes_ < 8) return 1;
  value_.clear();
  left_ = size_;
  state_ = left_ > 0 ? State::value : State::end;
  return 1;
}

std::size_t JournalExportParser::take_value(std::string_view bytes) {
  const std::size_t part = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
  value_.append(bytes.substr(0, std::min(part, kMaxExportField - value_.size())));
  left_ -= part;
  if (left_ == 0) state_ = State::end;
  return part;
}

bool JournalExportParser::feed(std::string_view bytes) {
  while (!bytes.empty() && !is_broken_) {
    std::size_t used = 1;
    switch (state_) {
      case State::line:
        used = take_line(bytes);
        break;
      case State::size:
        used = take_size(bytes);
        break;
      case State::value:
        used = take_value(bytes);
        break;
      case State::end:
        is_broken_ = bytes.front() != '\n';
        record_.set(name_, value_);
        state_ = State::line;
        break;
    }
    bytes.remove_prefix(used);
  }
  return !is_broken_;
}

Result<void> JournalExportParser::finish() {
  if (!is_broken_ && state_ == State::line) {
    if (!line_.empty()) end_line();
    if (state_ == State::line && !is_broken_) {
      end_entry();
      return {};
    }
  }
  return fail(Error::Code::malformed, is_broken_ && entries_ == 0
                                          ? "it is neither a journal nor an export of one"
                                          : "the export of the journal is damaged or cut after " +
                                                std::to_string(entries_) + " entries");
}

void JournalJsonParser::take(std::string_view line) {
  if (trim(line).empty()) return;
  const auto object = Json::parse(line);
  if (!object || !object->is_object()) {
    ++bad_lines_;
    return;
  }
  JournalRecord record;
  object->each([&](std::string_view name, const Json& value) {
    if (const auto text = text_of(value)) record.set(name, *text);
  });
  sink_(record);
}

void JournalJsonParser::feed(std::string_view bytes) {
  lines_.feed(bytes, [this](std::string_view line) { take(line); });
}

void JournalJsonParser::finish() {
  lines_.finish([this](std::string_view line) { take(line); });
}

}  // namespace nvab
