// SPDX-License-Identifier: Apache-2.0
// Results on stdout: one JSON object a line, or cards.
#pragma once

#include <memory>

#include "epilog/collector.hh"
#include "epilog/output/text_card.hh"

namespace nvab {

enum class StdoutFormat { automatic, text, json };  // automatic: text on a terminal, else JSON

struct StdoutOptions {
  StdoutFormat format = StdoutFormat::automatic;
  bool explain = false;
  int fd = 1;  // tests write elsewhere
};

// Width, colour (NO_COLOR, TERM=dumb) and format are found out here, once.
std::unique_ptr<Output> make_stdout_output(const StdoutOptions& options);

}  // namespace nvab
