// SPDX-License-Identifier: Apache-2.0
// The component log.loki: lines of a job, or of its nodes, from Grafana Loki.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "common/base/text.hh"
#include "epilog/connector.hh"
#include "epilog/http_backend.hh"
#include "epilog/log/logql.hh"
#include "epilog/log/loki_pager.hh"
#include "epilog/log/loki_streams.hh"
#include "epilog/observation_batch.hh"

namespace nvab {
namespace {

// What a site's own query is in the end; the template that was given may say less of it.
constexpr std::string_view kSlurmJob = R"({slurm_job_id=~"${job_ids}"})";
constexpr std::string_view kKueueJob = R"({namespace="${namespace}", pod=~"${pods}"})";
constexpr std::string_view kNodes = R"({host=~"(${nodes})([.].*)?"})";

struct LokiOptions {
  std::string connector;
  Source source = Source::applog;
  std::optional<LogqlTemplate> query;  // nothing: by source and scheduler
  LokiStreamOptions streams;
  Duration before{0}, after{0};
  int page_lines = 0;
  std::size_t nodes_at_once = 0;
};

std::int64_t to_ns(Time time) { return time.time_since_epoch().count() * 1000; }

// One collection.
class LokiRun {
 public:
  LokiRun(const LokiOptions& options, HttpBackend& backend, Host& host,
          const ExecutionContext& context, ObservationSink& sink);
  CollectOutcome run();

 private:
  Result<LokiWindow> window() const;
  LogqlTemplate query() const;
  Result<void> read_nodes(const LogqlTemplate& query, LokiWindow window,
                          std::vector<std::string> nodes);
  Result<void> read_all();
  CollectOutcome outcome(const Result<void>& done);
  void describe(CollectOutcome* outcome) const;

