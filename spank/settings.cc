// SPDX-License-Identifier: Apache-2.0
// The plugin's arguments: NAME=VALUE words.
#include "spank/settings.hh"

#include <cstring>

namespace nvab {
namespace {

constexpr struct {
  Mode mode;
  const char* word;
} kModes[] = {{Mode::on, "on"}, {Mode::off, "off"}, {Mode::automatic, "auto"}};

// What follows "NAME=", or null where the argument begins otherwise.
const char* value_of(const char* argument, const char* name) noexcept {
  const size_t length = strlen(name);
  if (strncmp(argument, name, length) != 0 || argument[length] != '=') return nullptr;
  return argument + length + 1;
}

bool read_argument(const char* argument, Settings* settings) noexcept {
  if (const char* value = value_of(argument, "spool")) {
    settings->spool = value;
    return value[0] == '/';
  }
  if (const char* value = value_of(argument, "syslog")) {
    settings->syslog = value;
    return value[0] == '/';
  }
  if (const char* value = value_of(argument, "root")) {
    settings->root = value;
    return true;
  }
  return read_mode(value_of(argument, "default"), &settings->mode);
}

}  // namespace

const char* mode_word(Mode mode) noexcept {
  for (const auto& known : kModes) {
    if (known.mode == mode) return known.word;
  }
  return "auto";
}

bool read_mode(const char* text, Mode* mode) noexcept {
  if (text == nullptr) return false;
  for (const auto& known : kModes) {
    if (strcmp(known.word, text) != 0) continue;
    *mode = known.mode;
    return true;
  }
  return false;
}

const char* read_settings(int count, char** arguments, Settings* settings) noexcept {
  const char* wrong = nullptr;
  for (int i = 0; i < count; i++) {
    if (!read_argument(arguments[i], settings) && wrong == nullptr) wrong = arguments[i];
  }
  return wrong;
}

}  // namespace nvab
