// SPDX-License-Identifier: Apache-2.0
// What the loader's files share: what was given so far, and the checks that every surface passes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/settings.hh"
#include "common/base/toml.hh"

namespace nvab {

inline constexpr std::string_view kVariablePrefix = "NVAB_";

// "[log.loki.app]"
std::string section_name(const ComponentSpec& spec, std::string_view instance);

// One value (or, without a parameter, one mention) on one surface.
struct Given {
  const ComponentSpec* spec = nullptr;
  std::string instance;
  std::string param;
  SettingValue value;
};

struct SettingsLoader::Impl {
  std::span<const ComponentSpec> specs;
  std::vector<Given> given;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> problems, warnings;
  Error::Code code = Error::Code::malformed;

  void complain(const std::string& origin, const std::string& what) {
    problems.push_back(origin + ": " + what);
  }

  const ComponentSpec* find_spec(const std::string& origin, std::string_view framework,
                                 std::string_view component);
  bool check_instance(const std::string& origin, const ComponentSpec& spec,
                      std::string_view instance);
  const ComponentSpec* mention(Surface surface, const std::string& origin,
                               std::string_view framework, std::string_view component,
                               std::string_view instance);
  void add(const ComponentSpec& spec, std::string_view instance, std::string_view param,
           SettingValue value);
  void read_ini(std::string_view file_name, std::string_view text);
  void read_toml(std::string_view file_name, std::string_view text);
  void read_table(std::string_view file_name, std::string_view framework,
                  std::string_view component, std::string_view instance, const Toml& table);
  void read_member(std::string_view file_name, const ComponentSpec& spec, std::string_view instance,
                   std::string_view param, const Toml& value);
  void read_variable(const std::string& name, const std::string& value);
  ComponentSettings effective(const ComponentSpec& spec, const std::string& instance) const;
};

}  // namespace nvab
