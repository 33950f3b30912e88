// SPDX-License-Identifier: Apache-2.0
// Settings from TOML and INI files: each value with its line.
#include <algorithm>

#include "common/base/ini.hh"
#include "common/base/settings_impl.hh"
#include "common/base/settings_value.hh"
#include "common/base/text.hh"

namespace nvab {
namespace {

// "nvab.toml:12"
std::string place_of(std::string_view file_name, int line) {
  return std::string(file_name) + ":" + std::to_string(line);
}

std::optional<std::string> text_of(const Toml& value) {
  if (value.is(Toml::Kind::string)) return value.text;
  if (value.is(Toml::Kind::integer)) return std::to_string(value.integer);
  return std::nullopt;
}

}  // namespace

void SettingsLoader::Impl::read_ini(std::string_view file_name, std::string_view text) {
  const auto entries = parse_ini(file_name, text);
  if (!entries) {
    problems.push_back(entries.error().message);
    return;
  }
  const ComponentSpec* spec = nullptr;
  std::string instance;
  for (const IniEntry& entry : *entries) {
    const std::string origin = place_of(file_name, entry.line);
    if (entry.key.empty()) {
      const auto parts = split(entry.section, '.');
      if (parts.size() > 3)
        complain(origin, "[" + sanitize(entry.section) + "] has too many parts");
      instance = parts.size() == 3 ? parts[2] : "";
      spec = parts.size() > 3 ? nullptr
                              : mention(Surface::file, origin, parts[0],
                                        parts.size() > 1 ? parts[1] : "", instance);
    } else if (spec != nullptr) {
      add(*spec, instance, entry.key, {entry.value, {}, Surface::file, origin});
    }
  }
}

void SettingsLoader::Impl::read_toml(std::string_view file_name, std::string_view text) {
  const auto root = parse_toml(file_name, text);
  if (!root) {
    problems.push_back(root.error().message);
    return;
  }
  for (const TomlMember& member : root->members) {
    const std::string& framework = member.name;
    const Toml& table = member.value;
    const std::string origin = place_of(file_name, table.line);
    if (!table.is(Toml::Kind::table)) {
      complain(origin, "'" + excerpt(sanitize(framework), 60) + "' stands outside of any section");
      continue;
    }
    const bool is_plain = std::any_of(specs.begin(), specs.end(), [&](const ComponentSpec& spec) {
      return spec.framework == framework && spec.name.empty();
    });
    const bool is_known = std::any_of(specs.begin(), specs.end(), [&](const ComponentSpec& spec) {
      return spec.framework == framework;
    });
    if (is_plain || !is_known || table.members.empty()) {
      read_table(file_name, framework, "", "", table);
      continue;
    }
    for (const auto& [component, inner] : table.members) {
      if (inner.is(Toml::Kind::table)) {
        read_table(file_name, framework, component, "", inner);
      } else {
        complain(place_of(file_name, inner.line),
                 "'" + excerpt(sanitize(component), 60) + "' wants a component: [" + framework +
                     "] holds only sections such as [" + framework + ".NAME]");
      }
    }
  }
}

// A section, component or instance; in a component, a table is an instance.
void SettingsLoader::Impl::read_table(std::string_view file_name, std::string_view framework,
                                      std::string_view component, std::string_view instance,
                                      const Toml& table) {
  const auto is_table = [](const TomlMember& member) { return member.value.is(Toml::Kind::table); };
  // [log.loki.app] alone makes a table log.loki too, which nobody wrote.
  const bool is_only_parent = instance.empty() && !component.empty() && !table.members.empty() &&
                              std::all_of(table.members.begin(), table.members.end(), is_table);
  const std::string origin = place_of(file_name, table.line);
  const ComponentSpec* spec = is_only_parent
                                  ? find_spec(origin, framework, component)
                                  : mention(Surface::file, origin, framework, component, instance);
  if (spec == nullptr) return;
  for (const auto& [name, value] : table.members) {
    if (value.is(Toml::Kind::table) && instance.empty() && !component.empty()) {
      read_table(file_name, framework, component, name, value);
    } else {
      read_member(file_name, *spec, instance, name, value);
    }
  }
}

void SettingsLoader::Impl::read_member(std::string_view file_name, const ComponentSpec& spec,
                                       std::string_view instance, std::string_view name,
                                       const Toml& value) {
  SettingValue setting{"", {}, Surface::file, place_of(file_name, value.line)};
  const ParamSpec* param = spec.find(name);
  if (param == nullptr) {
    add(spec, instance, name, std::move(setting));  // complains
    return;
  }
  bool fits = false;
  if (param->type == ParamType::list && value.is(Toml::Kind::array)) {
    fits = true;
    for (const Toml& element : value.elements) {
      const auto text = text_of(element);
      fits = fits && text.has_value();
      setting.items.push_back(text.value_or(""));
    }
    setting.text = join(setting.items, ",");
  } else if (param->type == ParamType::boolean && value.is(Toml::Kind::boolean)) {
    fits = true;
    setting.text = value.boolean ? "true" : "false";
  } else if (const auto text = text_of(value)) {
    fits = true;
    setting.text = *text;
  }
  if (fits) {
    add(spec, instance, name, std::move(setting));
  } else {
    complain(setting.origin, section_name(spec, instance) + " " + std::string(name) +
                                 " is of type " + std::string(to_string(param->type)) +
                                 " and cannot be " + std::string(to_string(value.kind)));
  }
}

}  // namespace nvab
