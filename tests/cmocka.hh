// SPDX-License-Identifier: Apache-2.0
// cmocka for C++: it is C, and wants four headers before its own.
// Assertions leave by longjmp and skip destructors: keep them in the test function itself.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include <cmocka.h>
}

#include <cstdlib>
#include <string>

namespace nvab::test {

// A file of the source tree, e.g. source_path("tests/data/x.json"). ctest sets SRCDIR; a test that
// is started by hand is taken to run at the root.
inline std::string source_path(const std::string& relative) {
  const char* root = std::getenv("SRCDIR");
  return std::string(root ? root : ".") + "/" + relative;
}

// A file of the build tree, e.g. build_path("obj/nvab-run").
inline std::string build_path(const std::string& relative) {
  const char* root = std::getenv("BUILDDIR");
  return std::string(root ? root : ".") + "/" + relative;
}

}  // namespace nvab::test
