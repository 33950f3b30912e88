// SPDX-License-Identifier: Apache-2.0
// GET /metrics: what the service counts, beside its requests.
#include <cstdio>

#include "common/base/build_info.hh"
#include "common/base/text.hh"
#include "service/service.hh"

namespace nvab {
namespace {

// Of this process, from the kernel; 0 where it cannot be read.
std::uint64_t resident_bytes() {
  const auto text = read_file("/proc/self/statm", 4096);
  if (!text) return 0;
  const auto fields = split(*text, ' ');
  if (fields.size() < 2) return 0;
  constexpr std::uint64_t kPage = 4096;
  return static_cast<std::uint64_t>(parse_int(fields[1]).value_or(0)) * kPage;
}

void write_store(const SessionStore& store, std::string* out) {
  const StoreCounts counts = store.counts();
  MetricFamily(out, "nvab_sessions", "gauge", "Open sessions.").sample(std::uint64_t{store.size()});
  MetricFamily(out, "nvab_session_memory_bytes", "gauge", "What open sessions take, estimated.")
      .sample(store.memory());
  MetricFamily(out, "nvab_sessions_created_total", "counter", "Sessions opened by clients.")
      .sample(counts.created);
  MetricFamily ended(out, "nvab_sessions_ended_total", "counter", "Sessions that ended, and why.");
  ended.sample(counts.removed, {{"reason", "deleted"}});
  ended.sample(counts.expired_idle, {{"reason", "idle"}});
  ended.sample(counts.expired_age, {{"reason", "age"}});
  MetricFamily observations(out, "nvab_observations_total", "counter", "Observations taken.");
  observations.sample(counts.accepted, {{"result", "accepted"}});
  observations.sample(counts.duplicates, {{"result", "duplicate"}});
  observations.sample(counts.replayed, {{"result", "replayed"}});
  MetricFamily(out, "nvab_entries_total", "counter", "Entries in accepted observations.")
      .sample(counts.entries);
  MetricFamily(out, "nvab_invalid_utf8_bytes_total", "counter", "Bytes that were replaced.")
      .sample(counts.bytes_replaced);
  MetricFamily engine(out, "nvab_engine_seconds_total", "counter", "Time in the rules engine.");
  engine.sample(counts.extract_seconds, {{"stage", "extract"}});
  engine.sample(counts.attribute_seconds, {{"stage", "attribute"}});
}

void write_journal(const Journal& journal, std::string* out) {
  const Journal::Stats stats = journal.stats();
  MetricFamily(out, "nvab_journal_queue", "gauge", "Writers that wait for the journal.")
      .sample(stats.waiting);
  MetricFamily(out, "nvab_journal_commits_total", "counter", "Transactions.").sample(stats.commits);
  MetricFamily(out, "nvab_journal_operations_total", "counter", "What they held.")
      .sample(stats.operations);
  MetricFamily(out, "nvab_journal_seconds_total", "counter", "Time in transactions.")
      .sample(stats.seconds);
}

}  // namespace

std::string Service::metrics_text() const {
  std::string out;
  requests_->write(&out);
  const ConnectionTable::Counts counts = connections_.counts();
  MetricFamily(&out, "nvab_http_connections", "gauge", "Open connections.")
      .sample(std::uint64_t{connections_.size()});
  MetricFamily(&out, "nvab_http_busy_connections", "gauge", "Of them, those in a request.")
      .sample(std::uint64_t{connections_.busy()});
  MetricFamily ended(&out, "nvab_http_connections_ended_total", "counter",
                     "Connections ended by the service, and why.");
  ended.sample(counts.evicted, {{"reason", "room"}});
  ended.sample(counts.refused, {{"reason", "limit"}});
  ended.sample(counts.timed_out, {{"reason", "time"}});
  MetricFamily(&out, "nvab_http_connections_total", "counter", "Connections accepted.")
      .sample(counts.opened);
  MetricFamily(&out, "nvab_body_memory_bytes", "gauge", "Bodies being received or read.")
      .sample(bodies_.used());
  write_store(*store_, &out);
  if (journal_) write_journal(*journal_, &out);
  MetricFamily hits(&out, "nvab_rule_hits_total", "counter", "Events that a rule recognised.");
  for (const auto& [rule, count] : hits_.all()) hits.sample(count, {{"rule", rule}});
  MetricFamily reloads(&out, "nvab_rule_reloads_total", "counter",
                       "Times rules were loaded again.");
  reloads.sample(reloads_ - failed_reloads_, {{"result", "ok"}});
  reloads.sample(std::uint64_t{failed_reloads_}, {{"result", "failed"}});
  MetricFamily rules(&out, "nvab_ruleset_info", "gauge", "Rules in effect.");
  for (const RulesetName& name : rulesets_->names()) {
    rules.sample(std::uint64_t{1},
                 {{"name", name.name}, {"version", name.version}, {"digest", name.digest}});
  }
  MetricFamily(&out, "nvab_build_info", "gauge", "The program.")
      .sample(std::uint64_t{1}, {{"version", build_info().version}});
  MetricFamily(&out, "process_resident_memory_bytes", "gauge", "Resident memory size in bytes.")
      .sample(resident_bytes());
  MetricFamily(&out, "process_start_time_seconds", "gauge",
               "Start time of the process since unix epoch in seconds.")
      .sample(to_unix_seconds(started_));
  return out;
}

}  // namespace nvab
