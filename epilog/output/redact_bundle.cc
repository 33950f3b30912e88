// SPDX-License-Identifier: Apache-2.0
// See redact_bundle.hh. Files are rewritten line by line; NDJSON and JSON by their texts, so that
// no name can break them.
#include "epilog/output/redact_bundle.hh"

#include <cerrno>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/file.hh"
#include "epilog/attributor.hh"
#include "epilog/log/line_pull.hh"
#include "epilog/log/source_files.hh"
#include "epilog/output/redact.hh"
#include "epilog/replay.hh"

namespace nvab {
namespace {

// A line of a bundle that we wrote ourselves: at most one metric series or one dump.
constexpr std::size_t kMaxBundleLine = 64 * 1024 * 1024;

using Line = std::function<void(std::string_view)>;

Result<void> each_line(const std::string& path, const Line& line) {
  auto file = open_regular(path);
  if (!file) return tl::unexpected<Error>(file.error());
  LinePull lines(std::move(*file), kMaxBundleLine);
  while (const auto text = lines.next()) line(*text);
  if (lines.failed()) return fail(Error::Code::unavailable, "reading " + path + " failed");
  return {};
}

// One JSON document a line, perhaps with an array's punctuation around it ("[", ",", "]").
struct JsonLine {
  Json value;
  bool has_comma = false;
};
std::optional<JsonLine> json_of(std::string_view line) {
  JsonLine found;
  if (line.ends_with(',')) {
    found.has_comma = true;
    line.remove_suffix(1);
  }
  if (!line.starts_with('{')) return std::nullopt;
  auto value = Json::parse(line);
  if (!value) return std::nullopt;
  found.value = std::move(*value);
  return found;
}

bool is_document(const std::string& stream) {
  return stream == "job.json" || stream == "bundle.json";
}

void learn_names(const Json& json, Redactor* redactor) {
  for (const char* key : {"node", "Hostname", "hostname", "nodename", "instance", "host"}) {
    if (const auto name = json.get(key).as_string()) {
      redactor->learn_host(std::string_view(*name).substr(0, name->find(':')));
    }
  }
  if (json.has("labels")) learn_names(json.get("labels"), redactor);
}

class BundleRedaction {
 public:
  BundleRedaction(const std::string& from, const std::string& to, const ExecutionContext& context);
  Result<void> run();
  const Redactor& redactor() const { return redactor_; }

 private:
  Result<void> learn(const SourceFile& file);
  Result<void> rewrite(const SourceFile& file);
  Result<Json> document(const SourceFile& file) const;
  std::string new_name(const std::string& name) const;
  std::string rewritten(std::string_view line) const;

