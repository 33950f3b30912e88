// SPDX-License-Identifier: Apache-2.0
// SHA-256 at the speed of the processor (GnuTLS uses its instructions for it, eight times as fast
// as libmd, which common/base has), for bodies of many MB. The same digests.
#pragma once

#include <string>
#include <string_view>

#include "common/model/observation.hh"

namespace nvab {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void update(std::string_view bytes);
  std::string finish();  // 64 hexadecimal digits; nothing may follow

 private:
  void* handle_;
};

// As observation_id().
std::string fast_observation_id(const Observation& observation);

// 32 hexadecimal digits that nobody can guess.
std::string random_token();
// Takes the same time wherever they differ.
bool equal_secrets(std::string_view a, std::string_view b);

}  // namespace nvab
