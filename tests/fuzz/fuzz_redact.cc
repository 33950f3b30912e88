// SPDX-License-Identifier: Apache-2.0
// Redaction of any text: lines stay lines, and a known host or user never survives as a word.
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/text.hh"
#include "epilog/output/redact.hh"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  nvab::Redactor redactor;
  redactor.learn_host("yak7");
  redactor.learn_host("yak8.zoo.example");
  redactor.learn_user("quentin");
  redactor.learn(std::string_view(text));
  redactor.seal();
  const std::string once = redactor.apply(std::string_view(text));
  assert(nvab::split(once, '\n').size() == nvab::split(text, '\n').size());
  for (const std::string_view word : nvab::split(once, ' ')) {
    assert(nvab::trim(word) != "yak7" && nvab::trim(word) != "quentin");
  }
  return 0;
}
