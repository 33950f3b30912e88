// SPDX-License-Identifier: Apache-2.0
// Settings for people: effective values with where each came from, and the help of a parameter.
#include <fmt/core.h>

#include "common/base/settings.hh"
#include "common/base/settings_value.hh"
#include "common/base/text.hh"

namespace nvab {
namespace {

// TOML's basic string. Values hold no control characters.
std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string toml_value(const ParamSpec& param, const SettingValue& value) {
  if (param.secret) return toml_string("(secret)");
  switch (param.type) {
    case ParamType::integer:
      return std::to_string(parse_int(value.text).value_or(0));  // "02" is no TOML
    case ParamType::boolean:
      return *parse_boolean(value.text) ? "true" : "false";
    case ParamType::list: {
      std::string list;
      for (const std::string& item : value.items) {
        list += (list.empty() ? "" : ", ") + toml_string(item);
      }
      return "[" + list + "]";
    }
    case ParamType::string:
    case ParamType::duration:
    case ParamType::bytes:
    case ParamType::path:
      return toml_string(value.text);
  }
  return "";
}

std::string show_param(const ComponentSettings& settings, const ParamSpec& param) {
  const SettingValue& value = settings.value(param.name);
  if (value.text.empty() && value.surface == Surface::fallback) {
    return fmt::format("# {} is not set\n", param.name);
  }
  return fmt::format("{:<40} # {}\n", fmt::format("{} = {}", param.name, toml_value(param, value)),
                     value.origin);
}

}  // namespace

std::string Settings::show(bool all) const {
  std::string out;
  for (const Node& node : nodes_) {
    if (node.has_instances || (!node.is_configured && !all)) continue;
    const ComponentSpec& spec = node.settings.spec();
    if (!out.empty()) out += '\n';
    out += "[" + node.settings.full_name() + "]\n";
    if (!spec.name.empty()) out += show_param(node.settings, kEnabled);
    for (const ParamSpec& param : spec.params) out += show_param(node.settings, param);
  }
  return out;
}

std::string describe(const ParamSpec& param) {
  std::string out = fmt::format("{:<24} {:<9} {}", param.name, to_string(param.type), param.help);
  if (!param.choices.empty()) out += fmt::format("; one of {}", param.choices);
  if (!param.fallback.empty()) out += fmt::format(" (default: {})", param.fallback);
  if (param.secret) out += " (secret: never on the command line)";
  return out;
}

}  // namespace nvab
