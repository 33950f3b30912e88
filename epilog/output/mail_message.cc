// SPDX-License-Identifier: Apache-2.0
// See mail_message.hh.
#include "epilog/output/mail_message.hh"

#include <fmt/core.h>

#include <algorithm>
#include <ctime>

#include "common/base/text.hh"

namespace nvab {
namespace {

// Longer subjects are cut by those who show them.
constexpr std::size_t kMaxHeader = 250;
// RFC 2047: an encoded word has 75 bytes at most, "=?utf-8?Q?" and "?=" included.
constexpr std::size_t kMaxEncoded = 60;
// RFC 2045: an encoded line has 76 at most, the '=' of a soft break included.
constexpr std::size_t kMaxLine = 75;

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::string hex(char c) { return fmt::format("={:02X}", static_cast<unsigned char>(c)); }

// One line without controls, whatever it was.
std::string one_line(std::string_view text) {
  std::string line = sanitize(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return excerpt(trim(line), kMaxHeader);
}

// The bytes of the character at the beginning of valid UTF-8.
std::size_t character_size(std::string_view text) {
  std::size_t size = 1;
  while (size < text.size() && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) ++size;
  return size;
}

// As it is where it is plain, else in encoded words, which end at borders of characters.
std::string header_value(std::string_view text) {
  const std::string line = one_line(text);
  const bool is_plain =
      std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c <= '~'; }) &&
      line.find("=?") == std::string::npos;
  if (is_plain) return line;
  std::string value, word;
  const auto end_word = [&] {
    value += fmt::format("{}=?utf-8?Q?{}?=", value.empty() ? "" : "\n ", word);
    word.clear();
  };
  for (std::string_view rest = line; !rest.empty();) {
    const std::string_view character = rest.substr(0, character_size(rest));
    rest.remove_prefix(character.size());
    std::string encoded;
    for (const char c : character) encoded += is_letter_or_digit(c) ? std::string(1, c) : hex(c);
    if (word.size() + encoded.size() > kMaxEncoded) end_word();
    word += encoded;
  }
  end_word();
  return value;
}

// Quoted-printable: readable as it stands, and no line is too long for anybody.
std::string encode_body(std::string_view text) {
  std::string body;
  std::size_t column = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      body += c;
      column = 0;
      continue;
    }
    const bool ends_line = i + 1 == text.size() || text[i + 1] == '\n';
    // A dot or "From " at the beginning of a line means something to some mail systems.
    const bool is_risky = column == 0 && (c == '.' || c == 'F');
    const bool is_plain = c >= ' ' && c <= '~' && c != '=' && !is_risky && !(c == ' ' && ends_line);
    const std::string encoded = is_plain ? std::string(1, c) : hex(c);
    if (column + encoded.size() > kMaxLine) {
      body += "=\n";
      column = 0;
    }
    body += encoded;
    column += encoded.size();
  }
  if (!body.ends_with('\n')) body += '\n';
  return body;
}

std::string date_text(Time time) {
  constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
  const std::time_t clock = seconds;
  std::tm tm = {};
  ::gmtime_r(&clock, &tm);
  return fmt::format("{}, {} {} {} {:02}:{:02}:{:02} +0000", kDays[tm.tm_wday], tm.tm_mday,
                     kMonths[tm.tm_mon], tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

}  // namespace

std::string mail_text(const MailMessage& message) {
  std::string text;
  const auto header = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) text += fmt::format("{}: {}\n", name, header_value(value));
  };
  header("From", message.from);
  text += fmt::format("To: {}\n", join(message.to, ",\n "));
  header("Subject", message.subject);
  header("Date", date_text(message.date));
  for (const auto& [name, value] : message.headers) header(name, value);
  header("Auto-Submitted", "auto-generated");
  header("MIME-Version", "1.0");
  header("Content-Type", "text/plain; charset=utf-8");
  header("Content-Transfer-Encoding", "quoted-printable");
  return text + "\n" + encode_body(message.body);
}

bool is_mail_address(std::string_view text) {
  constexpr std::size_t kMaxAddress = 254;  // RFC 5321
  if (text.empty() || text.size() > kMaxAddress) return false;
  const std::size_t at = text.find('@');
  const std::string_view local = text.substr(0, at);
  const std::string_view domain = at == std::string_view::npos ? "localhost" : text.substr(at + 1);
  const auto consists_of = [](std::string_view part, std::string_view more) {
    return !part.empty() && std::all_of(part.begin(), part.end(), [&](char c) {
      return is_letter_or_digit(c) || more.find(c) != std::string_view::npos;
    });
  };
  return consists_of(local, "._+-") && consists_of(domain, ".-") &&
         (is_letter_or_digit(local.front()) || local.front() == '_') &&
         is_letter_or_digit(domain.front());
}

}  // namespace nvab
