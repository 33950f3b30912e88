// SPDX-License-Identifier: Apache-2.0
// Time stamps at the very start of a text, in the forms that logs use. Pure; never reads past the
// text; about 20 ns when there is one and 5 ns when there is none.
#pragma once

#include <optional>
#include <string_view>

#include "common/engine/extract/dialect.hh"

namespace nvab {

struct Stamp {
  StampKind kind = StampKind::none;
  Time time{};             // as LineHead::time
  std::size_t length = 0;  // bytes that the stamp takes
};

// "2025-06-02T05:02:30.573Z", "2025-06-02 05:02:30,573", "2025/06/02 05:02:30",
// "2025-06-02_05:02:30"
std::optional<Stamp> iso_stamp(std::string_view text);
// "May  4 05:02:30", with a fraction, with a year behind the day or the time.
std::optional<Stamp> rfc3164_stamp(std::string_view text);
// "Wed May 14 14:21:26 2025" (ctime, dmesg -T), with a zone name before the year.
std::optional<Stamp> ctime_stamp(std::string_view text);
// "05:02:30", with a fraction.
std::optional<Stamp> clock_stamp(std::string_view text);
// "1747232486.123456": seconds since 1970 of this century so far.
std::optional<Stamp> epoch_stamp(std::string_view text);
// "414619.932037" with at least three digits of fraction, as behind the '[' of a kernel message.
std::optional<Stamp> uptime_stamp(std::string_view text);
// "0311 02:03:12.597104" or "621 09:16:34.061779398": month and day, as glog writes them behind its
// letter.
std::optional<Stamp> glog_stamp(std::string_view text);
// "10-22 08:01:42": month and day with a clock.
std::optional<Stamp> month_day_stamp(std::string_view text);

// Any of them that needs no letter or bracket before it.
std::optional<Stamp> any_stamp(std::string_view text);

// Microseconds since midnight; the day of `time` at midnight.
Duration time_of_day(Time time);
Time midnight(Time time);

// Yearless stamps are kept in this year: it has a 29 February.
inline constexpr int kNominalYear = 1972;
// The same month, day and clock in another year; nothing where that has no 29 February.
std::optional<Time> in_year(Time nominal, int year);
int year_of(Time time);

}  // namespace nvab
