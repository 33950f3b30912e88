// SPDX-License-Identifier: Apache-2.0
// What an administrator writes behind the plugin's name in plugstack.conf, and what a user asks
// for.
#pragma once

#include <cstddef>

namespace nvab {

// The value of --attribution. The same words are on the command line, in SPANK_ATTRIBUTION and in
// the task record.
enum class Mode { on, off, automatic };

// "on", "off" or "auto".
const char* mode_word(Mode mode) noexcept;

// Reads such a word. False, and *mode unchanged, where it is none; text may be null.
bool read_mode(const char* text, Mode* mode) noexcept;

struct Settings {
  // Directory on a local disk. Each step leaves one small file there.
  const char* spool = "/var/spool/nvab/tasks";
  // Datagram socket of the syslog daemon; null: records do not go there.
  const char* syslog = nullptr;
  // Put before /proc and /sys. For tests.
  const char* root = "";
  // What counts where the user says nothing.
  Mode mode = Mode::automatic;
};

// Reads the arguments. They keep being used: they must live as long as the settings, as Slurm's do.
// Returns the first that is not understood (the others count all the same), or null.
const char* read_settings(int count, char** arguments, Settings* settings) noexcept;

}  // namespace nvab
