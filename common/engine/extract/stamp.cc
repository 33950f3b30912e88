// SPDX-License-Identifier: Apache-2.0
// Hand-written because it runs on every sampled line: strptime is five to fifty times slower.
#include "common/engine/extract/stamp.hh"

#include <array>
#include <cctype>

namespace nvab {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Reads a text from the left; every take fails without moving when the text does not fit.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take_any(std::string_view chars) {
    if (at_ >= text_.size() || chars.find(text_[at_]) == std::string_view::npos) return false;
    ++at_;
    return true;
  }
  // Exactly `digits` digits within the range.
  bool number(std::size_t digits, int low, int high, int* out) {
    if (text_.size() - at_ < digits) return false;
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      if (!is_digit(text_[at_ + i])) return false;
      value = value * 10 + (text_[at_ + i] - '0');
    }
    if (value < low || value > high) return false;
    *out = value;
    at_ += digits;
    return true;
  }
  std::size_t digits_ahead() const {
    std::size_t count = 0;
    while (at_ + count < text_.size() && is_digit(text_[at_ + count])) ++count;
    return count;
  }
  // Digits behind the point, as microseconds; digits past the sixth are cut.
  Duration fraction() {
    long long value = 0;
    int kept = 0;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
      if (kept < 6) {
        value = value * 10 + (text_[at_] - '0');
        ++kept;
      }
    }
    for (; kept < 6; ++kept) value *= 10;
    return Duration(value);
  }
  // ".123" or ",123"; a point that no digit follows is not taken.
  Duration optional_fraction() {
    if (at_ + 1 >= text_.size() || (text_[at_] != '.' && text_[at_] != ',')) return Duration(0);
    if (!is_digit(text_[at_ + 1])) return Duration(0);
    ++at_;
    return fraction();
  }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  std::string_view rest() const { return text_.substr(at_); }
  void skip(std::size_t count) { at_ += count; }
  std::size_t at() const { return at_; }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

std::optional<Time> make_time(int year, int month, int day, Duration clock) {
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  return Time(std::chrono::sys_days(date)) + clock;
}

// "05:02:30" with an optional fraction. 60 is a leap second.
bool take_clock(Reader* in, Duration* clock) {
  int hour = 0, minute = 0, second = 0;
  if (!in->number(2, 0, 23, &hour) || !in->take(':') || !in->number(2, 0, 59, &minute) ||
      !in->take(':') || !in->number(2, 0, 60, &second)) {
    return false;
  }
  *clock = std::chrono::hours(hour) + std::chrono::minutes(minute) + std::chrono::seconds(second);
  *clock += in->optional_fraction();
  return !is_digit(in->peek());
}

// "Z", "+02:00", "+0200", "+02", " UTC", " +0000".
bool take_zone(Reader* in, Duration* offset) {
  *offset = Duration(0);
  if (in->take('Z')) return true;
  if (in->rest().starts_with(" UTC") || in->rest().starts_with(" GMT")) {
    in->skip(4);
    return true;
  }
  Reader ahead(in->rest());
  const bool spaced = ahead.take(' ');
  const bool minus = ahead.peek() == '-';
  int hours = 0, minutes = 0;
  if (!ahead.take_any("+-") || !ahead.number(2, 0, 14, &hours)) return false;
  const bool colon = ahead.take(':');
  const bool with_minutes = ahead.number(2, 0, 59, &minutes);
  if (!with_minutes && (colon || spaced)) return false;
  if (is_digit(ahead.peek()) || minutes % 15 != 0) return false;
  *offset = std::chrono::hours(hours) + std::chrono::minutes(minutes);
  if (minus) *offset = -*offset;
  in->skip(ahead.at());
  return true;
}

constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
constexpr std::string_view kWeekdays = "MonTueWedThuFriSatSun";

// Position of a three-letter word in a table of such, from 1; 0 when it is none.
int word_index(std::string_view text, std::string_view table) {
  if (text.size() < 3) return 0;
  for (std::size_t i = 0; i < table.size(); i += 3) {
    if (text.substr(0, 3) == table.substr(i, 3)) return static_cast<int>(i / 3) + 1;
  }
  return 0;
}

