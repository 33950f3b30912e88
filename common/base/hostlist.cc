// SPDX-License-Identifier: Apache-2.0
// Hostlist expressions, read as Slurm writes them and written as Slurm reads them.
#include "common/base/hostlist.hh"

#include <algorithm>
#include <set>

#include "common/base/text.hh"

namespace nvab {
namespace {

// The longest DNS name; a longer "host" times many ranges would fill memory.
constexpr std::size_t kMaxHostName = 253;
// Numbers in names are counters or rack codes; 18 digits always fit a long long.
constexpr std::size_t kMaxDigits = 18;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

tl::unexpected<Error> malformed(std::string_view expression, const std::string& what) {
  return fail(Error::Code::malformed,
              "reading the hostlist '" + excerpt(sanitize(expression), 80) + "': " + what);
}

std::string padded(long long number, std::size_t width) {
  std::string digits = std::to_string(number);
  if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return digits;
}

// "001-064" or "070": appends the numbers as text; false when it is no range or too long a one.
bool expand_range(std::string_view range, std::vector<std::string>& out) {
  const std::size_t dash = range.find('-');
  const std::string_view low = range.substr(0, dash);
  const std::string_view high = dash == std::string_view::npos ? low : range.substr(dash + 1);
  if (low.size() > kMaxDigits || high.size() > kMaxDigits) return false;
  if (!std::all_of(low.begin(), low.end(), is_digit)) return false;
  if (!std::all_of(high.begin(), high.end(), is_digit)) return false;
  const auto first = parse_int(low);
  const auto last = parse_int(high);
  if (!first || !last || *last < *first) return false;
  if (static_cast<std::size_t>(*last - *first) >= kMaxHosts - std::min(out.size(), kMaxHosts)) {
    return false;
  }
  for (long long n = *first; n <= *last; ++n) out.push_back(padded(n, low.size()));
  return true;
}

// One element of the list ("rack[1-2]n[01-04]-ib"), brackets from left to right.
Result<std::vector<std::string>> expand_element(std::string_view element, std::string_view all) {
  std::vector<std::string> names{""};
  for (std::string_view rest = element; !rest.empty();) {
    const std::size_t open = rest.find('[');
    for (std::string& name : names) name += rest.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = rest.find(']', open);
    if (close == std::string_view::npos) return malformed(all, "a bracket is not closed");
    std::vector<std::string> numbers;
    for (const std::string_view range : split(rest.substr(open + 1, close - open - 1), ',')) {
      if (!expand_range(range, numbers)) {
        return malformed(all, "'" + excerpt(sanitize(range), 40) +
                                  "' is not a rising range of numbers of a bearable length");
      }
    }
    if (numbers.size() > kMaxHosts / names.size()) return malformed(all, "it names too many hosts");
    std::vector<std::string> product;
    product.reserve(names.size() * numbers.size());
    for (const std::string& name : names) {
      for (const std::string& number : numbers) product.push_back(name + number);
    }
    names = std::move(product);
    rest.remove_prefix(close + 1);
  }
  return names;
}

// The end of the element that begins at `text`: the first comma outside brackets.
std::size_t element_end(std::string_view text) {
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') inside = true;
    if (text[i] == ']') inside = false;
    if (text[i] == ',' && !inside) return i;
  }
  return text.size();
}

bool is_host_text(std::string_view element) {
  return std::none_of(element.begin(), element.end(),
                      [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7F; });
}

// "node007" as "node", "007"; no digits where there are none or too many.
std::pair<std::string_view, std::string_view> split_number(std::string_view host) {
  std::size_t begin = host.size();
  while (begin > 0 && is_digit(host[begin - 1])) --begin;
  if (host.size() - begin > kMaxDigits) return {host, {}};
  return {host.substr(0, begin), host.substr(begin)};
}

bool is_padded(std::string_view digits) { return digits.size() > 1 && digits.front() == '0'; }

// Sorted by prefix, then width, then number, each host once. A number without a leading zero goes
// with the padded ones of its width where there are some: 08, 09, 10 are one range, and so are
// 8, 9, 10, but 8 and 09 are not.
void sort_for_folding(std::vector<std::string>& hosts) {
  std::set<std::pair<std::string, std::size_t>> widths;
  for (const std::string& host : hosts) {
    const auto [prefix, digits] = split_number(host);
    if (is_padded(digits)) widths.emplace(prefix, digits.size());
  }
  const auto width_of = [&](std::string_view prefix, std::string_view digits) {
    return widths.contains({std::string(prefix), digits.size()}) ? digits.size() : 0;
  };
  std::sort(hosts.begin(), hosts.end(), [&](const std::string& a, const std::string& b) {
    const auto [a_prefix, a_digits] = split_number(a);
    const auto [b_prefix, b_digits] = split_number(b);
    if (a_prefix != b_prefix) return host_less(a_prefix, b_prefix);
    const std::size_t a_width = width_of(a_prefix, a_digits);
    const std::size_t b_width = width_of(b_prefix, b_digits);
    if (a_width != b_width) return a_width < b_width;
    return host_less(a, b);
  });
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
}

// The ranges of hosts that share a prefix and are sorted for folding: "1-3,007".
std::string fold_numbers(std::span<const std::string> hosts) {
  std::string out;
  for (std::size_t i = 0; i < hosts.size();) {
    const std::string_view first = split_number(hosts[i]).second;
    std::string_view last = first;
    std::size_t next = i + 1;
    for (; next < hosts.size(); ++next) {
      const std::string_view digits = split_number(hosts[next]).second;
      if (digits != padded(*parse_int(last) + 1, first.size())) break;
      last = digits;
    }
    if (!out.empty()) out += ',';
    out += first;
    if (next > i + 1) out += "-" + std::string(last);
    i = next;
  }
  return out;
}

std::string_view take_number(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  return digits;
}

}  // namespace