  std::string from_, to_;
  Redactor redactor_;
};

BundleRedaction::BundleRedaction(const std::string& from, const std::string& to,
                                 const ExecutionContext& context)
    : from_(from), to_(to) {
  for (const std::string& node : context.nodes) redactor_.learn_host(node);
  for (const NodeEvent& event : context.node_events) redactor_.learn_host(event.node);
  for (const Step& step : context.steps) {
    for (const std::string& node : step.nodes) redactor_.learn_host(node);
  }
  redactor_.learn_user(context.user);
}

Result<Json> BundleRedaction::document(const SourceFile& file) const {
  auto text = read_file(file.path, kMaxBundleLine);
  if (!text) return tl::unexpected<Error>(text.error());
  return Json::parse(*text);
}

Result<void> BundleRedaction::learn(const SourceFile& file) {
  const std::size_t slash = file.stream.rfind('/');
  if (slash != std::string::npos) redactor_.learn(file.stream.substr(slash));
  if (is_document(file.stream)) {
    auto json = document(file);
    if (json) redactor_.learn(*json);
    return {};
  }
  return each_line(file.path, [&](std::string_view line) {
    const auto json = json_of(line);
    if (!json) return redactor_.learn(line);
    redactor_.learn(json->value);
    learn_names(json->value, &redactor_);
  });
}

std::string BundleRedaction::rewritten(std::string_view line) const {
  const auto json = json_of(line);
  if (!json) return redactor_.apply(line);
  return redactor_.apply(json->value).dump() + (json->has_comma ? "," : "");
}

// A stream's file may be called after its node, and its index is called after the file; the
// bundle's own files and folders keep their names.
std::string BundleRedaction::new_name(const std::string& name) const {
  constexpr std::string_view kIndex = "index/", kEnding = ".ndjson";
  if (name.starts_with(kIndex) && name.ends_with(kEnding)) {
    const std::string plain =
        name.substr(kIndex.size(), name.size() - kIndex.size() - kEnding.size());
    return "/index" + new_name(plain) + std::string(kEnding);
  }
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos) return "/" + name;
  return "/" + name.substr(0, slash) + redactor_.apply(name.substr(slash));
}

Result<void> BundleRedaction::rewrite(const SourceFile& file) {
  const std::string path = to_ + new_name(file.stream);
  if (auto made = make_folders(path.substr(0, path.rfind('/'))); !made) return made;
  if (is_document(file.stream)) {
    auto json = document(file);
    if (!json) return tl::unexpected<Error>(json.error());
    return write_file(path, redactor_.apply(*json).dump_pretty() + "\n");
  }
  auto out = AtomicFile::create(path);
  if (!out) return tl::unexpected<Error>(out.error());
  Result<void> written;
  auto read = each_line(file.path, [&](std::string_view line) {
    if (written) written = out->write(rewritten(line) + "\n");
  });
  if (!read) return read;
  return written ? out->commit() : written;
}

Result<void> BundleRedaction::run() {
  FileSearch search;
  search.paths = {from_};
  search.base = from_;
  const SourceFiles found = find_source_files(search);
  for (const SourceFile& file : found.files) {
    if (auto done = learn(file); !done) return done;
  }
  redactor_.seal();
  for (const SourceFile& file : found.files) {
    if (auto done = rewrite(file); !done) return done;
  }
  return {};
}

Result<Verdict> judge(const std::string& folder, Host& host) {
  auto replay = open_replay(folder, host);
  if (!replay) return tl::unexpected<Error>(replay.error());
  auto contexts = replay->contexts->discover();
  if (!contexts) return tl::unexpected<Error>(contexts.error());
  const auto attributor = make_embedded_attributor(*host.rules);
  auto opened = attributor->open(contexts->front());
  if (!opened) return tl::unexpected<Error>(opened.error());
  for (const NamedCollector& collector : replay->collectors) {
    run_collector(collector, contexts->front(), *opened->session, nullptr, host, Deadline());
  }
  return opened->session->attribution();
}

// What a verdict comes to, without the texts that are cut at some length.
Json essence(const Verdict& verdict) {
  Json json = Json::object();
  json.set("cause", Json::of(verdict.root_cause.id)).set("outcome", Json::of(verdict.outcome));
  json.set("confidence", Json::of(verdict.root_cause.confidence));
  json.set("nodes", json_strings(verdict.culprits.nodes));
  json.set("rank", json_or_null(verdict.first_failing_rank));
  json.set("action", Json::of(to_string(verdict.advice.action)));
  json.set("exclude", json_strings(verdict.advice.exclude_nodes));
  json.set("victims", Json::of(verdict.victims.ranks));
  json.set("events", Json::of(static_cast<std::int64_t>(verdict.timeline.size())));
  return json;
}

}  // namespace

Result<std::string> redact_bundle(const std::string& from, const std::string& to,
                                  const AttributionResult& result, Host& host) {
  BundleRedaction redaction(from, to, result.context);
  if (auto done = redaction.run(); !done) return fail("redacting the bundle", done.error());
  auto verdict = judge(to, host);
  if (!verdict) return fail("judging the redacted bundle", verdict.error());
  const std::string expected = redaction.redactor().apply(essence(result.verdict)).dump();
  const std::string found = essence(*verdict).dump();
  if (expected == found) return std::string();
  return "it gives another verdict: " + found + " instead of " + expected;
}

}  // namespace nvab
