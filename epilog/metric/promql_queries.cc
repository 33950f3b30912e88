// SPDX-License-Identifier: Apache-2.0
// See promql_queries.hh. Strings and regular expressions are those of LogQL, too: both are Go's.
#include "epilog/metric/promql_queries.hh"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "common/base/regex.hh"
#include "common/base/text.hh"
#include "common/engine/extract/series.hh"
#include "epilog/log/logql.hh"

namespace nvab {
namespace {

constexpr NodeLabel kDcgm = NodeLabel::dcgm, kNode = NodeLabel::node_exporter,
                    kAmd = NodeLabel::amd;

// dcgm-exporter's names are those of dcgm_fields.h, node_exporter's of its collectors.
constexpr ShippedMetric kShipped[] = {
    {"dcgm", kDcgm, "DCGM_FI_DEV_XID_ERRORS"},
    {"dcgm", kDcgm, "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"},
    {"dcgm", kDcgm, "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL"},
    {"dcgm", kDcgm, "DCGM_FI_DEV_ECC_DBE_VOL_DEV"},
    {"dcgm", kDcgm, "DCGM_FI_DEV_ECC_DBE_AGG_DEV"},
    {"dcgm", kDcgm, "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL"},
    {"dcgm", kDcgm, "DCGM_FI_DEV_ECC_SBE_AGG_TOTAL"},
    {"dcgm", kDcgm, "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS"},
    {"dcgm", kDcgm, "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS"},
    {"dcgm", kDcgm, "DCGM_FI_DEV_ROW_REMAP_FAILURE"},
    {"dcgm", kDcgm, "DCGM_FI_DEV_ROW_REMAP_PENDING"},
    {"dcgm", kDcgm, "DCGM_FI_DEV_RETIRED_PENDING"},
    {"dcgm", kDcgm, "DCGM_FI_DEV_PCIE_REPLAY_COUNTER"},
    {"dcgm", kDcgm, "DCGM_FI_DEV_GPU_UTIL"},
    {"dcgm", kAmd, "gpu_ecc_uncorrect_total"},
    {"dcgm", kAmd, "amd_gpu_ecc_uncorrect_total"},
    {"nvlink", kDcgm, "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL"},
    {"nvlink", kDcgm, "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL"},
    {"nvlink", kDcgm, "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL"},
    {"nvlink", kDcgm, "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL"},
    {"nvlink", kDcgm, "DCGM_FI_DEV_NVLINK_COUNT_RX_ERRORS"},
    {"nvlink", kDcgm, "DCGM_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS"},
    {"nvlink", kDcgm, "DCGM_FI_DEV_NVSWITCH_FATAL_ERRORS"},
    {"nvlink", kDcgm, "DCGM_FI_DEV_NVSWITCH_LINK_FATAL_ERRORS"},
    {"nvlink", kDcgm, "DCGM_FI_DEV_FABRIC_MANAGER_STATUS"},
    {"throttle", kDcgm, "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS"},
    {"throttle", kDcgm, "DCGM_FI_DEV_CLOCKS_EVENT_REASONS"},
    {"throttle", kDcgm, "DCGM_FI_DEV_THERMAL_VIOLATION"},
    {"throttle", kDcgm, "DCGM_FI_DEV_GPU_TEMP"},
    {"throttle", kDcgm, "DCGM_FI_DEV_MEMORY_TEMP"},
    {"power", kDcgm, "DCGM_FI_DEV_POWER_VIOLATION"},
    {"power", kDcgm, "DCGM_FI_DEV_POWER_USAGE"},
    {"node", kNode, "node_boot_time_seconds"},
    {"node", kNode, "node_procs_blocked"},
    {"node", kNode, "node_timex_offset_seconds"},
    {"node", kNode, "node_ntp_offset_seconds"},
    {"node", kNode, "node_nfs_rpc_retransmissions_total"},
    {"node", kNode, "smartmon_device_smart_healthy"},
    {"node", kNode, "smartctl_device_smart_status"},
    {"memory", kNode, "node_memory_MemAvailable_bytes"},
    {"memory", kNode, "node_vmstat_oom_kill"},
    {"memory", kNode, "node_edac_uncorrectable_errors_total"},
    {"memory", kNode, "node_edac_csrow_uncorrectable_errors_total"},
    {"filesystem", kNode, "node_filesystem_readonly"},
    {"filesystem", kNode, "node_filesystem_device_error"},
    {"filesystem", kNode, "node_filesystem_avail_bytes"},
    {"network", kNode, "node_network_carrier_changes_total"},
    {"network", kNode, "node_network_carrier_down_changes_total"},
    {"network", kNode, "node_amazonefa_unresponsive_remote_events"},
    {"network", kNode, "node_amazonefa_retrans_timeout_events"},
    {"infiniband", kNode, "node_infiniband_link_downed_total"},
    {"infiniband", kNode, "node_infiniband_link_error_recovery_total"},
    {"infiniband", kNode, "node_infiniband_symbol_error_total"},
    {"infiniband", kNode, "node_infiniband_port_errors_received_total"},
    {"infiniband", kNode, "node_infiniband_port_constraint_errors_received_total"},
    {"infiniband", kNode, "node_infiniband_port_constraint_errors_transmitted_total"},
    {"infiniband", kNode, "node_infiniband_physical_state_id"},
    {"infiniband", kNode, "node_infiniband_port_state_id"},
    {"infiniband", kNode, "node_infiniband_state_id"},
};

// Always asked for, at a few points: who is known at all, and which GPU has which UUID and address.
constexpr std::string_view kPresence[] = {"DCGM_FI_DEV_XID_ERRORS", "node_boot_time_seconds"};

constexpr std::string_view kWindow = "${window}", kNodes = "${nodes}";

bool is_metric_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == ':';
}

bool is_metric_name(std::string_view text) {
  return !text.empty() && !(text.front() >= '0' && text.front() <= '9') &&
         std::all_of(text.begin(), text.end(), is_metric_char);
}

// "node_x_*_total" as a regular expression.
std::string glob_regex(std::string_view glob) {
  std::string regex;
  for (const char c : glob) {
    regex += c == '*' ? ".*" : c == '?' ? "." : regex_quote(std::string_view(&c, 1));
  }
  return regex;
}

class Builder {
 public:
  Builder(const PromqlSettings& settings, const Ruleset& rules)
      : settings_(settings), rules_(rules) {}

