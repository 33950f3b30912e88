// SPDX-License-Identifier: Apache-2.0
// Verdicts both ways. The order of members is part of "equal verdicts have equal bytes".
#include "common/model/verdict.hh"

#include "common/model/entries_json.hh"
#include "common/model/verdict_json.hh"

namespace nvab {
namespace {

Json to_json(const ConfidenceStep& step) {
  Json out = Json::object();
  out.set("why", Json::of(step.why));
  out.set("confidence", Json::of(step.confidence));
  return out;
}

ConfidenceStep read_step(JsonFields in) {
  return {in.text("why"), in.number("confidence").value_or(0)};
}

Json to_json(const RootCause& cause) {
  if (cause.id.empty()) return {};
  Json out = Json::object();
  out.set("id", Json::of(cause.id));
  out.set("title", Json::of(cause.title));
  out.set("rule", Json::of(cause.rule));
  out.set("confidence", Json::of(cause.confidence));
  out.set("time", json_or_null(cause.time));
  out.set("explanation", Json::of(cause.explanation));
  out.set("confidence_steps", json_list(cause.confidence_steps, to_json));
  return out;
}

RootCause read_root_cause(JsonFields in) {
  RootCause cause;
  cause.id = in.text("id");
  cause.title = in.text("title");
  cause.rule = in.text("rule");
  cause.confidence = in.number("confidence").value_or(0);
  cause.time = in.time("time");
  cause.explanation = in.text("explanation");
  cause.confidence_steps = in.items("confidence_steps", read_step);
  return cause;
}

Json to_json(const GpuRef& gpu) {
  Json out = Json::object();
  out.set("node", Json::of(gpu.node));
  out.set("index", json_or_null(gpu.index));
  out.set("pci", text_or_null(gpu.pci));
  out.set("uuid", text_or_null(gpu.uuid));
  return out;
}

GpuRef read_gpu(JsonFields in) {
  return {in.text("node"), in.small("index"), in.text("pci"), in.text("uuid")};
}

Json to_json(const NicRef& nic) {
  Json out = Json::object();
  out.set("node", Json::of(nic.node));
  out.set("device", Json::of(nic.device));
  out.set("port", json_or_null(nic.port));
  return out;
}

NicRef read_nic(JsonFields in) { return {in.text("node"), in.text("device"), in.small("port")}; }

Json to_json(const Culprits& culprits) {
  Json out = Json::object();
  out.set("nodes", json_strings(culprits.nodes));
  out.set("gpus", json_list(culprits.gpus, to_json));
  out.set("nics", json_list(culprits.nics, to_json));
  out.set("ranks", json_ints(culprits.ranks));
  return out;
}

Culprits read_culprits(JsonFields in) {
  Culprits culprits;
  culprits.nodes = in.texts("nodes");
  culprits.gpus = in.items("gpus", read_gpu);
  culprits.nics = in.items("nics", read_nic);
  culprits.ranks = in.ints("ranks");
  return culprits;
}

Json to_json(const DrainAdvice& drain) {
  Json out = Json::object();
  out.set("node", Json::of(drain.node));
  out.set("reason", Json::of(drain.reason));
  out.set("confidence", Json::of(drain.confidence));
  return out;
}

DrainAdvice read_drain(JsonFields in) {
  return {in.text("node"), in.text("reason"), in.number("confidence").value_or(0)};
}

Json to_json(const Advice& advice) {
  Json out = Json::object();
  out.set("action", Json::of(to_string(advice.action)));
  out.set("exclude_nodes", json_strings(advice.exclude_nodes));
  out.set("drain", json_list(advice.drain, to_json));
  out.set("summary", Json::of(advice.summary));
  return out;
}

Advice read_advice(JsonFields in) {
  Advice advice;
  advice.action = in.word<Action>("action", action_from).value_or(Action::investigate);
  advice.exclude_nodes = in.texts("exclude_nodes");
  advice.drain = in.items("drain", read_drain);
  advice.summary = in.text("summary");
  return advice;
}

Json to_json(const Progress& progress) {
  Json out = Json::object();
  out.set("last_step", json_or_null(progress.last_step));
  out.set("last_step_time", json_or_null(progress.last_step_time));
  out.set("last_checkpoint_time", json_or_null(progress.last_checkpoint_time));
  out.set("lost_gpu_hours", json_or_null(progress.lost_gpu_hours));
  return out;
}

Progress read_progress(JsonFields in) {
  Progress progress;
  progress.last_step = in.integer("last_step");
  progress.last_step_time = in.time("last_step_time");
  progress.last_checkpoint_time = in.time("last_checkpoint_time");
  progress.lost_gpu_hours = in.number("lost_gpu_hours");
  return progress;
}

Json to_json(const TimelineItem& item) {
  Json out = Json::object();
  out.set("time", json_or_null(item.time));
  out.set("node", text_or_null(item.node));
  out.set("rank", json_or_null(item.rank));
  out.set("role", Json::of(item.role));
  out.set("rule", Json::of(item.rule));
  out.set("text", Json::of(item.text));
  out.set("origin", to_json(item.origin));
  out.set("caused_by", json_or_null(item.caused_by));
  out.set("mark", text_or_null(item.mark));
  return out;
}

TimelineItem read_timeline_item(JsonFields in) {
  TimelineItem item;
  item.time = in.time("time");
  item.node = in.text("node");
  item.rank = in.small("rank");
  item.role = in.text("role");
  item.rule = in.text("rule");
  item.text = in.text("text");
  item.origin = read_origin(in.member("origin"));
  item.caused_by = in.small("caused_by");
  item.mark = in.text("mark");
  return item;
}

Json to_json(const Victims& victims) {
  Json by_rule = Json::object();
  for (const auto& [rule, count] : victims.by_rule) by_rule.set(rule, Json::of(count));
  Json out = Json::object();
  out.set("ranks", Json::of(victims.ranks));
  out.set("nodes", Json::of(victims.nodes));
  out.set("by_rule", std::move(by_rule));
  return out;
}

Victims read_victims(JsonFields in) {
  Victims victims;
  victims.ranks = in.small("ranks").value_or(0);
  victims.nodes = in.small("nodes").value_or(0);
  JsonFields by_rule = in.member("by_rule");
  in.object("by_rule").each([&](std::string_view rule, const Json&) {
    victims.by_rule[std::string(rule)] = by_rule.small(rule).value_or(0);
  });
  return victims;
}

Json to_json(const Alternative& alternative) {
  Json out = Json::object();
  out.set("id", Json::of(alternative.id));
  out.set("sub_domain", Json::of(to_string(alternative.sub_domain)));
  out.set("confidence", Json::of(alternative.confidence));
  out.set("why_not", Json::of(alternative.why_not));
  return out;
}

Alternative read_alternative(JsonFields in) {
  Alternative alternative;
  alternative.id = in.text("id");
  alternative.sub_domain =
      in.word<SubDomain>("sub_domain", sub_domain_from).value_or(SubDomain::unknown);
  alternative.confidence = in.number("confidence").value_or(0);
  alternative.why_not = in.text("why_not");
  return alternative;
}

Json to_json(const ShadowFinding& finding) {
  Json out = Json::object();
  out.set("rule", Json::of(finding.rule));
  out.set("role", Json::of(finding.role));
  out.set("outcome", text_or_null(finding.outcome));
  out.set("events", Json::of(finding.events));
  out.set("time", json_or_null(finding.time));
  out.set("node", text_or_null(finding.node));
  out.set("rank", json_or_null(finding.rank));
  out.set("text", Json::of(finding.text));
  out.set("origin", to_json(finding.origin));
  return out;
}

ShadowFinding read_shadow(JsonFields in) {
  ShadowFinding finding;
  finding.rule = in.text("rule");
  finding.role = in.text("role");
  finding.outcome = in.text("outcome");
  finding.events = in.small("events").value_or(0);
  finding.time = in.time("time");
  finding.node = in.text("node");
  finding.rank = in.small("rank");
  finding.text = in.text("text");
  finding.origin = read_origin(in.member("origin"));
  return finding;
}

Json to_json(const NodeAttribution& attribution) {
  Json out = Json::object();
  out.set("type", Json::of("NodeAttribution"));
  out.set("node", Json::of(attribution.node));
  out.set("attributions", json_strings(attribution.attributions));
  return out;
}

NodeAttribution read_attribution(JsonFields in) {
  in.text("type");
  return {in.text("node"), in.texts("attributions")};
}

Json to_json(const RulesetName& ruleset) {
  Json out = Json::object();
  out.set("name", Json::of(ruleset.name));
  out.set("version", Json::of(ruleset.version));
  out.set("digest", Json::of(ruleset.digest));
  return out;
}

RulesetName read_ruleset(JsonFields in) {
  return {in.text("name"), in.text("version"), in.text("digest")};
}

}  // namespace

void write_finding(Json& out, const Verdict& verdict) {
  out.set("outcome", Json::of(verdict.outcome));
  out.set("root_cause", to_json(verdict.root_cause));
  out.set("culprits", to_json(verdict.culprits));
  out.set("first_failing_rank", json_or_null(verdict.first_failing_rank));
  out.set("advice", to_json(verdict.advice));
  out.set("progress", to_json(verdict.progress));
  out.set("timeline", json_list(verdict.timeline, to_json));
  out.set("victims", to_json(verdict.victims));
  out.set("alternatives", json_list(verdict.alternatives, to_json));
  out.set("attributions", json_list(verdict.attributions, to_json));
}

void write_limits(Json& out, const Verdict& verdict) {
  out.set("missing", json_strings(verdict.missing));
  if (!verdict.shadow.empty()) out.set("shadow", json_list(verdict.shadow, to_json));
  out.set("ruleset", to_json(verdict.ruleset));
}

Verdict read_verdict(JsonFields& in) {
  Verdict verdict;
  verdict.outcome = in.text("outcome");
  verdict.root_cause = read_root_cause(in.member("root_cause"));
  verdict.culprits = read_culprits(in.member("culprits"));
  verdict.first_failing_rank = in.small("first_failing_rank");
  verdict.advice = read_advice(in.member("advice"));
  verdict.progress = read_progress(in.member("progress"));
  verdict.timeline = in.items("timeline", read_timeline_item);
  verdict.victims = read_victims(in.member("victims"));
  verdict.alternatives = in.items("alternatives", read_alternative);
  verdict.attributions = in.items("attributions", read_attribution);
  verdict.missing = in.texts("missing");
  verdict.shadow = in.items("shadow", read_shadow);
  verdict.ruleset = read_ruleset(in.member("ruleset"));
  return verdict;
}

Json to_json(const Verdict& verdict) {
  Json out = Json::object();
  out.set("schema", Json::of(kVerdictSchema));
  write_finding(out, verdict);
  write_limits(out, verdict);
  return out;
}

Result<Verdict> verdict_from_json(const Json& json) {
  Error error;
  JsonFields in(json, "", error);
  if (json.is_null()) in.complain("", "wants an object");
  Verdict verdict = read_verdict(in);
  if (in.failed()) return fail("reading a verdict", std::move(error));
  return verdict;
}

}  // namespace nvab