Result<std::vector<std::string>> expand_hostlist(std::string_view expression) {
  std::vector<std::string> hosts;
  for (std::string_view rest = trim(expression); !rest.empty();) {
    const std::size_t end = element_end(rest);
    const std::string_view element = trim(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (element.empty()) continue;
    if (element.size() > kMaxHosts) return malformed(expression, "a name is too long");
    if (!is_host_text(element)) return malformed(expression, "a name holds a blank");
    auto names = expand_element(element, expression);
    if (!names) return names;
    for (std::string& name : *names) {
      if (name.find(']') != std::string::npos) return malformed(expression, "a stray ']'");
      if (name.size() > kMaxHostName) return malformed(expression, "a name is too long");
      if (hosts.size() >= kMaxHosts) return malformed(expression, "it names too many hosts");
      hosts.push_back(std::move(name));
    }
  }
  return hosts;
}

std::string fold_hostlist(std::span<const std::string> hosts) {
  std::vector<std::string> sorted(hosts.begin(), hosts.end());
  sort_for_folding(sorted);
  std::string out;
  for (std::size_t i = 0; i < sorted.size();) {
    const auto [prefix, digits] = split_number(sorted[i]);
    std::size_t next = i + 1;
    while (next < sorted.size() && !digits.empty()) {
      const auto other = split_number(sorted[next]);
      if (other.first != prefix || other.second.empty()) break;
      ++next;
    }
    if (!out.empty()) out += ',';
    if (next == i + 1) {
      out += sorted[i];
    } else {
      out += std::string(prefix) + "[" + fold_numbers(std::span(sorted).subspan(i, next - i)) + "]";
    }
    i = next;
  }
  return out;
}

bool host_less(std::string_view a, std::string_view b) {
  std::string_view x = a, y = b;
  while (!x.empty() && !y.empty()) {
    if (is_digit(x.front()) && is_digit(y.front())) {
      const std::string_view m = take_number(x), n = take_number(y);
      if (m.size() != n.size()) return m.size() < n.size();
      if (m != n) return m < n;
    } else {
      if (x.front() != y.front()) return x.front() < y.front();
      x.remove_prefix(1);
      y.remove_prefix(1);
    }
  }
  if (x.empty() != y.empty()) return x.empty();
  return a < b;  // "n1" and "n01": equal as numbers, but not the same host
}

void sort_hosts(std::vector<std::string>& hosts) {
  std::sort(hosts.begin(), hosts.end(), host_less);
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
}

}  // namespace nvab