  void add_metric(std::string_view name, NodeLabel label);
  void add_glob(std::string_view glob);
  Result<void> add_own(std::string_view text);
  std::vector<PromqlQuery> take() { return std::move(queries_); }

 private:
  std::string label_name(NodeLabel label) const {
    if (label == NodeLabel::dcgm) return settings_.dcgm_label;
    return label == NodeLabel::amd ? settings_.amd_label : settings_.node_label;
  }
  void add_filtered(std::string_view name, const std::string& series, std::string_view resolution,
                    PromqlQuery* query) const;
  // {Hostname=~"${nodes}SUFFIX",cluster="a"} behind a name, or with one in it.
  std::string selector(std::string_view name, std::string_view name_regex, NodeLabel label) const;

  const PromqlSettings& settings_;
  const Ruleset& rules_;
  std::vector<PromqlQuery> queries_;
  std::set<std::string, std::less<>> known_;
};

NodeLabel label_of(std::string_view name) {
  if (name.starts_with("DCGM_")) return NodeLabel::dcgm;
  return name.starts_with("gpu_") || name.starts_with("amd_") ? NodeLabel::amd
                                                              : NodeLabel::node_exporter;
}

std::string Builder::selector(std::string_view name, std::string_view name_regex,
                              NodeLabel label) const {
  std::string text(name);
  text += '{';
  if (!name_regex.empty()) text += fmt::format("__name__=~\"{}\",", logql_escape(name_regex));
  text += fmt::format("{}=~\"{}{}\"", label_name(label), kNodes, logql_escape(settings_.suffix));
  if (!settings_.matchers.empty()) text += ',' + settings_.matchers;
  return text + '}';
}

// Series for which this gives nothing have nothing in the window that the test would find.
std::string filter_of(const MetricMatch& test, const std::string& series,
                      std::string_view resolution) {
  const bool mask = test.test == MetricTest::has_bits;
  const char* const function = test.test == MetricTest::above || mask ? "max_over_time"
                               : test.test == MetricTest::below       ? "min_over_time"
                                                                      : "changes";
  const std::string range =
      fmt::format("{}({}[{}{}] @ end())", function, series, kWindow, resolution);
  if (test.test == MetricTest::above) return fmt::format("{} >= {}", range, test.threshold);
  if (test.test == MetricTest::below) return fmt::format("{} <= {}", range, test.threshold);
  // A value with one of the bits is no smaller than the lowest of them.
  if (mask) return fmt::format("{} >= {}", range, test.bits & (~test.bits + 1));
  return range + " > 0";
}

// `series` as far as some rule may find something in it; no text where no rule looks.
void Builder::add_filtered(std::string_view name, const std::string& series,
                           std::string_view resolution, PromqlQuery* query) const {
  std::set<std::string> filters;
  for (const MetricMatch* test : metric_tests(rules_, name)) {
    filters.insert(filter_of(*test, series, resolution));
  }
  std::string any;
  for (const std::string& filter : filters) any += any.empty() ? filter : " or " + filter;
  if (!any.empty()) query->text = fmt::format("{} and ({})", series, any);
}

void Builder::add_metric(std::string_view name, NodeLabel label) {
  if (!known_.emplace(name).second) return;
  const std::string all = selector(name, {}, label);
  PromqlQuery query;
  query.name = name;
  query.node_label = label_name(label);
  query.whole = all;
  add_filtered(name, all, "", &query);
  queries_.push_back(query);
  if (std::find(std::begin(kPresence), std::end(kPresence), name) == std::end(kPresence)) return;
  query.is_presence = true;
  query.text = all;
  queries_.insert(queries_.begin(), std::move(query));
}

// Functions drop the name, and servers refuse like-named series: a label keeps it.
void Builder::add_glob(std::string_view glob) {
  if (!known_.emplace(glob).second) return;
  PromqlQuery query;
  query.name = glob;
  query.node_label = label_name(label_of(glob));
  query.whole = selector({}, glob_regex(glob), label_of(glob));
  const std::string named = fmt::format("label_replace({}, \"{}\", \"$1\", \"__name__\", \"(.+)\")",
                                        query.whole, kNameLabel);
  add_filtered(glob, named, ":", &query);
  queries_.push_back(std::move(query));
}

// Where ${nodes} stands must be inside a string; quotes of all three kinds are PromQL's.
Result<void> check_own(std::string_view text) {
  char quote = 0;
  bool has_nodes = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with(kNodes)) {
      // In others, not all that a name may hold can be escaped.
      if (quote != '"') {
        return fail(Error::Code::malformed, "${nodes} wants double quotes around it");
      }
      has_nodes = true;
    }
    if (quote != 0 && quote != '`' && text[i] == '\\') {
      ++i;
    } else if (quote == text[i]) {
      quote = 0;
    } else if (quote == 0 && (text[i] == '"' || text[i] == '\'' || text[i] == '`')) {
      quote = text[i];
    }
  }
  if (quote != 0) return fail(Error::Code::malformed, "a string has no end");
  if (!has_nodes) {
    return fail(Error::Code::malformed,
                "it asks for all nodes; put =~\"${nodes}\" behind the label");
  }
  return {};
}

