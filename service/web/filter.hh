// SPDX-License-Identifier: Apache-2.0
// Which runs a page is about: the filters that stand in its address, and their SQL.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/base/sqlite.hh"
#include "common/base/time.hh"
#include "service/http.hh"

namespace nvab {

struct Filter {
  Time from, to;  // of the job's end: [from, to)
  std::string node;
  // Columns of execution_context and run_day, and the value that each must have.
  std::vector<std::pair<std::string_view, std::string>> equal;
};

// From the query: from and to (RFC 3339, or a duration such as 7d before now; default: the last
// seven days), cluster, partition, account, user, state, domain, sub_domain, cause, node. Errors:
// malformed, with the name.
Result<Filter> read_filter(const Request& request, Time now);

// SQL conditions with their values, in order: where.sql() after WHERE, where.bind() on the
// statement.
class Where {
 public:
  // `condition` holds one '?'.
  Where& add(std::string condition, std::string value);
  Where& add(std::string condition, long long value);
  Where& add(std::string condition);
  std::string sql() const;  // "1" where nothing is asked
  // Binds from parameter `first` on; returns the next one.
  int bind(Statement& statement, int first = 1) const;

 private:
  struct Term {
    std::string condition;
    bool has_text = false, has_number = false;
    std::string text;
    long long number = 0;
  };
  std::vector<Term> terms_;
};

// Of execution_context, called c, final ones only.
Where where_contexts(const Filter& filter);
// Of run_day, in whole days. Not for a filter by node or cause, which days do not know.
Where where_days(const Filter& filter);

long long microseconds_of(Time time);

}  // namespace nvab