bool take_month(Reader* in, int* month) {
  *month = word_index(in->rest(), kMonths);
  if (*month == 0) return false;
  in->skip(3);
  return true;
}

// " 4" or "14", behind a space.
bool take_day(Reader* in, int* day) {
  if (!in->take(' ')) return false;
  if (in->take(' ')) return in->number(1, 1, 9, day);
  return in->digits_ahead() == 1 ? in->number(1, 1, 9, day) : in->number(2, 1, 31, day);
}

std::optional<Stamp> finish(StampKind kind, std::optional<Time> time, const Reader& in) {
  if (!time) return std::nullopt;
  return Stamp{kind, *time, in.at()};
}

}  // namespace

std::optional<Stamp> iso_stamp(std::string_view text) {
  Reader in(text);
  int year = 0, month = 0, day = 0;
  if (!in.number(4, 1970, 2199, &year)) return std::nullopt;
  const char separator = in.peek();
  if (separator != '-' && separator != '/') return std::nullopt;
  if (!in.take(separator) || !in.number(2, 1, 12, &month) || !in.take(separator) ||
      !in.number(2, 1, 31, &day) || !in.take_any("T _:")) {
    return std::nullopt;
  }
  Duration clock{0}, offset{0};
  if (!take_clock(&in, &clock)) return std::nullopt;
  const bool zoned = take_zone(&in, &offset);
  const auto time = make_time(year, month, day, clock);
  if (!time) return std::nullopt;
  return Stamp{zoned ? StampKind::zoned : StampKind::zoneless, *time - offset, in.at()};
}

std::optional<Stamp> rfc3164_stamp(std::string_view text) {
  Reader in(text);
  int month = 0, day = 0, year = 0;
  if (!take_month(&in, &month) || !take_day(&in, &day) || !in.take(' ')) return std::nullopt;
  bool has_year = in.digits_ahead() == 4 && in.number(4, 1970, 2199, &year) && in.take(' ');
  Duration clock{0};
  if (!take_clock(&in, &clock)) return std::nullopt;
  Reader behind(in.rest());
  if (!has_year && behind.take(' ') && behind.digits_ahead() == 4 &&
      behind.number(4, 1990, 2199, &year) && (behind.peek() == ' ' || behind.peek() == ':')) {
    has_year = true;
    in.skip(behind.at());
  }
  if (!has_year) return finish(StampKind::yearless, make_time(kNominalYear, month, day, clock), in);
  return finish(StampKind::zoneless, make_time(year, month, day, clock), in);
}

std::optional<Stamp> ctime_stamp(std::string_view text) {
  if (word_index(text, kWeekdays) == 0) return std::nullopt;
  Reader in(text);
  in.skip(3);
  in.take(',');
  int month = 0, day = 0, year = 0;
  Duration clock{0};
  if (!in.take(' ') || !take_month(&in, &month) || !take_day(&in, &day) || !in.take(' ') ||
      !take_clock(&in, &clock) || !in.take(' ')) {
    return std::nullopt;
  }
  bool utc = false;
  if (in.digits_ahead() == 0) {  // "UTC 2025", "CEST 2025": only UTC says which zone that is
    const std::size_t end = in.rest().find(' ');
    if (end == std::string_view::npos || end > 5) return std::nullopt;
    utc = in.rest().starts_with("UTC") || in.rest().starts_with("GMT");
    in.skip(end + 1);
  }
  if (!in.number(4, 1970, 2199, &year)) return std::nullopt;
  return finish(utc ? StampKind::zoned : StampKind::zoneless, make_time(year, month, day, clock),
                in);
}

std::optional<Stamp> clock_stamp(std::string_view text) {
  Reader in(text);
  Duration clock{0};
  if (!take_clock(&in, &clock) || in.peek() == ':') return std::nullopt;
  return Stamp{StampKind::time_of_day, Time(clock), in.at()};
}

