// SPDX-License-Identifier: Apache-2.0
// How the text of a setting becomes a checked value. For common/base/settings*.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/base/settings.hh"

namespace nvab {

// The parameter that every component has beside its own.
inline constexpr ParamSpec kEnabled = {.name = "enabled",
                                       .type = ParamType::boolean,
                                       .fallback = "true",
                                       .help = "whether it takes part"};

std::optional<bool> parse_boolean(std::string_view text);

// Lower-case letters, digits and '_' (and '-' where the name is an instance's), from a letter on.
bool is_setting_name(std::string_view name, bool is_instance);

// Checks `value.text` against the parameter and fills `value.items` of a list, unless a surface
// that knows lists has done so. What is wrong, as "wants a duration such as 90s"; else nothing.
std::optional<std::string> check_value(const ParamSpec& param, SettingValue& value);

// " 'soon'" for messages; nothing for a secret.
std::string quoted_value(const ParamSpec& param, const SettingValue& value);

// "; did you mean 'url'?", or nothing.
std::string did_you_mean(std::string_view wanted, const std::vector<std::string>& candidates);

}  // namespace nvab
