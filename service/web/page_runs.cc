// SPDX-License-Identifier: Apache-2.0
// Lists of runs, the search, and one run.
#include <fmt/core.h>

#include "common/base/text.hh"
#include "service/web/pages.hh"

namespace nvab {
namespace {

// Of one kind of hit, so that a word that stands in every log does not cost a second.
constexpr int kMaxHits = 20'000;
// Words of a search; more is a pasted text.
constexpr std::size_t kMaxWords = 12;

// Each word in quotes, so that nothing in it is an operator of FTS5.
std::string fts_query(const std::string& search) {
  std::string query;
  std::size_t words = 0;
  for (const std::string_view word : split(search, ' ')) {
    if (word.empty()) continue;
    if (++words > kMaxWords) break;
    query += query.empty() ? "\"" : " \"";
    for (const char c : word) query += c == '"' ? std::string("\"\"") : std::string(1, c);
    query += '"';
  }
  return query;
}

// The contexts that a search finds, whatever kind of thing it names. Parameters: the text six
// times, the text as a query of FTS5.
std::string hits_sql() {
  return fmt::format(
      "WITH found (id) AS ("
      "SELECT id FROM (SELECT id FROM execution_context WHERE job_id = ? LIMIT {0})"
      " UNION SELECT id FROM (SELECT id FROM execution_context WHERE user = ? ORDER BY ended_us "
      "DESC LIMIT {0})"
      " UNION SELECT context_id FROM (SELECT context_id FROM context_node WHERE node = ? ORDER BY "
      "context_id DESC LIMIT {0})"
      " UNION SELECT r.context_id FROM (SELECT run_id FROM run_gpu WHERE uuid = ? ORDER BY run_id "
      "DESC LIMIT {0}) g"
      " JOIN attribution_run r ON r.id = g.run_id"
      " UNION SELECT r.context_id FROM (SELECT run_id FROM run_rule WHERE rule = ? ORDER BY run_id "
      "DESC LIMIT {0}) u"
      " JOIN attribution_run r ON r.id = u.run_id"
      " UNION SELECT r.context_id FROM (SELECT rowid FROM run_text WHERE run_text MATCH ? ORDER BY "
      "rowid DESC LIMIT {0}) t"
      " JOIN attribution_run r ON r.id = t.rowid) ",
      kMaxHits);
}

// "ENDED_US,ID" of the last row of the page before.
struct Cursor {
  long long ended_us = 0, id = 0;
};
std::optional<Cursor> cursor_from(const std::string& text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string::npos) return std::nullopt;
  const auto ended = parse_int(text.substr(0, comma));
  const auto id = parse_int(text.substr(comma + 1));
  if (!ended || !id) return std::nullopt;
  return Cursor{*ended, *id};
}

Json row_json(const Statement& row) {
  const auto time = [&](int column) {
    const auto us = row.maybe_integer(column);
    return us ? Json::of(Time(Duration(*us))) : Json();
  };
  return Json::object()
      .set("run_id", Json::of(row.integer(0)))
      .set("cluster", Json::of(row.text(3)))
      .set("job_id", Json::of(row.text(4)))
      .set("attempt", Json::of(row.integer(5)))
      .set("name", Json::of(row.text(6)))
      .set("user", Json::of(row.text(7)))
      .set("account", Json::of(row.text(8)))
      .set("partition", Json::of(row.text(9)))
      .set("start", time(10))
      .set("end", time(2))
      .set("nodes", Json::of(row.integer(11)))
      .set("terminal_state", Json::of(row.text(12)))
      .set("domain", Json::of(row.text(13)))
      .set("sub_domain", Json::of(row.text(14)))
      .set("title", Json::of(row.text(15)))
      .set("cause", Json::of(row.text(16)))
      .set("confidence", Json::of(row.real(17)))
      .set("action", Json::of(row.text(18)))
      .set("evidence_status", Json::of(row.text(19)));
}

// The columns that row_json() reads.
constexpr const char* kColumns =
    "r.id, c.id, c.ended_us, c.cluster, c.job_id, c.attempt, c.name, c.user, c.account, "
    "c.partition, c.start_us,"
    " c.node_count, r.terminal_state, r.domain, r.sub_domain, r.title, r.cause, r.confidence, "
    "r.action,"
    " r.evidence_status";

Result<Json> attempts_of(Db& db, const std::string& cluster, const std::string& job_id) {
  auto query = db.prepare(fmt::format(
      "SELECT {}, r.created_us FROM execution_context c JOIN attribution_run r ON r.context_id = "
      "c.id"
      " WHERE c.job_id = ? AND c.cluster = ? ORDER BY c.submit_us, c.attempt, r.id LIMIT 200",
      kColumns));
  if (!query) return tl::unexpected(query.error());
  query->bind(1, job_id).bind(2, cluster);
  Json attempts = Json::array();
  for (;;) {
    const auto more = query->step();
    if (!more) return tl::unexpected(more.error());
    if (!*more) return attempts;
    attempts.push(row_json(*query).set("judged", Json::of(Time(Duration(query->integer(20))))));
  }
}

}  // namespace