std::optional<Stamp> epoch_stamp(std::string_view text) {
  Reader in(text);
  int high = 0, low = 0;
  // 1 000 000 000 is in 2001, 4 102 444 799 the end of 2099.
  if (in.digits_ahead() != 10 || !in.number(5, 10'000, 41'024, &high) ||
      !in.number(5, 0, 99'999, &low)) {
    return std::nullopt;
  }
  if (in.peek() != '.' || !is_digit(in.peek(1))) return std::nullopt;
  const std::chrono::seconds seconds(static_cast<long long>(high) * 100'000 + low);
  const Duration fraction = in.optional_fraction();
  return Stamp{StampKind::zoned, Time(seconds) + fraction, in.at()};
}

std::optional<Stamp> uptime_stamp(std::string_view text) {
  Reader in(text);
  const std::size_t digits = in.digits_ahead();
  constexpr std::size_t kMaxDigits = 9;  // thirty years
  if (digits == 0 || digits > kMaxDigits) return std::nullopt;
  int seconds = 0;
  if (!in.number(digits, 0, 999'999'999, &seconds) || !in.take('.') || in.digits_ahead() < 3) {
    return std::nullopt;
  }
  const Duration fraction = in.fraction();
  return Stamp{StampKind::uptime, Time(std::chrono::seconds(seconds)) + fraction, in.at()};
}

std::optional<Stamp> glog_stamp(std::string_view text) {
  Reader in(text);
  const std::size_t digits = in.digits_ahead();
  int month = 0, day = 0;
  Duration clock{0};
  if ((digits != 3 && digits != 4) || in.peek(digits) != ' ') return std::nullopt;
  // absl before its initialisation: "E0000 00:00:1750496403.412001".
  if (text.starts_with("0000 00:00:")) {
    auto epoch = epoch_stamp(text.substr(11));
    if (epoch) epoch->length += 11;
    return epoch;
  }
  if (!in.number(digits - 2, 1, 12, &month) || !in.number(2, 1, 31, &day) || !in.take(' ') ||
      !take_clock(&in, &clock)) {
    return std::nullopt;
  }
  return finish(StampKind::yearless, make_time(kNominalYear, month, day, clock), in);
}

std::optional<Stamp> month_day_stamp(std::string_view text) {
  Reader in(text);
  int month = 0, day = 0;
  Duration clock{0};
  if (!in.number(2, 1, 12, &month) || !in.take_any("-/") || !in.number(2, 1, 31, &day) ||
      !in.take(' ') || !take_clock(&in, &clock)) {
    return std::nullopt;
  }
  return finish(StampKind::yearless, make_time(kNominalYear, month, day, clock), in);
}

std::optional<Stamp> any_stamp(std::string_view text) {
  if (text.size() < 8) return std::nullopt;
  const auto first = static_cast<unsigned char>(text[0]);
  if (std::isdigit(first)) {
    if (auto stamp = iso_stamp(text)) return stamp;
    if (auto stamp = clock_stamp(text)) return stamp;
    if (auto stamp = month_day_stamp(text)) return stamp;
    return epoch_stamp(text);
  }
  if (!std::isupper(first)) return std::nullopt;
  if (auto stamp = rfc3164_stamp(text)) return stamp;
  return ctime_stamp(text);
}

Duration time_of_day(Time time) { return time - midnight(time); }
Time midnight(Time time) { return std::chrono::floor<std::chrono::days>(time); }

int year_of(Time time) {
  return static_cast<int>(
      std::chrono::year_month_day(std::chrono::floor<std::chrono::days>(time)).year());
}

std::optional<Time> in_year(Time nominal, int year) {
  const auto day = std::chrono::floor<std::chrono::days>(nominal);
  const std::chrono::year_month_day date(day);
  return make_time(year, static_cast<int>(static_cast<unsigned>(date.month())),
                   static_cast<int>(static_cast<unsigned>(date.day())), nominal - day);
}

}  // namespace nvab