  const LokiOptions& options_;
  HttpBackend& backend_;
  Host& host_;
  const ExecutionContext& context_;
  ObservationBatch batch_;
  LokiStreams streams_;
  LokiPager pager_;
  BackendUsage before_;
  std::string first_query_;
  LokiWindow asked_;
};

LokiRun::LokiRun(const LokiOptions& options, HttpBackend& backend, Host& host,
                 const ExecutionContext& context, ObservationSink& sink)
    : options_(options),
      backend_(backend),
      host_(host),
      context_(context),
      batch_(options.source, options.connector, host.all_lines ? nullptr : &host.rules->name(),
             sink),
      streams_(options.streams, context, host, batch_),
      pager_(
          backend, [this](const LokiLine& line) { streams_.take(line); }, options.page_lines),
      before_(backend.usage()) {}

// The job's time with margins; a job that runs still, until now.
Result<LokiWindow> LokiRun::window() const {
  const auto start = context_.start_time ? context_.start_time : context_.submit_time;
  if (!start)
    return fail(Error::Code::not_found, "the job never started: there is no time to ask for");
  const Time now = std::chrono::floor<Duration>(std::chrono::system_clock::now());
  const Time end = context_.end_time.value_or(std::max(now, *start));
  return LokiWindow{to_ns(*start - options_.before), to_ns(end + options_.after) + 1};
}

LogqlTemplate LokiRun::query() const {
  if (options_.query) return *options_.query;
  const std::string_view text = options_.source == Source::syslog ? kNodes
                                : context_.scheduler == "kueue"   ? kKueueJob
                                                                  : kSlurmJob;
  return *LogqlTemplate::parse(text);
}

// In two halves where the query is too long for the server; the rest by what it is.
Result<void> LokiRun::read_nodes(const LogqlTemplate& query, LokiWindow window,
                                 std::vector<std::string> nodes) {
  auto text = query.render(logql_values(context_, nodes));
  if (!text) return tl::unexpected<Error>(text.error());
  if (first_query_.empty()) first_query_ = *text;
  auto done = pager_.run(*text, window, host_.deadline);
  const bool is_too_long = !done && done.error().code == Error::Code::unsupported;
  if (!is_too_long || nodes.size() < 2 || !query.uses("nodes")) {
    streams_.finish();
    return done;
  }
  const auto middle = nodes.begin() + static_cast<std::ptrdiff_t>(nodes.size() / 2);
  std::vector<std::string> second(middle, nodes.end());
  nodes.erase(middle, nodes.end());
  done = read_nodes(query, window, std::move(nodes));
  if (!done) return done;
  return read_nodes(query, window, std::move(second));
}

Result<void> LokiRun::read_all() {
  auto asked = window();
  if (!asked) return tl::unexpected<Error>(asked.error());
  asked_ = *asked;
  const LogqlTemplate text = query();
  const std::vector<std::string>& nodes = context_.nodes;
  const std::size_t step =
      text.uses("nodes") ? options_.nodes_at_once : std::max<std::size_t>(nodes.size(), 1);
  std::size_t at = 0;
  do {
    const auto first = nodes.begin() + static_cast<std::ptrdiff_t>(at);
    const auto last =
        nodes.begin() + static_cast<std::ptrdiff_t>(std::min(nodes.size(), at + step));
    auto done = read_nodes(text, asked_, std::vector<std::string>(first, last));
    if (!done) return done;
    at += step;
  } while (at < nodes.size());
  return {};
}

void LokiRun::describe(CollectOutcome* outcome) const {
  const LokiUsage& usage = pager_.usage();
  const auto count = [](std::uint64_t number) { return Json::of(number); };
  Json details = Json::object();
  details.set("url", Json::of(backend_.url())).set("query", Json::of(first_query_));
  details.set("queries", count(usage.queries));
  if (asked_.to > 0) {
    details.set("start", Json::of(Time(Duration(asked_.from / 1000))));
    details.set("end", Json::of(Time(Duration(asked_.to / 1000))));
  }
  details.set("pages", count(usage.pages)).set("lines", count(usage.lines));
  details.set("streams", count(streams_.streams())).set("bytes", count(streams_.bytes()));
  details.set("requests", count(backend_.usage().requests - before_.requests));
  details.set("retries", count(backend_.usage().retries - before_.retries));
  details.set("received_bytes", count(backend_.usage().bytes - before_.bytes));
  if (usage.splits > 0) details.set("windows_cut", count(usage.splits));
  if (usage.lost_moments > 0) details.set("moments_incomplete", count(usage.lost_moments));
  if (!usage.warnings.empty()) details.set("warnings", json_strings(usage.warnings));
  outcome->details = std::move(details);
}

CollectOutcome LokiRun::outcome(const Result<void>& done) {
  const LokiUsage& usage = pager_.usage();
  CollectOutcome outcome;
  describe(&outcome);
  if (!done) {
    outcome.status = connector_status(done.error().code);
    outcome.reason = done.error().message;
    // Nothing was asked: the job has not what the query names.
    if (done.error().code == Error::Code::not_found && usage.queries == 0) {
      outcome.status = ConnectorStatus::no_data;
    }
    if (usage.lines > 0) outcome.reason += fmt::format(" (after {} lines)", usage.lines);
  } else if (!usage.warnings.empty()) {
    outcome.status = ConnectorStatus::error;
    outcome.reason = "the answer is not complete, says the server: " + usage.warnings.front();
  } else if (usage.lost_moments > 0) {
    outcome.status = ConnectorStatus::error;
    outcome.reason = fmt::format(
        "{} moments have more lines than the server gives at once, and not all could be had",
        usage.lost_moments);
  } else if (usage.lines == 0) {
    outcome.status = ConnectorStatus::no_data;
    outcome.reason = "it has no line for " + excerpt(first_query_, 200) + " in the job's time";
  }
  return outcome;
}

CollectOutcome LokiRun::run() {
  const Result<void> done = read_all();
  streams_.finish();
  CollectOutcome result = outcome(done);
  const bool is_whole =
      result.status == ConnectorStatus::ok || result.status == ConnectorStatus::no_data;
  if (!is_whole && pager_.usage().lines > 0) batch_.mark_truncated();
  batch_.flush();
  return result;
}

class Loki final : public Collector {
 public:
  Loki(LokiOptions options, HttpBackend backend, Host& host)
      : options_(std::move(options)), backend_(std::move(backend)), host_(host) {}
  Source source() const override { return options_.source; }
  CollectOutcome collect(const ExecutionContext& context, ObservationSink& sink) override {
    return LokiRun(options_, backend_, host_, context, sink).run();
  }

