// SPDX-License-Identifier: Apache-2.0
// The journal's export format (`journalctl -o export`, systemd's JOURNAL_EXPORT_FORMATS): a record
// is a block of FIELD=value lines, or of a field's name, its length and its bytes. Becomes one line
// a record, as syslog writes it, so that all else reads it like any log.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "common/model/observation.hh"

namespace nvab {

// Whether a stream that begins like this is in that format.
bool is_journal_export(std::string_view head);

class JournalExport {
 public:
  // For applog the lines have a stamp and the message only.
  explicit JournalExport(Source source) : source_(source) {}

  // Consecutive bytes in pieces of any size; the lines of the records that they complete, each with
  // its line break, valid until the next call. What comes before the first whole record of a stream
  // that is read from its middle is left out.
  std::string_view feed(std::string_view bytes);
  // The record that no empty line ended.
  std::string_view finish();

 private:
  void take_line(std::string_view line);
  std::size_t take_length(std::string_view bytes);
  std::size_t take_data(std::string_view bytes);
  void keep(std::string_view name, std::string_view value);
  void end_record();
  std::string_view field(std::string_view name) const;
  void write_head(bool is_kernel);

  Source source_;
  std::map<std::string, std::string, std::less<>> fields_;
  std::string line_;       // the one that is not complete
  std::string data_name_;  // of the field whose bytes come next; empty: a line comes next
  std::string data_;       // as far as it came, and is kept
  std::uint64_t data_left_ = 0;
  int length_bytes_ = 0;  // of the length, read so far
  bool in_data_ = false;
  std::string out_;
};

}  // namespace nvab
