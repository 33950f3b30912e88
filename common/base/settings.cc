// SPDX-License-Identifier: Apache-2.0
// The effective tree: typed access, and checks of our own tables.
#include "common/base/settings.hh"

#include <algorithm>
#include <cassert>
#include <set>

#include "common/base/settings_value.hh"

namespace nvab {

std::string_view to_string(ParamType type) {
  switch (type) {
    case ParamType::string:
      return "string";
    case ParamType::integer:
      return "int";
    case ParamType::boolean:
      return "bool";
    case ParamType::duration:
      return "duration";
    case ParamType::bytes:
      return "bytes";
    case ParamType::list:
      return "list";
    case ParamType::path:
      return "path";
  }
  return "string";
}

const ParamSpec* ComponentSpec::find(std::string_view param) const {
  if (!name.empty() && param == kEnabled.name) return &kEnabled;
  for (const ParamSpec& candidate : params) {
    if (candidate.name == param) return &candidate;
  }
  return nullptr;
}

ComponentSettings::ComponentSettings(const ComponentSpec& spec, std::string instance)
    : spec_(&spec), instance_(std::move(instance)) {
  const auto add = [&](const ParamSpec& param) {
    SettingValue value;
    value.text = param.fallback;
    value.origin = "default";
    // An empty default means that there is none: 0, false or an empty list.
    if (!value.text.empty()) check_value(param, value);
    values_.emplace(param.name, std::move(value));
  };
  if (!spec.name.empty()) add(kEnabled);
  for (const ParamSpec& param : spec.params) add(param);
}

Result<ComponentSettings> ComponentSettings::of(
    const ComponentSpec& spec, std::string_view instance,
    const std::vector<std::pair<std::string, std::string>>& values) {
  ComponentSettings settings(spec, std::string(instance));
  for (const auto& [name, text] : values) {
    const std::string where = "[" + settings.full_name() + "] " + name;
    const ParamSpec* param = spec.find(name);
    if (param == nullptr) return fail(Error::Code::malformed, where + ": no such parameter");
    SettingValue value{text, {}, Surface::implied, "implied"};
    if (const auto problem = check_value(*param, value)) {
      return fail(Error::Code::malformed, where + quoted_value(*param, value) + " " + *problem);
    }
    settings.values_[name] = std::move(value);
  }
  return settings;
}

std::string ComponentSettings::full_name() const {
  std::string name(spec_->framework);
  if (!spec_->name.empty()) name += "." + std::string(spec_->name);
  if (!instance_.empty()) name += "." + instance_;
  return name;
}

bool ComponentSettings::enabled() const {
  return spec_->name.empty() || *parse_boolean(value(kEnabled.name).text);
}

const SettingValue& ComponentSettings::value(std::string_view param) const {
  const auto found = values_.find(param);
  assert(found != values_.end());
  return found->second;
}

const SettingValue& ComponentSettings::checked(std::string_view param, ParamType type) const {
  const ParamSpec* declared = spec_->find(param);
  assert(declared != nullptr && declared->type == type);
  return value(param);
}

const std::string& ComponentSettings::text(std::string_view param) const {
  const ParamSpec* declared = spec_->find(param);
  assert(declared != nullptr);
  assert(declared->type == ParamType::string || declared->type == ParamType::path);
  return value(param).text;
}

long long ComponentSettings::integer(std::string_view param) const {
  const auto number = checked(param, ParamType::integer).text;
  return number.empty() ? 0 : std::stoll(number);
}

bool ComponentSettings::flag(std::string_view param) const {
  return parse_boolean(checked(param, ParamType::boolean).text).value_or(false);
}

Duration ComponentSettings::duration(std::string_view param) const {
  return parse_duration(checked(param, ParamType::duration).text).value_or(Duration{0});
}

std::uint64_t ComponentSettings::bytes(std::string_view param) const {
  return parse_bytes(checked(param, ParamType::bytes).text).value_or(0);
}

const std::vector<std::string>& ComponentSettings::list(std::string_view param) const {
  return checked(param, ParamType::list).items;
}

bool ComponentSettings::is_set(std::string_view param) const {
  return value(param).surface != Surface::fallback;
}

const ComponentSettings& Settings::component(std::string_view framework,
                                             std::string_view name) const {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& node) {
    const ComponentSpec& spec = node.settings.spec();
    return spec.framework == framework && spec.name == name && node.settings.instance().empty();
  });
  assert(found != nodes_.end());
  return found->settings;
}

const ComponentSettings& Settings::section(std::string_view framework) const {
  return component(framework, "");
}

std::vector<const ComponentSettings*> Settings::active(std::string_view framework) const {
  std::vector<const ComponentSettings*> found;
  for (const Node& node : nodes_) {
    const ComponentSpec& spec = node.settings.spec();
    if (spec.framework != framework || spec.name.empty()) continue;
    if (!node.is_configured || node.has_instances || !node.settings.enabled()) continue;
    found.push_back(&node.settings);
  }
  return found;
}

const ComponentSettings* Settings::instance(std::string_view framework,
                                            std::string_view instance) const {
  for (const Node& node : nodes_) {
    const bool is_it = !instance.empty() && node.settings.instance() == instance;
    if (is_it && node.settings.spec().framework == framework) return &node.settings;
  }
  return nullptr;
}

bool Settings::is_configured(std::string_view framework) const {
  return std::any_of(nodes_.begin(), nodes_.end(), [&](const Node& node) {
    return node.is_configured && node.settings.spec().framework == framework;
  });
}

std::string check_specs(std::span<const ComponentSpec> specs) {
  std::string problems;
  std::set<std::string> names, sections, frameworks;
  for (const ComponentSpec& spec : specs) {
    const std::string where = std::string(spec.framework) + "." + std::string(spec.name);
    const auto complain = [&](std::string_view param, std::string_view what) {
      problems += where + " " + std::string(param) + " " + std::string(what) + "\n";
    };
    if (!names.insert(where).second) complain("", "is declared twice");
    if (!is_setting_name(spec.framework, false)) complain("", "has a bad framework name");
    if (!spec.name.empty() && !is_setting_name(spec.name, false)) complain("", "has a bad name");
    (spec.name.empty() ? sections : frameworks).insert(std::string(spec.framework));
    std::set<std::string_view> seen;
    for (const ParamSpec& param : spec.params) {
      if (!is_setting_name(param.name, false)) complain(param.name, "is no name");
      if (param.name == kEnabled.name) complain(param.name, "is declared for every component");
      if (!seen.insert(param.name).second) complain(param.name, "is declared twice");
      if (param.help.empty()) complain(param.name, "has no help");
      SettingValue value{std::string(param.fallback), {}, Surface::fallback, ""};
      const auto problem = value.text.empty() ? std::nullopt : check_value(param, value);
      if (problem) complain(param.name, "has a default that " + *problem);
    }
  }
  for (const std::string& section : sections) {
    if (frameworks.contains(section)) problems += section + " is a section and a framework\n";
  }
  return problems;
}

}  // namespace nvab
