// SPDX-License-Identifier: Apache-2.0
// See filter.hh.
#include "service/web/filter.hh"

#include <fmt/core.h>

#include "common/base/text.hh"

namespace nvab {
namespace {

constexpr Duration kDefaultRange = std::chrono::hours(24 * 7);
constexpr Duration kDay = std::chrono::hours(24);

struct Column {
  std::string_view parameter, column;
};
constexpr Column kColumns[] = {
    {"cluster", "cluster"},       {"partition", "partition"},
    {"account", "account"},       {"user", "user"},
    {"state", "terminal_state"},  {"domain", "domain"},
    {"sub_domain", "sub_domain"}, {"cause", "cause"},
};

Result<std::optional<Time>> read_time(const Request& request, std::string_view name, Time now) {
  const auto text = request.query(name);
  if (!text || text->empty()) return std::optional<Time>();
  if (const auto ago = parse_duration(*text)) return std::optional<Time>(now - *ago);
  if (const auto time = parse_rfc3339(*text)) return std::optional<Time>(*time);
  return fail(
      Error::Code::malformed,
      fmt::format("{} is '{}'; write a time such as 2026-03-01T10:00:00Z, or 7d for seven days ago",
                  name, excerpt(sanitize(*text), 60)));
}

}  // namespace

long long microseconds_of(Time time) { return time.time_since_epoch().count(); }

Result<Filter> read_filter(const Request& request, Time now) {
  Filter filter;
  const auto to = read_time(request, "to", now);
  if (!to) return tl::unexpected(to.error());
  filter.to = to->value_or(now);
  const auto from = read_time(request, "from", now);
  if (!from) return tl::unexpected(from.error());
  filter.from = from->value_or(filter.to - kDefaultRange);
  if (filter.from >= filter.to) {
    return fail(Error::Code::malformed, "from is not before to");
  }
  filter.node = request.query("node").value_or("");
  for (const Column& column : kColumns) {
    const std::string value = request.query(column.parameter).value_or("");
    if (!value.empty()) filter.equal.emplace_back(column.column, value);
  }
  return filter;
}

Where& Where::add(std::string condition, std::string value) {
  terms_.push_back({std::move(condition), true, false, std::move(value), 0});
  return *this;
}

Where& Where::add(std::string condition, long long value) {
  terms_.push_back({std::move(condition), false, true, {}, value});
  return *this;
}

Where& Where::add(std::string condition) {
  terms_.push_back({std::move(condition), false, false, {}, 0});
  return *this;
}

std::string Where::sql() const {
  std::string sql = "1";
  for (const Term& term : terms_) sql += " AND " + term.condition;
  return sql;
}

int Where::bind(Statement& statement, int first) const {
  for (const Term& term : terms_) {
    if (term.has_text) statement.bind(first++, term.text);
    if (term.has_number) statement.bind(first++, term.number);
  }
  return first;
}

Where where_contexts(const Filter& filter) {
  Where where;
  where.add("c.is_final");
  where.add("c.ended_us >= ?", microseconds_of(filter.from));
  where.add("c.ended_us < ?", microseconds_of(filter.to));
  for (const auto& [column, value] : filter.equal)
    where.add(fmt::format("c.{} = ?", column), value);
  if (!filter.node.empty()) {
    where.add("c.id IN (SELECT context_id FROM context_node WHERE node = ?)", filter.node);
  }
  return where;
}

Where where_days(const Filter& filter) {
  Where where;
  where.add("runs > 0");
  where.add("day >= ?", microseconds_of(filter.from) / kDay.count());
  where.add("day <= ?", (microseconds_of(filter.to) - 1) / kDay.count());
  for (const auto& [column, value] : filter.equal) where.add(fmt::format("{} = ?", column), value);
  return where;
}

}  // namespace nvab