 private:
  LokiOptions options_;
  HttpBackend backend_;
  Host& host_;
};

constexpr ParamSpec kOwnParams[] = {
    {.name = "source",
     .fallback = "applog",
     .help = "What the lines are: applog (of the job's programs) or syslog",
     .choices = "applog|syslog"},
    {.name = "query", .help = "LogQL, with ${job_id}, ${nodes} and the like in its strings"},
    {.name = "tenant", .help = "Tenant, or several as A|B (X-Scope-OrgID)"},
    {.name = "node_labels",
     .type = ParamType::list,
     .fallback = "node,nodename,host,hostname,host_name,k8s_node_name,node_name,instance",
     .help = "Labels that name the node; the first that a stream has counts"},
    {.name = "before",
     .type = ParamType::duration,
     .fallback = "5m",
     .help = "How long before the job's start lines are asked for"},
    {.name = "after",
     .type = ParamType::duration,
     .fallback = "5m",
     .help = "How long after its end"},
    {.name = "page_lines",
     .type = ParamType::integer,
     .fallback = "5000",
     .help = "Lines to ask for at once; the server may want less",
     .low = 1,
     .high = 100'000},
    {.name = "nodes_at_once",
     .type = ParamType::integer,
     .fallback = "64",
     .help = "Nodes that one query names at most",
     .low = 1,
     .high = 10'000},
};
constexpr auto kParams = with_backend_params(kOwnParams);

Result<HttpBackend> open_backend(const ComponentSettings& settings, const Host& host) {
  auto backend = HttpBackend::open(settings, host);
  const std::string& tenant = settings.text("tenant");
  if (!backend || tenant.empty()) return backend;
  if (tenant.find_first_of("\r\n") != std::string::npos) {
    return fail(Error::Code::malformed, settings.full_name() + " tenant: wants one line");
  }
  backend->add_header("X-Scope-OrgID: " + tenant);
  return backend;
}

Result<std::unique_ptr<Collector>> open_loki(const ComponentSettings& settings, Host& host) {
  LokiOptions options;
  options.connector = settings.full_name();
  options.source = *source_from(settings.text("source"));
  if (const std::string& text = settings.text("query"); !text.empty()) {
    auto parsed = LogqlTemplate::parse(text);
    if (!parsed) return fail(settings.full_name() + " query", parsed.error());
    options.query = std::move(*parsed);
  }
  options.streams.source = options.source;
  options.streams.node_labels = settings.list("node_labels");
  options.before = settings.duration("before");
  options.after = settings.duration("after");
  options.page_lines = static_cast<int>(settings.integer("page_lines"));
  options.nodes_at_once = static_cast<std::size_t>(settings.integer("nodes_at_once"));
  auto backend = open_backend(settings, host);
  if (!backend) return tl::unexpected<Error>(backend.error());
  return std::make_unique<Loki>(std::move(options), std::move(*backend), host);
}

std::string fix_for(Error::Code code) {
  switch (code) {
    case Error::Code::permission:
      return "check auth (token, certificate) and tenant";
    case Error::Code::timeout:
    case Error::Code::unavailable:
      return "check url, proxy and the network between here and there";
    case Error::Code::not_found:
      return "check url: Loki's API is not there";
    default:
      return "check url, and what the server logs about this request";
  }
}

// The labels of the last hour: what every tenant with logs has, and cheap.
ProbeFindings probe_loki(const ComponentSettings& settings, Host& host) {
  const std::string what = "ask " + settings.text("url") + " for its labels";
  auto backend = open_backend(settings, host);
  if (!backend) {
    return {probe_fault(what, backend.error().message, "correct the settings that it names")};
  }
  HttpRequest request;
  request.url = "/loki/api/v1/labels?since=1h";
  const auto answer = backend->send(std::move(request), host.deadline);
  Error error;
  if (!answer) {
    error = answer.error();
  } else if (answer->status != 200) {
    error = answer_error("asking", *answer);
  } else if (const auto json = Json::parse(answer->body);
             !json || json->get("status").as_string() != "success") {
    error = {Error::Code::malformed, "the answer is not one of Loki's"};
  } else {
    const std::vector<std::string> labels = strings_of(json->get("data"));
    if (!labels.empty()) return {probe_ok(what, fmt::format("{} labels", labels.size()))};
    return {probe_warning(what, "nothing was logged in the last hour",
                          "check tenant, and whether the shippers run")};
  }
  return {probe_fault(what, error.message, fix_for(error.code))};
}

}  // namespace

extern const CollectorComponent log_loki;
constinit const CollectorComponent log_loki = {
    .spec = {.framework = "log",
             .name = "loki",
             .help = "Lines from Grafana Loki, or what speaks its API",
             .params = kParams},
    .query = nullptr,
    .open = open_loki,
    .probe = probe_loki,
};

}  // namespace nvab
