// SPDX-License-Identifier: Apache-2.0
// Settings from the environment. NVAB_LOG_LOKI_APP_SOURCE does not say where the component, the
// instance and the parameter end, so all readings are tried and the best one counts.
#include <algorithm>
#include <tuple>

#include "common/base/settings_impl.hh"
#include "common/base/settings_value.hh"
#include "common/base/text.hh"

namespace nvab {
namespace {

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - ('a' - 'A'));
    if (c == '-') c = '_';
  }
  return out;
}

// What the name of an environment variable may mean; the greater the better.
struct Reading {
  bool is_own_param = false;  // a declared parameter name wins over an instance name
  bool is_known_instance = false;
  std::size_t component_length = 0, param_length = 0;
  const ComponentSpec* spec = nullptr;
  std::string instance;
  std::string param;

  bool operator<(const Reading& other) const {
    return std::tie(is_own_param, is_known_instance, component_length, param_length) <
           std::tie(other.is_own_param, other.is_known_instance, other.component_length,
                    other.param_length);
  }
};

// Every way to read a variable's name (without NVAB_, in lower case).
std::vector<Reading> readings(const std::vector<Given>& given, std::span<const ComponentSpec> specs,
                              std::string_view name) {
  std::vector<Reading> found;
  for (const ComponentSpec& spec : specs) {
    std::string prefix = std::string(spec.framework) + "_";
    if (!spec.name.empty()) prefix += std::string(spec.name) + "_";
    if (!name.starts_with(prefix)) continue;
    const std::string_view rest = name.substr(prefix.size());
    if (spec.find(rest) != nullptr) {
      found.push_back({true, false, spec.name.size(), rest.size(), &spec, "", std::string(rest)});
    }
    const auto try_param = [&](const ParamSpec& param) {
      const std::string tail = "_" + std::string(param.name);
      if (spec.name.empty() || !rest.ends_with(tail) || rest.size() == tail.size()) return;
      std::string instance(rest.substr(0, rest.size() - tail.size()));
      if (!is_setting_name(instance, true) || spec.find(instance) != nullptr) return;
      // A known instance may be spelled with '-', which a variable cannot hold.
      const auto known = std::find_if(given.begin(), given.end(), [&](const Given& other) {
        return other.spec == &spec && upper(other.instance) == upper(instance);
      });
      const bool is_known = known != given.end();
      if (is_known) instance = known->instance;
      found.push_back({false, is_known, spec.name.size(), param.name.size(), &spec, instance,
                       std::string(param.name)});
    };
    try_param(kEnabled);
    for (const ParamSpec& param : spec.params) try_param(param);
  }
  return found;
}

std::string nearest_variable(std::span<const ComponentSpec> specs, std::string_view name) {
  std::vector<std::string> names;
  for (const ComponentSpec& spec : specs) {
    std::string prefix = std::string(kVariablePrefix) + upper(spec.framework) + "_";
    if (!spec.name.empty()) prefix += upper(spec.name) + "_";
    for (const ParamSpec& param : spec.params) names.push_back(prefix + upper(param.name));
  }
  return did_you_mean(name, names);
}

}  // namespace

void SettingsLoader::Impl::read_variable(const std::string& name, const std::string& value) {
  const std::string key = lower(std::string_view(name).substr(kVariablePrefix.size()));
  const std::vector<Reading> all = readings(given, specs, key);
  if (all.empty()) {
    const bool is_ours = std::any_of(specs.begin(), specs.end(), [&](const ComponentSpec& spec) {
      return key.starts_with(std::string(spec.framework) + "_");
    });
    const std::string shown = excerpt(sanitize(name), 80);
    const std::string what = "no setting is called so" + nearest_variable(specs, shown);
    if (is_ours) {
      complain(shown, what);
    } else {
      warnings.push_back("environment variable " + shown + ": " + what);
    }
    return;
  }
  const Reading& best = *std::max_element(all.begin(), all.end());
  add(*best.spec, best.instance, best.param, {value, {}, Surface::environment, name});
}

}  // namespace nvab
