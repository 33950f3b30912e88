// SPDX-License-Identifier: Apache-2.0
// The v1 body: a text that holds the JSON of Loki streams or of Prometheus series.
#include <cmath>
#include <span>

#include "common/base/text.hh"
#include "service/body_error.hh"
#include "service/json_tape.hh"
#include "service/observation_body.hh"
#include "service/v1_lines.hh"

namespace nvab {
namespace {

using Kind = JsonToken::Kind;
using Labels = std::map<std::string, std::string>;

// The labels that name a node, as senders call them; the first that is there counts.
constexpr std::string_view kNodeLabels[] = {"hostname", "Hostname", "host",
                                            "node",     "nodename", "instance"};
constexpr std::string_view kAppLabels[] = {"appname", "app", "syslog_identifier", "unit"};

std::string label(const Labels& labels, std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    const auto found = labels.find(std::string(name));
    if (found != labels.end() && !found->second.empty()) return found->second;
  }
  return {};
}

// An instance is often "host:port".
std::string node_of(const Labels& labels) {
  std::string node = label(labels, kNodeLabels);
  const std::size_t colon = node.rfind(':');
  const bool is_port = colon != std::string::npos && node.find(':') == colon &&
                       parse_int(std::string_view(node).substr(colon + 1)).has_value();
  if (is_port) node.resize(colon);
  return node;
}

// The stream's name: the same labels give the same, whatever their order.
std::string name_of(const Labels& labels) {
  std::string name = "{";
  for (const auto& [key, value] : labels) {
    name += (name.size() > 1 ? "," : "") + key + "=\"" + value + "\"";
  }
  return name + "}";
}

class V1Reader {
 public:
  V1Reader(const JsonTape& tape, Observation* out) : tape_(tape), out_(out) {}

  // A list of elements, bare or as a server of Loki or Prometheus wraps it.
  std::optional<std::uint32_t> find_list() const {
    if (tape_.at(0).kind == Kind::array) return 0;
    std::optional<std::uint32_t> at = tape_.member(0, "streams");
    if (!at) {
      const auto data = tape_.member(0, "data");
      if (data) at = tape_.member(*data, "result");
    }
    if (!at || tape_.at(*at).kind != Kind::array) return std::nullopt;
    return at;
  }

  // By the rules it is known what begins a block.
  std::string read_streams(std::uint32_t list, const Ruleset& rules);
  std::string read_series(std::uint32_t list);

 private:
  bool read_line(std::uint32_t pair, const LogEntry& stream);
  bool read_point(std::uint32_t pair, const MetricSample& series);
  std::string read_labels(std::uint32_t element, std::string_view member, Labels* labels) const;
  std::optional<double> number_at(std::uint32_t index) const;
  // Calls `each` for the elements of the element's list; false at the first that it refuses.
  template <typename F>
  bool for_each(std::uint32_t list, F&& each) const {
    if (tape_.at(list).kind != Kind::array) return false;
    for (std::uint32_t i = JsonTape::first_in(list); i < tape_.skip(list); i = tape_.skip(i)) {
      if (!each(i)) return false;
    }
    return true;
  }
  std::string place(std::string_view problem) const {
    return "element " + std::to_string(element_) + " " + std::string(problem);
  }

