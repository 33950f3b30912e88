// SPDX-License-Identifier: Apache-2.0
// The parts of a line's head, each taken from the front of a text. For the dialect files only.
#pragma once

#include <optional>
#include <string_view>

#include "common/engine/extract/dialect.hh"
#include "common/engine/extract/stamp.hh"

namespace nvab {

// A line head being read: `rest` shrinks as parts are recognised.
struct HeadReader {
  std::string_view rest;
  LineHead head;

  bool take(std::string_view prefix) {
    if (!rest.starts_with(prefix)) return false;
    rest.remove_prefix(prefix.size());
    return true;
  }
  void skip_spaces() {
    while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t')) rest.remove_prefix(1);
  }
  void set_stamp(const Stamp& stamp) {
    head.stamp = stamp.kind;
    head.time = stamp.time;
  }
};

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
// Letters, digits and what host names may hold besides.
bool is_host_char(char c);
bool is_host_name(std::string_view word);

// Digits at the front, at most `max_digits` of them, as a number; nothing else is looked at.
std::optional<int> leading_number(std::string_view text, std::size_t max_digits,
                                  std::size_t* length);

// "INFO", "warning", "E": the word in syslog's spelling ("info", "warning", "err", "crit", "debug",
// "emerg", "alert", "notice"), empty when it is no level.
std::string_view severity_word(std::string_view word);
std::string_view severity_of_number(int number);  // 0..7 as in syslog and the journal

// A stamp at the front, also in brackets, behind glog's letter or "time="; takes it together with
// what only frames it. False when there is none.
bool take_app_stamp(HeadReader* in);

// "I0311 02:03:12.59  104400 train.py:88] text" and "[W621 09:16:34.06 file.cpp:16] text": what
// stays are file, line and text.
bool take_glog(HeadReader* in);

// One rank or node prefix of a launcher at the front. `at_start`: nothing but other such prefixes
// came before, so that bare numbers count.
bool take_launcher_prefix(HeadReader* in, bool at_start, HeadOptions options);

// "n3: " of pdsh and clush.
bool take_host_label(HeadReader* in);

// The whole head of a line of syslog, dmesg, the journal or a Slurm daemon.
void take_syslog_head(HeadReader* in, HeadOptions options);

}  // namespace nvab
