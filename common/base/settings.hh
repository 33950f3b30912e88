// SPDX-License-Identifier: Apache-2.0
// One tree of settings with three surfaces: command line over environment over file over default
// (nvab.conf(5)). What may be set is declared by constant tables that the program passes in; from
// them come parsing, help, checks and messages.
//
//   [run]           a plain section: a ComponentSpec without a name
//   [log.loki]      a component of a framework
//   [log.loki.app]  an instance of it: inherits what stands in [log.loki]
//
// A value of a higher surface wins over one of a lower, and on one surface the instance's own over
// the inherited: `--connector log loki limit 5` is for every instance.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/result.hh"
#include "common/base/time.hh"

namespace nvab {

// How a parameter is written, in any surface.
enum class ParamType {
  string,
  integer,   // "42"
  boolean,   // "true", "false" (also yes, no, on, off, 1, 0)
  duration,  // "90s", "15m", "2h", "7d", "500ms"; a bare number means seconds
  bytes,     // "64K", "10M", "1G": times 1024; a bare number means bytes
  list,      // "a,b": commas inside [brackets] do not separate; in TOML also ["a", "b"]
  path,      // as a string; marked so that help and completion may tell
};
std::string_view to_string(ParamType type);

struct ParamSpec {
  std::string_view name;  // lower case, digits and '_'
  ParamType type = ParamType::string;
  // As it would be written; empty: none (0, false or an empty list).
  std::string_view fallback = {};
  std::string_view help = {};     // half a sentence
  bool secret = false;            // masked when shown, and refused on the command line
  std::string_view choices = {};  // "applog|syslog": nothing else is taken (string and list)
  // Bounds of an integer.
  long long low = 0;
  long long high = std::numeric_limits<long long>::max();
};

// Constant data, in an array that outlives all settings. Every component but a plain section has
// the parameter `enabled` (boolean, true) in addition.
struct ComponentSpec {
  std::string_view framework;  // "log"
  std::string_view name;       // "loki"; empty for a plain section
  std::string_view help;
  std::span<const ParamSpec> params;

  const ParamSpec* find(std::string_view param) const;  // also `enabled`
};

enum class Surface { fallback, implied, file, environment, command_line };

struct SettingValue {
  std::string text;                // as written; the elements joined by "," for a list
  std::vector<std::string> items;  // of a list
  Surface surface = Surface::fallback;
  std::string origin;  // "default", "nvab.toml:12", "NVAB_LOG_LOKI_URL", "--connector log loki"
};

// The effective values of one section, component or instance, all checked. Asking for a parameter
// that its table does not declare, or as another type, is a bug of ours (assert).
class ComponentSettings {
 public:
  // As if somebody had configured exactly `values`: for components that a command implies, and for
  // tests. Errors: malformed, as from a file.
  static Result<ComponentSettings> of(
      const ComponentSpec& spec, std::string_view instance,
      const std::vector<std::pair<std::string, std::string>>& values);

  const ComponentSpec& spec() const { return *spec_; }
  const std::string& instance() const { return instance_; }  // empty: the component itself
  std::string full_name() const;                             // "log.loki.app"
  bool enabled() const;

  const std::string& text(std::string_view param) const;  // string, path
  long long integer(std::string_view param) const;
  bool flag(std::string_view param) const;
  Duration duration(std::string_view param) const;
  std::uint64_t bytes(std::string_view param) const;
  const std::vector<std::string>& list(std::string_view param) const;

  // Whether any surface gave it (a default does not).
  bool is_set(std::string_view param) const;
  const SettingValue& value(std::string_view param) const;

 private:
  friend class SettingsLoader;
  ComponentSettings(const ComponentSpec& spec, std::string instance);
  const SettingValue& checked(std::string_view param, ParamType type) const;

  const ComponentSpec* spec_;
  std::string instance_;
  std::map<std::string, SettingValue, std::less<>> values_;
};

// The effective tree of one run. Immutable.
class Settings {
 public:
  // A plain section, with its defaults when nobody configured it. Undeclared: assert.
  const ComponentSettings& section(std::string_view framework) const;
  // What takes part: components that some surface configures and none disables, in the order of
  // the specs, instances by name. A component with instances takes part through them only.
  std::vector<const ComponentSettings*> active(std::string_view framework) const;
  // The component with what is configured for it, or its defaults. Undeclared: assert.
  const ComponentSettings& component(std::string_view framework, std::string_view name) const;
  // The instance called so of any component of the framework (`auth = "NAME"`), or null.
  const ComponentSettings* instance(std::string_view framework, std::string_view instance) const;
  // Whether any surface configures the framework at all, be it to disable something.
  bool is_configured(std::string_view framework) const;
  // Trouble that need not stop a run: environment variables called NVAB_… that nothing reads.
  const std::vector<std::string>& warnings() const { return warnings_; }

  // The effective values as TOML, each with where it came from, secrets masked (--show-config).
  // Sections that nobody configures are left out unless `all`.
  std::string show(bool all = false) const;

 private:
  friend class SettingsLoader;
  Settings() = default;

  struct Node {
    ComponentSettings settings;
    bool is_configured = false;
    bool has_instances = false;
  };
  std::vector<Node> nodes_;  // every spec once, its instances behind it
  std::vector<std::string> warnings_;
};

// More than any sensible file has; a directory of logs given by mistake must not fill memory.
inline constexpr std::size_t kMaxSettingsBytes = 1024 * 1024;

// Takes the surfaces in any order, then yields the tree. Problems are collected, so that a person
// sees all of them at once.
class SettingsLoader {
 public:
  // `specs` must outlive the loader and its settings.
  explicit SettingsLoader(std::span<const ComponentSpec> specs);
  ~SettingsLoader();
  SettingsLoader(const SettingsLoader&) = delete;
  SettingsLoader& operator=(const SettingsLoader&) = delete;

  // TOML, or INI when the name ends in .conf or .ini.
  void read_file(const std::string& path);
  void read_text(std::string_view file_name, std::string_view text);
  // NAME=VALUE as in environ, ended by a null pointer. Only names that begin with NVAB_ count.
  void read_environment(const char* const* environment);
  // One value from the command line; `component` may be "loki.app", or empty for a plain section;
  // `option` is what the person typed, for messages ("--connector", "--timeout").
  void set(std::string_view framework, std::string_view component, std::string_view param,
           std::string_view value, std::string_view option);
  // Configures a component by implication (`-j` implies eca slurm), below all surfaces; without
  // `param` only its taking part.
  void imply(std::string_view framework, std::string_view component, std::string_view param = {},
             std::string_view value = {});

  // Errors: malformed (or not_found, permission for a file), one problem a line of the message.
  Result<Settings> finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// For --list-connectors, --help and the man pages: one parameter as "name  type  default  help".
std::string describe(const ParamSpec& param);
// What is wrong with a table of our own (duplicates, bad names, defaults that do not parse), one
// problem a line; empty when nothing. For tests.
std::string check_specs(std::span<const ComponentSpec> specs);

// "64K", "10MiB", "1.5G": times 1024. Nothing for anything else, or when it would overflow.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

}  // namespace nvab
