// SPDX-License-Identifier: Apache-2.0
// A mail as text (RFC 5322, RFC 2045): whatever a job is called, it is one header line and no more.
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/time.hh"

namespace nvab {

struct MailMessage {
  std::string from;  // an address; empty: the mail system knows
  std::vector<std::string> to;
  std::string subject;
  std::string body;  // UTF-8
  Time date;
  std::vector<std::pair<std::string, std::string>> headers = {};  // more of them
};

// Lines end with '\n', as programs called sendmail take them.
std::string mail_text(const MailMessage& message);

// Of an address: a plain local part ("ada", "hpc-ops+nvab") and perhaps a domain. Nothing that a
// mail system could take for an option, a list or another header.
bool is_mail_address(std::string_view text);

}  // namespace nvab
