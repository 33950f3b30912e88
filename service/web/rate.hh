// SPDX-License-Identifier: Apache-2.0
// How sure a failure rate is: few failures in few hours say little. Poisson intervals by the
// chi-squared distribution (Garwood 1936), with Wilson and Hilferty's approximation of it (1931):
// within 3 % from two failures on. The lower bound of a single failure has a closed form.
#pragma once

#include <algorithm>
#include <cmath>

namespace nvab {

struct Rate {
  double value = 0, low = 0, high = 0;  // failures an hour; low and high bound the middle 90 %
};

inline double chi_squared_quantile(double degrees, double z) {
  const double part = 2.0 / (9.0 * degrees);
  return degrees * std::pow(std::max(0.0, 1.0 - part + z * std::sqrt(part)), 3);
}

// All 0 where there were no hours.
inline Rate failure_rate(long long failures, double hours) {
  constexpr double kZ95 = 1.6448536269514722;      // of the normal distribution, one side
  constexpr double kOneLow = 0.05129329438755058;  // -ln(0.95)
  if (hours <= 0) return {};
  const auto k = static_cast<double>(std::max(0LL, failures));
  Rate rate;
  rate.value = k / hours;
  rate.low = k > 1 ? chi_squared_quantile(2 * k, -kZ95) / 2 / hours : k * kOneLow / hours;
  rate.high = chi_squared_quantile(2 * k + 2, kZ95) / 2 / hours;
  return rate;
}

}  // namespace nvab