Result<void> Builder::add_own(std::string_view text) {
  PromqlQuery query;
  query.text = trim(text);
  const std::size_t equal = text.find(" = ");
  if (equal != std::string_view::npos && is_metric_name(trim(text.substr(0, equal)))) {
    query.name = trim(text.substr(0, equal));
    query.text = trim(text.substr(equal + 3));
  }
  query.whole = query.text;
  if (auto checked = check_own(query.text); !checked) {
    return fail(fmt::format("the query {}", excerpt(query.text, 80)), checked.error());
  }
  queries_.push_back(std::move(query));
  return {};
}

// What a site writes into each selector: only label matchers, so that a slip is found here.
Result<void> check_matchers(std::string_view text) {
  if (text.empty()) return {};
  static const auto kMatchers = Regex::compile(
      R"re(\A[a-zA-Z_][a-zA-Z0-9_]*(=|!=|=~|!~)"(\\.|[^"\\])*"(,[a-zA-Z_][a-zA-Z0-9_]*(=|!=|=~|!~)"(\\.|[^"\\])*")*\z)re");
  if (kMatchers && kMatchers->matches(text)) return {};
  return fail(Error::Code::malformed, "matchers are written like cluster=\"a\",job=~\"dcgm.*\"");
}

Result<void> check_labels(const PromqlSettings& settings) {
  for (const std::string* label :
       {&settings.node_label, &settings.dcgm_label, &settings.amd_label}) {
    if (!is_metric_name(*label) || label->find(':') != std::string::npos) {
      return fail(Error::Code::malformed,
                  fmt::format("\"{}\" is no name of a label", excerpt(sanitize(*label), 80)));
    }
  }
  return {};
}

bool has_group(const PromqlSettings& settings, std::string_view group) {
  return settings.groups.empty() ||
         std::find(settings.groups.begin(), settings.groups.end(), group) != settings.groups.end();
}

}  // namespace

