// SPDX-License-Identifier: Apache-2.0
// The v2 body: entries become part of the observation one by one while the text is being parsed, so
// that nothing but one entry's tokens stands beside both.
#include "service/observation_body.hh"

#include "common/model/observation_read.hh"
#include "service/body_error.hh"
#include "service/json_tape.hh"

namespace nvab {
namespace {

constexpr std::string_view kEntries = "entry_timeseries";

// Takes elements as long as their kind is known.
class EntryTaker {
 public:
  explicit EntryTaker(const JsonTape& tape) : tape_(tape) {}

  bool take(std::uint32_t element) {
    if (!knows_source_ && !learn_source()) return false;
    if (!error_.message.empty()) return true;  // the first one counts
    const std::string place = std::string(kEntries) + "[" + std::to_string(taken_++) + "]";
    TapeFields in(tape_, element, place, error_);
    switch (source_) {
      case Source::applog:
        taken.entries.push_back(read_log_entry(in));
        break;
      case Source::syslog:
      case Source::scheduler:
        taken.entries.push_back(read_system_entry(in));
        break;
      case Source::node_metrics:
        taken.samples.push_back(read_sample(in));
        break;
      case Source::task_exits:
        taken.task_exits.push_back(read_task_exit(in));
        break;
      case Source::flight_recorder:
        taken.dumps.push_back(read_dump(in));
        break;
    }
    return true;
  }
  const Error& error() const { return error_; }

  Observation taken;

 private:
  // A sender may put the source behind the entries; then they wait on the tape.
  bool learn_source() {
    if (taken_ > 0 || has_waiting_) return false;
    const auto index = tape_.member(0, "source");
    const auto source = index && tape_.at(*index).kind == JsonToken::Kind::text
                            ? source_from(tape_.at(*index).as_text())
                            : std::nullopt;
    knows_source_ = source.has_value();
    has_waiting_ = !knows_source_;
    source_ = source.value_or(Source::applog);
    return knows_source_;
  }

  const JsonTape& tape_;
  Error error_;
  Source source_ = Source::applog;
  bool knows_source_ = false, has_waiting_ = false;
  std::uint64_t taken_ = 0;
};

template <typename T>
void move_all(std::vector<T>* to, std::vector<T>* from) {
  if (to->empty()) {
    *to = std::move(*from);
  } else {
    to->insert(to->end(), std::make_move_iterator(from->begin()),
               std::make_move_iterator(from->end()));
  }
}

}  // namespace

BodyResult<ParsedObservation> parse_observation_v2(std::string body) {
  JsonTape tape;
  EntryTaker taker(tape);
  const auto parsed =
      tape.parse(&body, kEntries, [&](std::uint32_t element) { return taker.take(element); });
  if (!parsed) return body_error(parsed.error());
  if (!taker.error().message.empty()) {
    return body_error(Problem::bad_observation, taker.error().message);
  }
  Error error;
  TapeFields in(tape, 0, "", error);
  const std::string_view source = in.view("source");
  if (!source.empty() && !source_from(source)) return unsupported_source(source);
  ParsedObservation out{read_observation(in), tape.bytes_replaced()};
  if (in.failed()) return body_error(Problem::bad_observation, error.message);
  move_all(&out.observation.entries, &taker.taken.entries);
  move_all(&out.observation.samples, &taker.taken.samples);
  move_all(&out.observation.task_exits, &taker.taken.task_exits);
  move_all(&out.observation.dumps, &taker.taken.dumps);
  return out;
}

}  // namespace nvab
