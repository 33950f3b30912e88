// SPDX-License-Identifier: Apache-2.0
// See loki_streams.hh.
#include "epilog/log/loki_streams.hh"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/base/text.hh"
#include "common/engine/extract/stream_reader.hh"

namespace nvab {
namespace {

// Of a stream's lines, what is looked at before the first is read: whether they carry task labels,
// whether they are a kernel's.
constexpr std::size_t kProbeBytes = 16 * 1024;
// An open stream keeps up to half a megabyte of what it has read.
constexpr std::size_t kMaxOpen = 512;
// Two labels may have the same value; a name of more is cut.
constexpr std::size_t kMaxName = 400;

// What shippers call the program, and the file that a line was read from.
constexpr std::string_view kAppLabels[] = {
    "appname", "app_name", "syslog_identifier", "ident", "program", "unit", "app", "service_name"};
constexpr std::string_view kFileLabels[] = {"filename", "file", "path", "log_file_name"};
constexpr std::string_view kRankLabels[] = {"rank", "global_rank"};
constexpr std::string_view kTaskLabels[] = {"task", "task_id", "slurm_procid"};
constexpr std::string_view kTransportLabels[] = {"transport", "_transport", "journal_transport"};

const std::string* find(const LokiLabels& labels, std::string_view name) {
  const auto found = labels.find(std::string(name));
  return found == labels.end() || found->second.empty() ? nullptr : &found->second;
}

// Of the stream itself first.
template <typename Names>
std::string first_of(const LokiLine& line, const Names& names) {
  for (const LokiLabels* labels : {&line.stream, &line.metadata}) {
    for (const auto& name : names) {
      if (const std::string* value = find(*labels, name)) return sanitize(*value);
    }
  }
  return "";
}

std::optional<int> number_of(const std::string& text) {
  const auto number = parse_int(text);
  constexpr long long kMost = 100'000'000;
  if (!number || *number < 0 || *number > kMost) return std::nullopt;
  return static_cast<int>(*number);
}

// "n1:9100" is what Prometheus's `instance` looks like.
std::string without_port(std::string host) {
  const std::size_t colon = host.rfind(':');
  const bool has_port = colon != std::string::npos && host.find(':') == colon &&
                        parse_int(std::string_view(host).substr(colon + 1)).has_value();
  if (has_port) host.resize(colon);
  return host;
}

// {a="b", c="d"}, as Loki writes it.
std::string name_of(const LokiLabels& labels, const std::string& node) {
  std::string name = "{";
  for (const auto& [label, value] : labels) {
    name += (name.size() > 1 ? ", " : "") + label + "=\"" + value + "\"";
  }
  name += "}";
  if (!node.empty()) name += " " + node;
  return excerpt(sanitize(name), kMaxName);
}

Time time_of(std::int64_t ns) { return Time(Duration(ns / 1000)); }

}  // namespace

struct LokiStreams::Open {
  std::string name, file, node, app;
  std::optional<int> rank, task;
  bool is_kernel = false;
  std::int64_t last_ns = 0;
  std::uint64_t bytes = 0;
  std::string head;                                           // lines that wait for the probe
  std::vector<std::pair<std::int64_t, std::size_t>> waiting;  // their times and lengths
  std::unique_ptr<StreamReader> reader;
};

LokiStreams::LokiStreams(LokiStreamOptions options, const ExecutionContext& context, Host& host,
                         ObservationBatch& batch)
    : options_(std::move(options)), context_(context), host_(host), batch_(batch) {}
LokiStreams::~LokiStreams() = default;

LokiStreams::Open& LokiStreams::open(const LokiLine& line) {
  const bool has_label =
      std::any_of(options_.node_labels.begin(), options_.node_labels.end(),
                  [&](const std::string& name) { return find(line.stream, name) != nullptr; });
  const std::string node = without_port(first_of(line, options_.node_labels));
  std::string name = name_of(line.stream, has_label ? "" : node);
  if (const auto found = open_.find(name); found != open_.end()) return *found->second;
  if (open_.size() >= kMaxOpen) {
    const auto oldest = std::min_element(
        open_.begin(), open_.end(),
        [](const auto& a, const auto& b) { return a.second->last_ns < b.second->last_ns; });
    end(oldest->second.get());
    ++ended_[oldest->first];
    open_.erase(oldest);
  }
  auto stream = std::make_unique<Open>();
  const auto before = ended_.find(name);
  // Positions begin anew: another name, or its lines would pass for those of before.
  stream->name = before == ended_.end() ? name : name + " #" + std::to_string(before->second + 1);
  stream->file = first_of(line, kFileLabels);
  stream->node = node;
  stream->app = first_of(line, kAppLabels);
  stream->rank = number_of(first_of(line, kRankLabels));
  stream->task = number_of(first_of(line, kTaskLabels));
  stream->is_kernel = first_of(line, kTransportLabels) == "kernel";
  ++streams_;
  return *open_.emplace(std::move(name), std::move(stream)).first->second;
}

// Reads what waited, and from now on whatever comes.
void LokiStreams::start(Open* stream) {
  StreamInfo info = probe_stream(stream->file, options_.source, stream->head, "", context_);
  info.name = stream->name;
  info.is_journal_export = false;  // the server has lines
  if (!stream->node.empty()) info.node = stream->node;
  if (options_.source == Source::syslog && !stream->app.empty()) info.app = stream->app;
  if (stream->rank) info.rank = stream->rank;
  if (stream->task) info.task = stream->task;
  if (stream->is_kernel && options_.source == Source::syslog) {
    info.head.is_dmesg = true;
    info.trust = Trust::kernel;
  }
  stream->reader = std::make_unique<StreamReader>(
      *host_.rules, std::move(info), [this](LogEntry&& entry) { batch_.add(std::move(entry)); },
      host_.all_lines);
  std::string_view rest = stream->head;
  for (const auto& [time, length] : stream->waiting) {
    stream->reader->feed(rest.substr(0, length), time_of(time));
    rest.remove_prefix(length);
  }
  stream->head = {};
  stream->waiting = {};
}

void LokiStreams::feed(Open* stream, std::int64_t time_ns, std::string_view text) {
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  stream->bytes += text.size() + 1;
  std::string line;
  line.reserve(text.size() + 1);
  line.append(text).push_back('\n');
  if (stream->reader) return stream->reader->feed(line, time_of(time_ns));
  stream->head += line;
  stream->waiting.emplace_back(time_ns, line.size());
  if (stream->head.size() >= kProbeBytes) start(stream);
}

void LokiStreams::take(const LokiLine& line) {
  Open& stream = open(line);
  if (line.time_ns < stream.last_ns) ++out_of_order_;
  stream.last_ns = std::max(stream.last_ns, line.time_ns);
  ++lines_;
  bytes_ += line.text.size() + 1;
  feed(&stream, line.time_ns, line.text);
}

void LokiStreams::end(Open* stream) {
  if (!stream->reader) start(stream);
  StreamCoverage coverage = stream->reader->finish();
  batch_.add(std::move(coverage), stream->bytes, stream->reader->bytes_replaced());
}

void LokiStreams::finish() {
  for (auto& [name, stream] : open_) {
    end(stream.get());
    ++ended_[name];
  }
  open_.clear();
}

}  // namespace nvab