  const JsonTape& tape_;
  Observation* out_;
  V1Lines lines_;
  std::uint64_t element_ = 0;
};

std::string V1Reader::read_labels(std::uint32_t element, std::string_view member,
                                  Labels* labels) const {
  const auto object = tape_.member(element, member);
  if (!object || tape_.at(*object).kind != Kind::object) {
    return place("has no '" + std::string(member) + "' with labels");
  }
  for (std::uint32_t i = JsonTape::first_in(*object); i < tape_.skip(*object); i = tape_.skip(i)) {
    if (tape_.at(i).kind != Kind::text) return place("has a label that is no text");
    (*labels)[std::string(tape_.at(i).name())] = tape_.at(i).as_text();
  }
  return {};
}

// {"body": text, "severity": s, "attributes": {"hostname", "appname", "facility"}}: a line that
// carries its own fields. False when it is any other line.
bool unwrap_line(std::string_view line, LogEntry* entry) {
  if (line.empty() || line.front() != '{') return false;
  std::string copy(line);
  JsonTape tape;
  Error error;
  if (!tape.parse(&copy) || !tape.member(0, "body")) return false;
  TapeFields in(tape, 0, "", error);
  const std::string message = in.text("body");
  const std::string severity = in.text_or_number("severity");
  TapeFields attributes = in.member("attributes");
  const std::string node = attributes.text("hostname");
  const std::string app = attributes.text("appname");
  const std::string facility = attributes.text_or_number("facility");
  if (in.failed()) return false;
  entry->message = message;
  entry->severity = severity;
  entry->facility = facility;
  if (!node.empty()) entry->node = node;
  if (!app.empty()) entry->app = app;
  return true;
}

// What writes kernel messages as they are, without a head.
bool is_kernel_app(std::string_view app) { return app == "kernel" || app == "dmesg"; }

bool V1Reader::read_line(std::uint32_t pair, const LogEntry& stream) {
  if (tape_.at(pair).kind != Kind::array) return false;
  const std::uint32_t time = JsonTape::first_in(pair);
  if (time >= tape_.skip(pair)) return false;
  const std::uint32_t line = tape_.skip(time);
  if (line >= tape_.skip(pair) || tape_.at(line).kind != Kind::text) return false;
  std::optional<long long> ns;
  if (tape_.at(time).kind == Kind::text) ns = parse_int(tape_.at(time).as_text());
  if (tape_.at(time).kind == Kind::integer) ns = tape_.at(time).value.integer;
  if (!ns) return false;
  LogEntry entry = stream;
  const bool is_wrapped = unwrap_line(tape_.at(line).as_text(), &entry);
  if (!is_wrapped) entry.message = tape_.at(line).as_text();
  const bool is_plain = out_->source == Source::syslog && (is_wrapped || is_kernel_app(entry.app));
  lines_.add(stream, entry.node, entry.app, is_plain,
             {*ns, std::move(entry.message), std::move(entry.severity), std::move(entry.facility)});
  return true;
}

std::string V1Reader::read_streams(std::uint32_t list, const Ruleset& rules) {
  std::string problem;
  for_each(list, [&](std::uint32_t element) {
    Labels labels;
    problem = read_labels(element, "stream", &labels);
    if (!problem.empty()) return false;
    LogEntry stream;
    stream.node = node_of(labels);
    stream.app = label(labels, kAppLabels);
    // Who runs the program writes its log; the system's is written by the system.
    stream.trust = out_->source == Source::applog ? Trust::user : Trust::system;
    stream.origin.stream = name_of(labels);
    const auto values = tape_.member(element, "values");
    const auto read = [&](std::uint32_t pair) { return read_line(pair, stream); };
    if (!values || !for_each(*values, read)) {
      problem = place("has no 'values' that are pairs of nanoseconds and a line");
      return false;
    }
    ++element_;
    return true;
  });
  if (problem.empty()) lines_.finish(rules, out_);
  return problem;
}

std::optional<double> V1Reader::number_at(std::uint32_t index) const {
  const JsonToken& token = tape_.at(index);
  if (token.kind == Kind::integer) return static_cast<double>(token.value.integer);
  if (token.kind == Kind::real) return token.value.real;
  if (token.kind == Kind::text) return parse_double(token.as_text());
  return std::nullopt;
}

bool V1Reader::read_point(std::uint32_t pair, const MetricSample& series) {
  // Beyond any date, and what fits no microseconds.
  constexpr double kMaxSeconds = 1e11;
  if (tape_.at(pair).kind != Kind::array) return false;
  const std::uint32_t time = JsonTape::first_in(pair);
  if (time >= tape_.skip(pair) || tape_.skip(time) >= tape_.skip(pair)) return false;
  const auto seconds = number_at(time);
  const auto value = number_at(tape_.skip(time));
  if (!seconds || !value || !std::isfinite(*seconds) || std::abs(*seconds) > kMaxSeconds) {
    return false;
  }
  MetricSample sample = series;
  sample.timestamp = from_unix_seconds(*seconds);
  sample.value = *value;
  out_->samples.push_back(std::move(sample));
  return true;
}

std::string V1Reader::read_series(std::uint32_t list) {
  std::string problem;
  for_each(list, [&](std::uint32_t element) {
    Labels labels;
    problem = read_labels(element, "metric", &labels);
    if (!problem.empty()) return false;
    MetricSample series;
    series.node = node_of(labels);
    const auto name = labels.find("__name__");
    if (name == labels.end() || name->second.empty()) {
      problem = place("has no label '__name__'");
      return false;
    }
    series.name = name->second;
    labels.erase(name);
    series.labels = std::move(labels);
    const auto read = [&](std::uint32_t pair) { return read_point(pair, series); };
    const auto value = tape_.member(element, "value");
    const auto values = tape_.member(element, "values");
    const bool is_good =
        (value && !values && read(*value)) || (values && !value && for_each(*values, read));
    if (!is_good) {
      problem = place("has neither 'value' nor 'values' that are pairs of seconds and a number");
      return false;
    }
    ++element_;
    return true;
  });
  return problem;
}

}  // namespace

BodyResult<ParsedObservation> parse_observation_v1(std::string body, const Ruleset& rules) {
  JsonTape outer;
  if (const auto parsed = outer.parse(&body); !parsed) return body_error(parsed.error());
  Error error;
  TapeFields in(outer, 0, "", error);
  TapeFields context = in.member("context");
  TapeFields interval = context.member("time_interval");
  ParsedObservation out;
  out.observation.connector = "v1";
  out.observation.start = interval.time("start");
  out.observation.end = interval.time("end");
  const std::string_view source = context.view("source");
  const std::string format = context.text("format");
  std::string inner = in.text("body");
  if (!in.has("body")) in.complain("body", "is missing");
  if (source.empty()) in.complain("context.source", "is missing");
  if (in.failed()) return body_error(Problem::bad_observation, error.message);
  const auto known = source_from(source);
  if (!known) return unsupported_source(source);
  const bool is_metric = format == "prometheus_metrics";
  if ((!is_metric && format != "raw_loki_streams") ||
      is_metric != (*known == Source::node_metrics) ||
      (*known != Source::applog && *known != Source::syslog && !is_metric)) {
    return body_error(Problem::unsupported_format,
                      "v1 knows raw_loki_streams for applog and syslog, and prometheus_metrics for "
                      "node_metrics");
  }
  out.observation.source = *known;
  std::string().swap(body);  // `inner` is a copy; one of them is enough
  JsonTape tape;
  const auto parsed = tape.parse(&inner);
  if (!parsed)
    return body_error(Error{parsed.error().code, "in 'body': " + parsed.error().message});
  V1Reader reader(tape, &out.observation);
  const auto list = reader.find_list();
  if (!list) return body_error(Problem::bad_observation, "'body' holds no list of " + format);
  const std::string problem =
      is_metric ? reader.read_series(*list) : reader.read_streams(*list, rules);
  if (!problem.empty()) return body_error(Problem::bad_observation, "in 'body': " + problem);
  out.bytes_replaced =
      outer.bytes_replaced() + tape.bytes_replaced() + out.observation.coverage.bytes_replaced;
  return out;
}

}  // namespace nvab
