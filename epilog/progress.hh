// SPDX-License-Identifier: Apache-2.0
// Progress of reading on a terminal: files, bytes, rate. Silent for the first second, and always
// where stderr is no terminal.
#pragma once

#include <memory>

#include "epilog/host.hh"

namespace nvab {

// Null where nothing is to be drawn. Its destructor wipes the line.
std::unique_ptr<ProgressMeter> make_terminal_progress();

// "1.2 GiB", "640 KiB": for people.
std::string format_bytes(std::uint64_t bytes);

}  // namespace nvab