Result<Json> runs_page(Db& db, const Filter& filter, const RunsQuery& query) {
  Where where = where_contexts(filter);
  if (const auto cursor = cursor_from(query.after)) {
    where.add(fmt::format("(c.ended_us, c.id) < ({}, {})", cursor->ended_us, cursor->id));
  }
  const std::string search(trim(query.search));
  const std::string words = fts_query(search);
  const bool is_search = !words.empty();
  auto list = db.prepare(fmt::format(
      "{}SELECT {} FROM {} JOIN attribution_run r ON r.id = c.latest_run_id WHERE {} ORDER BY "
      "c.ended_us DESC, c.id DESC"
      " LIMIT {}",
      is_search ? hits_sql() : "", kColumns,
      is_search ? "found CROSS JOIN execution_context c ON c.id = found.id" : "execution_context c",
      where.sql(), query.limit + 1));
  if (!list) return tl::unexpected(list.error());
  int next = 1;
  if (is_search) {
    for (; next <= 5; ++next) list->bind(next, search);
    list->bind(next++, words);
  }
  where.bind(*list, next);
  Json runs = Json::array();
  std::string cursor, last;
  for (;;) {
    const auto more = list->step();
    if (!more) return tl::unexpected(more.error());
    if (!*more) break;
    if (runs.size() == query.limit) {
      cursor = last;
      continue;
    }
    runs.push(row_json(*list));
    last = fmt::format("{},{}", list->integer(2), list->integer(1));
  }
  Json page = Json::object();
  page.set("from", Json::of(filter.from)).set("to", Json::of(filter.to));
  page.set("runs", std::move(runs)).set("after", cursor.empty() ? Json() : Json::of(cursor));
  return page;
}

Result<std::optional<Json>> run_page(Db& db, long long run_id) {
  auto query = db.prepare(
      "SELECT r.result_json, c.cluster, c.job_id, c.context_key, r.created_us, c.latest_run_id "
      "FROM attribution_run r"
      " JOIN execution_context c ON c.id = r.context_id WHERE r.id = ?");
  if (!query) return tl::unexpected(query.error());
  query->bind(1, run_id);
  const auto row = query->step();
  if (!row) return tl::unexpected(row.error());
  if (!*row) return std::optional<Json>();
  auto result = Json::parse(query->text(0));
  if (!result) return fail("the stored result of run " + std::to_string(run_id), result.error());
  auto attempts = attempts_of(db, query->text(1), query->text(2));
  if (!attempts) return tl::unexpected(attempts.error());
  Json page = Json::object();
  page.set("run_id", Json::of(run_id)).set("context_key", Json::of(query->text(3)));
  page.set("judged", Json::of(Time(Duration(query->integer(4)))));
  page.set("is_latest", Json::of(query->integer(5) == run_id));
  page.set("result", std::move(*result)).set("attempts", std::move(*attempts));
  return std::optional<Json>(std::move(page));
}

Result<Json> choices_page(Db& db, const Filter& filter) {
  Json page = Json::object();
  Filter range = filter;
  range.equal.clear();
  const Where where = where_days(range);
  for (const char* column : {"cluster", "partition", "account", "user", "sub_domain"}) {
    auto query = db.prepare(fmt::format(
        "SELECT {0}, sum(runs) FROM run_day WHERE {1} GROUP BY 1 ORDER BY 2 DESC LIMIT 200", column,
        where.sql()));
    if (!query) return tl::unexpected(query.error());
    where.bind(*query);
    Json values = Json::array();
    for (;;) {
      const auto more = query->step();
      if (!more) return tl::unexpected(more.error());
      if (!*more) break;
      if (!query->text(0).empty()) values.push(Json::of(query->text(0)));
    }
    page.set(column, std::move(values));
  }
  return page;
}

}  // namespace nvab
