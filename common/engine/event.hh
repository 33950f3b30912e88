// SPDX-License-Identifier: Apache-2.0
// A symptom at a time and place: the unit that filters mark and refiners tie together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/engine/rule.hh"
#include "common/model/observation.hh"

namespace nvab {

// Why an event does not count. Marked events stay: they may still testify (a recurrence on the same
// unit, a server about its clients) and `--explain` shows them.
enum class Mark {
  none,
  superseded,      // a more specific rule recognised the same entry
  benign,          // a rule says that this looks bad and is not
  quoted,          // advice, a command line or a quotation, not something that happened
  outside_window,  // before the job, or long after it
  not_this_job,    // another job's process, node or GPU
  repeat,          // one of many like it
  recovered,       // the job made progress after it
  teardown,        // part of being ended
  untrusted,       // any user can have written it where only the system should
  shadow,          // the rule is in shadow mode
};
std::string_view to_string(Mark mark);

struct Place {
  std::string node;      // subject: canonical once located; empty when not known
  std::string observer;  // who wrote it
  std::optional<int> rank, task, local_rank, gpu, port, pid;
  bool rank_by_gpu = false;  // nobody said it: the usual layout puts it on the GPU
  std::string pci, uuid, mig, nic;
  std::vector<std::string> peers;  // nodes named besides the subject, canonical once located
};

struct Event {
  const Rule* rule = nullptr;
  Source source = Source::applog;
  Trust trust = Trust::user;
  std::optional<Time> time;
  TimeQuality time_quality = TimeQuality::none;
  // It happened after this and no later than `time`: a sampled value changed at some moment since
  // the sample before. Empty: at `time`.
  std::optional<Time> not_before;
  Place place;
  std::vector<std::pair<std::string, std::string>> captures;
  std::string text;  // excerpt for people
  Origin origin;
  std::uint32_t count = 1;        // like ones that were folded into it
  std::optional<Time> last_time;  // of those
  Mark mark = Mark::none;
  int cause = -1;  // index of the event that explains it, -1: none

  std::optional<Time> earliest() const { return not_before ? not_before : time; }
  bool counts() const { return mark == Mark::none; }
  std::string_view capture(std::string_view name) const;  // empty when absent
};

// The order that makes everything after it independent of the order of arrival: time (unknown
// last), source, stream, line, offset, rule id, text.
bool event_less(const Event& a, const Event& b);

}  // namespace nvab
