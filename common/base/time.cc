// SPDX-License-Identifier: Apache-2.0
// RFC 3339 and durations by hand: no locale, no time zone database, no allocation while parsing.
#include "common/base/time.hh"

#include <cstdio>
#include <cstdlib>
#include <limits>

namespace nvab {
namespace {

namespace chrono = std::chrono;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes fields off the front of a text; once something is missing, everything after it is too.
class Cursor {
 public:
  explicit Cursor(std::string_view rest) : rest_(rest) {}

  // Exactly `digits` digits.
  int number(int digits) {
    int value = 0;
    for (int i = 0; i < digits; ++i) {
      if (rest_.empty() || !is_digit(rest_.front())) {
        failed_ = true;
        return 0;
      }
      value = value * 10 + (take() - '0');
    }
    return value;
  }
  void expect(std::string_view any_of) {
    if (rest_.empty() || any_of.find(rest_.front()) == std::string_view::npos) {
      failed_ = true;
    } else {
      take();
    }
  }
  bool skip(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    take();
    return true;
  }
  char peek() const { return rest_.empty() ? '\0' : rest_.front(); }
  char take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  bool failed() const { return failed_; }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

// The digits after the point as microseconds; further digits are cut.
std::optional<int> fraction(Cursor& cursor) {
  if (!is_digit(cursor.peek())) return std::nullopt;
  int micros = 0;
  int scale = 100'000;
  while (is_digit(cursor.peek())) {
    micros += (cursor.take() - '0') * scale;
    scale /= 10;
  }
  return micros;
}

// "Z", "+02:00", "-0330", "+02" or nothing, as minutes east of UTC.
std::optional<int> offset_minutes(Cursor& cursor) {
  if (cursor.at_end() || cursor.skip('Z') || cursor.skip('z')) return 0;
  const char sign = cursor.take();
  if (sign != '+' && sign != '-') return std::nullopt;
  const int hours = cursor.number(2);
  int minutes = 0;
  if (!cursor.at_end()) {
    cursor.skip(':');
    minutes = cursor.number(2);
  }
  if (cursor.failed() || hours > 23 || minutes > 59) return std::nullopt;
  return (sign == '-' ? -1 : 1) * (hours * 60 + minutes);
}

}  // namespace

std::optional<Time> parse_rfc3339(std::string_view text) {
  Cursor in(text);
  const int year = in.number(4);
  in.expect("-");
  const int month = in.number(2);
  in.expect("-");
  const int day = in.number(2);
  in.expect("Tt ");
  const int hour = in.number(2);
  in.expect(":");
  const int minute = in.number(2);
  in.expect(":");
  const int second = in.number(2);
  if (in.failed() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  const chrono::year_month_day date{chrono::year(year), chrono::month(static_cast<unsigned>(month)),
                                    chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  int micros = 0;
  if (in.skip('.') || in.skip(',')) {
    const auto parsed = fraction(in);
    if (!parsed) return std::nullopt;
    micros = *parsed;
  }
  const auto east = offset_minutes(in);
  if (!east || !in.at_end()) return std::nullopt;
  // A leap second (":60") is the same instant as the first second of the next minute.
  return Time(chrono::sys_days(date)) + chrono::hours(hour) + chrono::minutes(minute - *east) +
         chrono::seconds(second) + Duration(micros);
}

std::string format_rfc3339(Time time) {
  const auto day = chrono::floor<chrono::days>(time);
  const chrono::year_month_day date(day);
  const long long rest = (time - day).count();
  const long long seconds = rest / 1'000'000;
  const long long micros = rest % 1'000'000;
  char buffer[64];
  int used = std::snprintf(buffer, sizeof buffer, "%04d-%02u-%02uT%02lld:%02lld:%02lld",
                           static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                           static_cast<unsigned>(date.day()), seconds / 3600, seconds / 60 % 60,
                           seconds % 60);
  std::string out(buffer, static_cast<std::size_t>(used));
  if (micros != 0) {
    const bool millis_do = micros % 1000 == 0;
    used = millis_do ? std::snprintf(buffer, sizeof buffer, ".%03lld", micros / 1000)
                     : std::snprintf(buffer, sizeof buffer, ".%06lld", micros);
    out.append(buffer, static_cast<std::size_t>(used));
  }
  return out + 'Z';
}

std::string format_duration(Duration duration) {
  const long long micros = duration.count();
  if (micros < 0) return "-" + format_duration(Duration(micros == INT64_MIN ? INT64_MAX : -micros));
  const long long seconds = micros / 1'000'000;
  char buffer[48];
  if (micros < 1'000'000) {
    std::snprintf(buffer, sizeof buffer, "%lldms", micros / 1000);
  } else if (seconds < 60) {
    std::snprintf(buffer, sizeof buffer, "%lld.%llds", seconds, micros / 100'000 % 10);
  } else if (seconds < 3600) {
    std::snprintf(buffer, sizeof buffer, "%lldm %02llds", seconds / 60, seconds % 60);
  } else if (seconds < 86'400) {
    std::snprintf(buffer, sizeof buffer, "%lldh %02lldm", seconds / 3600, seconds / 60 % 60);
  } else {
    std::snprintf(buffer, sizeof buffer, "%lldd %02lldh", seconds / 86'400, seconds / 3600 % 24);
  }
  return buffer;
}

std::optional<Duration> parse_duration(std::string_view text) {
  constexpr long long kMax = std::numeric_limits<long long>::max();
  long long value = 0;
  std::size_t used = 0;
  for (; used < text.size() && is_digit(text[used]); ++used) {
    const int digit = text[used] - '0';
    if (value > (kMax - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  if (used == 0) return std::nullopt;
  const std::string_view unit = text.substr(used);
  long long scale = 0;
  if (unit == "us") scale = 1;
  if (unit == "ms") scale = 1'000;
  if (unit.empty() || unit == "s") scale = 1'000'000;
  if (unit == "m") scale = 60'000'000;
  if (unit == "h") scale = 3'600'000'000;
  if (unit == "d") scale = 86'400'000'000;
  if (scale == 0 || value > kMax / scale) return std::nullopt;
  return Duration(value * scale);
}

}  // namespace nvab
