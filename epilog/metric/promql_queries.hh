// SPDX-License-Identifier: Apache-2.0
// What is asked of a server that speaks PromQL: the declared list, as templates over the job's
// nodes and window. Where only the rules will look at the answer, the server leaves out series in
// which they would find nothing. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hh"
#include "common/engine/ruleset.hh"
#include "common/model/context.hh"

namespace nvab {

// Which label names the node, as exporters have it; settings say what a site calls them.
enum class NodeLabel { node_exporter, dcgm, amd };

// One metric of the shipped list.
struct ShippedMetric {
  std::string_view group;  // "dcgm": groups can be chosen
  NodeLabel label;
  std::string_view name;
};
std::span<const ShippedMetric> shipped_metrics();
// "dcgm|throttle|…".
std::string_view shipped_groups();

struct PromqlSettings {
  std::vector<std::string> groups;  // of the shipped list
  std::vector<std::string> extra;   // the site's own: "EXPRESSION", or "NAME = EXPRESSION"
  std::string matchers;             // further matchers of each shipped query: cluster="a"
  std::string node_label, dcgm_label, amd_label;
  std::string suffix;  // regular expression for what may follow a node's name
};

// A label that queries over several names add, with the name; no part of the series.
inline constexpr std::string_view kNameLabel = "nvab_name";

// One query before it is known for which nodes and when.
struct PromqlQuery {
  std::string name;        // of its series where the expression gives them none
  std::string node_label;  // empty: any of those that exporters use
  std::string text;        // with ${nodes} and ${window}
  std::string whole;       // the same without leaving anything out; empty: it does not
  // The name, or the beginning of the text.
  std::string shown() const { return name.empty() ? text.substr(0, 60) : name; }
  bool is_presence = false;  // says which nodes and GPUs are known at all; a few points will do
};

// Errors: malformed (matchers, suffix, the site's own).
Result<std::vector<PromqlQuery>> promql_queries(const PromqlSettings& settings,
                                                const Ruleset& rules);

// The text for these nodes (of one query at least one) and a window that ends with the query.
std::string render_promql(std::string_view text, std::span<const std::string> nodes,
                          Duration window);

// A regular expression (RE2) for any of the names, without domains: "n(?:1|2)".
std::string nodes_regex(std::span<const std::string> nodes);

}  // namespace nvab
