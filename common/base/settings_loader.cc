// SPDX-License-Identifier: Apache-2.0
// From three surfaces to one tree. What is given is checked where it is read, so that a message can
// name its place; the environment is resolved last, when the instances are known.
#include <algorithm>
#include <set>

#include "common/base/file.hh"
#include "common/base/settings_impl.hh"
#include "common/base/settings_value.hh"
#include "common/base/text.hh"

namespace nvab {
namespace {

// Enough to mend a file in a few rounds; a wrong file altogether must not fill the terminal.
constexpr std::size_t kMaxProblems = 20;

}  // namespace

std::string section_name(const ComponentSpec& spec, std::string_view instance) {
  std::string name = "[" + std::string(spec.framework);
  if (!spec.name.empty()) name += "." + std::string(spec.name);
  if (!instance.empty()) name += "." + std::string(instance);
  return name + "]";
}

// The component so called, or null after a complaint.
const ComponentSpec* SettingsLoader::Impl::find_spec(const std::string& origin,
                                                     std::string_view framework,
                                                     std::string_view component) {
  std::vector<std::string> frameworks, components;
  for (const ComponentSpec& spec : specs) {
    if (spec.framework == framework && spec.name == component) return &spec;
    frameworks.emplace_back(spec.framework);
    if (spec.framework == framework) components.emplace_back(spec.name);
  }
  const std::string name(sanitize(framework)), part(sanitize(component));
  if (components.empty()) {
    complain(origin, "there is no section [" + name + "]" + did_you_mean(name, frameworks));
  } else if (components.front().empty()) {
    complain(origin, "[" + name + "] has no components, so [" + name + "." + part + "] is nothing");
  } else if (component.empty()) {
    complain(origin,
             "[" + name + "] wants a component, such as [" + name + "." + components.front() + "]");
  } else {
    complain(origin,
             "[" + name + "] has no component '" + part + "'" + did_you_mean(part, components));
  }
  return nullptr;
}

bool SettingsLoader::Impl::check_instance(const std::string& origin, const ComponentSpec& spec,
                                          std::string_view instance) {
  if (instance.empty()) return true;
  const std::string name = "'" + excerpt(sanitize(instance), 60) + "'";
  if (spec.name.empty()) {
    complain(origin, section_name(spec, "") + " has no instances, so " + name + " is nothing");
  } else if (spec.find(instance) != nullptr) {
    complain(origin, name + " is a parameter of " + section_name(spec, "") +
                         " and cannot be the name of an instance");
  } else if (!is_setting_name(instance, true)) {
    complain(origin, name +
                         " is no name of an instance: it wants lower-case letters, digits, '_' "
                         "and '-', from a letter on");
  } else {
    return true;
  }
  return false;
}

// Notes that a section stands there; its spec, or null after a complaint.
const ComponentSpec* SettingsLoader::Impl::mention(Surface surface, const std::string& origin,
                                                   std::string_view framework,
                                                   std::string_view component,
                                                   std::string_view instance) {
  const ComponentSpec* spec = find_spec(origin, framework, component);
  if (spec == nullptr || !check_instance(origin, *spec, instance)) return nullptr;
  given.push_back({spec, std::string(instance), "", {"", {}, surface, origin}});
  return spec;
}

void SettingsLoader::Impl::add(const ComponentSpec& spec, std::string_view instance,
                               std::string_view name, SettingValue value) {
  const std::string section = section_name(spec, instance);
  const ParamSpec* param = spec.find(name);
  if (param == nullptr) {
    std::vector<std::string> names;
    for (const ParamSpec& candidate : spec.params) names.emplace_back(candidate.name);
    if (!spec.name.empty()) names.emplace_back(kEnabled.name);
    const std::string shown = excerpt(sanitize(name), 60);
    complain(value.origin,
             section + " has no parameter '" + shown + "'" + did_you_mean(shown, names));
    return;
  }
  if (param->secret && value.surface == Surface::command_line) {
    complain(value.origin, section + " " + std::string(name) +
                               " is a secret and never taken from the command line, where others "
                               "can read it; use a file or the environment");
    return;
  }
  if (const auto problem = check_value(*param, value)) {
    complain(value.origin,
             section + " " + std::string(name) + quoted_value(*param, value) + " " + *problem);
    return;
  }
  given.push_back({&spec, std::string(instance), std::string(name), std::move(value)});
}

// Each value by the highest surface that gives it; on one surface the instance's own first, and
// then the later.
ComponentSettings SettingsLoader::Impl::effective(const ComponentSpec& spec,
                                                  const std::string& instance) const {
  ComponentSettings settings(spec, instance);
  std::map<std::string, std::pair<Surface, bool>> ranks;
  for (const Given& entry : given) {
    const bool is_own = entry.instance == instance;
    if (entry.spec != &spec || entry.param.empty() || !(is_own || entry.instance.empty())) continue;
    const std::pair rank{entry.value.surface, is_own};
    const auto [known, is_first] = ranks.emplace(entry.param, rank);
    if (!is_first && rank < known->second) continue;
    known->second = rank;
    settings.values_[entry.param] = entry.value;
  }
  return settings;
}

SettingsLoader::SettingsLoader(std::span<const ComponentSpec> specs)
    : impl_(std::make_unique<Impl>()) {
  impl_->specs = specs;
}

SettingsLoader::~SettingsLoader() = default;

void SettingsLoader::read_file(const std::string& path) {
  const auto text = nvab::read_file(path, kMaxSettingsBytes);
  if (text) {
    read_text(path, *text);
    return;
  }
  impl_->code = text.error().code;
  impl_->problems.push_back("reading the settings: " + text.error().message);
}

void SettingsLoader::read_text(std::string_view file_name, std::string_view text) {
  if (file_name.ends_with(".conf") || file_name.ends_with(".ini")) {
    impl_->read_ini(file_name, text);
  } else {
    impl_->read_toml(file_name, text);
  }
}

void SettingsLoader::read_environment(const char* const* environment) {
  for (; *environment != nullptr; ++environment) {
    const std::string_view line = *environment;
    const std::size_t equals = line.find('=');
    if (!line.starts_with(kVariablePrefix) || equals == std::string_view::npos) continue;
    impl_->environment.emplace_back(line.substr(0, equals), line.substr(equals + 1));
  }
}

void SettingsLoader::set(std::string_view framework, std::string_view component,
                         std::string_view param, std::string_view value, std::string_view option) {
  const std::size_t dot = component.find('.');
  const std::string_view instance =
      dot == std::string_view::npos ? std::string_view() : component.substr(dot + 1);
  const std::string origin(option);
  const ComponentSpec* spec =
      impl_->mention(Surface::command_line, origin, framework, component.substr(0, dot), instance);
  if (spec == nullptr) return;
  impl_->add(*spec, instance, param, {std::string(value), {}, Surface::command_line, origin});
}

void SettingsLoader::imply(std::string_view framework, std::string_view component,
                           std::string_view param, std::string_view value) {
  const std::size_t dot = component.find('.');
  const std::string_view instance =
      dot == std::string_view::npos ? std::string_view() : component.substr(dot + 1);
  const ComponentSpec* spec =
      impl_->mention(Surface::implied, "implied", framework, component.substr(0, dot), instance);
  if (spec == nullptr || param.empty()) return;
  impl_->add(*spec, instance, param, {std::string(value), {}, Surface::implied, "implied"});
}

Result<Settings> SettingsLoader::finish() {
  for (const auto& [name, value] : impl_->environment) impl_->read_variable(name, value);
  if (!impl_->problems.empty()) {
    const std::size_t shown = std::min(impl_->problems.size(), kMaxProblems);
    std::string message = join(std::span(impl_->problems).first(shown), "\n");
    if (shown < impl_->problems.size()) {
      message += "\nand " + std::to_string(impl_->problems.size() - shown) + " more";
    }
    return fail(impl_->code, std::move(message));
  }
  Settings settings;
  settings.warnings_ = impl_->warnings;
  for (const ComponentSpec& spec : impl_->specs) {
    std::set<std::string> instances;
    bool is_mentioned = false;
    for (const Given& entry : impl_->given) {
      if (entry.spec != &spec) continue;
      is_mentioned = true;
      if (!entry.instance.empty()) instances.insert(entry.instance);
    }
    settings.nodes_.push_back({impl_->effective(spec, ""), is_mentioned, !instances.empty()});
    for (const std::string& instance : instances) {
      settings.nodes_.push_back({impl_->effective(spec, instance), true, false});
    }
  }
  return settings;
}

}  // namespace nvab
