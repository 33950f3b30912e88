// SPDX-License-Identifier: Apache-2.0
// Any bytes as a settings file (the first says TOML or INI): what is taken must show as TOML that
// is taken again and shows the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "common/base/settings.hh"

using namespace nvab;

namespace {

constexpr ParamSpec kParams[] = {
    {.name = "url", .help = "h"},
    {.name = "count", .type = ParamType::integer, .fallback = "3", .help = "h", .high = 1000},
    {.name = "flag", .type = ParamType::boolean, .help = "h"},
    {.name = "wait", .type = ParamType::duration, .fallback = "5m", .help = "h"},
    {.name = "size", .type = ParamType::bytes, .fallback = "1G", .help = "h"},
    {.name = "words", .type = ParamType::list, .help = "h"},
    {.name = "source", .help = "h", .choices = "applog|syslog"},
};
constexpr ComponentSpec kSpecs[] = {
    {"run", "", "h", kParams},
    {"log", "file", "h", kParams},
    {"log", "loki", "h", kParams},
};

// The values without where they came from, which a second reading cannot know.
std::string without_origins(const std::string& shown) {
  std::string out;
  for (std::size_t at = 0; at < shown.size();) {
    const std::size_t end = shown.find('\n', at);
    const std::string line = shown.substr(at, end - at);
    out += line.substr(0, line.rfind(" # ")) + "\n";
    at = end + 1;
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  SettingsLoader loader(kSpecs);
  loader.read_text(data[0] % 2 == 0 ? "f.toml" : "f.conf", text);
  const auto settings = loader.finish();
  if (!settings) {
    if (settings.error().message.size() < 10) std::abort();
    return 0;
  }
  const std::string shown = settings->show(true);
  SettingsLoader second(kSpecs);
  second.read_text("f.toml", shown);
  const auto again = second.finish();
  if (!again || without_origins(again->show(true)) != without_origins(shown)) std::abort();
  return 0;
}
