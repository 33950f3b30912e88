// SPDX-License-Identifier: Apache-2.0
// What --doctor looks at in Slurm: accounting and what it shows us, the controller's clock, whether
// the hooks and the plugin are there, and whether the plugin was built for this Slurm.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/settings.hh"
#include "common/base/time.hh"
#include "epilog/host.hh"
#include "epilog/probe.hh"

namespace nvab {

// "Key = value" of `scontrol show config`, keys in lower case. Pure.
std::map<std::string, std::string, std::less<>> parse_slurm_config(std::string_view text);
// "Configuration data as of 2026-03-01T10:59:58": the controller's clock. Pure.
std::optional<Time> controller_clock(std::string_view text);

// 0x160508 for "22.05.8", as SLURM_VERSION_NUMBER; nothing for anything else. Pure.
std::optional<std::uint32_t> slurm_version(std::string_view text);
// For which Slurm a plugin was built: the number `plugin_version` of a shared object. Nothing where
// it has none. Pure; any bytes.
std::optional<std::uint32_t> plugin_version(std::string_view elf);
// The path of attribution.so in a plugstack.conf; empty: it is not there. `include` lines are
// followed. Relative names lie in `plugin_folder`.
std::string find_plugin(const std::string& plugstack, const std::string& plugin_folder);

ProbeFindings probe_slurm(const ComponentSettings& slurm, Host& host);

}  // namespace nvab