std::span<const ShippedMetric> shipped_metrics() { return kShipped; }

std::string_view shipped_groups() {
  return "dcgm|nvlink|throttle|power|node|memory|filesystem|network|infiniband";
}

Result<std::vector<PromqlQuery>> promql_queries(const PromqlSettings& settings,
                                                const Ruleset& rules) {
  for (auto checked : {check_matchers(settings.matchers), check_labels(settings)}) {
    if (!checked) return tl::unexpected<Error>(checked.error());
  }
  if (auto compiled = Regex::compile(settings.suffix); !compiled) {
    return fail("node_suffix", compiled.error());
  }
  Builder builder(settings, rules);
  std::set<std::string_view> shipped;
  for (const ShippedMetric& metric : kShipped) {
    shipped.insert(metric.name);
    if (has_group(settings, metric.group)) builder.add_metric(metric.name, metric.label);
  }
  // What further rules of the site look at.
  for (const Rule& rule : rules.rules()) {
    if (!rule.metric) continue;
    for (const std::string& name : rule.metric->names) {
      const bool is_known = std::any_of(shipped.begin(), shipped.end(), [&](std::string_view one) {
        return glob_match(name, one);
      });
      if (is_known) continue;
      if (is_metric_name(name)) {
        builder.add_metric(name, label_of(name));
      } else {
        builder.add_glob(name);
      }
    }
  }
  for (const std::string& own : settings.extra) {
    if (auto added = builder.add_own(own); !added) return tl::unexpected<Error>(added.error());
  }
  return builder.take();
}

std::string nodes_regex(std::span<const std::string> nodes) {
  // By what stands before the number at the end: lists of a cluster's nodes become half as long.
  std::map<std::string_view, std::vector<std::string>> ends;
  for (const std::string& node : nodes) {
    const std::string_view name = std::string_view(node).substr(0, node.find('.'));
    const std::size_t digits = name.find_last_not_of("0123456789") + 1;
    ends[name.substr(0, digits)].push_back(regex_quote(name.substr(digits)));
  }
  std::string regex;
  for (const auto& [front, rests] : ends) {
    if (!regex.empty()) regex += '|';
    regex += regex_quote(front);
    regex += rests.size() == 1 ? rests.front() : "(?:" + join(rests, "|") + ")";
  }
  return ends.size() > 1 ? "(?:" + regex + ")" : regex;
}

std::string render_promql(std::string_view text, std::span<const std::string> nodes,
                          Duration window) {
  const std::string names = logql_escape(nodes_regex(nodes));
  const std::string seconds =
      fmt::format("{}s", std::chrono::ceil<std::chrono::seconds>(window).count());
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (text.substr(i).starts_with(kNodes)) {
      out += names;
      i += kNodes.size();
    } else if (text.substr(i).starts_with(kWindow)) {
      out += seconds;
      i += kWindow.size();
    } else {
      out += text[i++];
    }
  }
  return out;
}

}  // namespace nvab
