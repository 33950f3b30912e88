// SPDX-License-Identifier: Apache-2.0
// All lines of a LogQL query in a window, forward in time, each once: page by page, in shorter
// windows where the server says that one is too long, and with smaller pages where it wants them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "epilog/http_backend.hh"
#include "epilog/log/loki_answer.hh"

namespace nvab {

// What was asked and came, for reports.
struct LokiUsage {
  std::uint64_t queries = 0;   // that run() was called with
  std::uint64_t pages = 0;     // answers that were taken
  std::uint64_t lines = 0;     // handed on
  std::uint64_t repeated = 0;  // lines that came again at a page's border, or after a break
  std::uint64_t out_of_window = 0;
  std::uint64_t splits = 0;           // windows that were cut because the server said so
  std::uint64_t lost_moments = 0;     // points in time of which not all lines could be had
  std::vector<std::string> warnings;  // of the server: its answers are not complete
};

// From inclusive, to exclusive, in nanoseconds since 1970, as Loki has it.
struct LokiWindow {
  std::int64_t from = 0, to = 0;
};

class LokiPager {
 public:
  // `page_lines`: as many lines are asked for at once; the server may want less.
  LokiPager(HttpBackend& backend, LokiAnswer::Take take, int page_lines)
      : backend_(backend), take_(std::move(take)), page_lines_(page_lines) {}

  // Lines of one stream come in ascending time. What came before any trouble was handed on. Errors:
  // unsupported (the query itself is too long: ask for fewer nodes at once), malformed (the answer,
  // the query), and those of HttpBackend::send() and answer_error().
  Result<void> run(const std::string& query, LokiWindow window, Deadline deadline);

  const LokiUsage& usage() const { return usage_; }
  int page_lines() const { return page_lines_; }

 private:
  // One answer.
  struct Page {
    std::int64_t last = 0;     // the latest time in it
    int lines = 0;             // of the window
    std::uint64_t stream = 0;  // that the line before belonged to, and its time
    std::int64_t previous = 0;
    bool is_descending = false;
  };
  // What the server refused that a smaller request may get.
  enum class Refusal { none, page_lines, window, query };
  struct Seen {
    std::int64_t time = 0;
    int times = 0;
  };
  // Lines by a hash of stream, time and text.
  using SeenLines = std::unordered_map<std::uint64_t, Seen>;

  Result<Page> fetch(const std::string& query, LokiWindow window);
  Result<Page> fetch_once(const std::string& query, LokiWindow window);
  void take(const LokiLine& line, LokiWindow window, Page* page);
  // All lines of one point in time, of which there are more than a page holds.
  Result<void> read_moment(const std::string& query, std::int64_t time, int depth);
  void forget_before(std::int64_t time);
  Result<void> read_page(const std::string& query, LokiWindow* slice);
  Error refused(const std::string& doing, const HttpAnswer& answer);

  HttpBackend& backend_;
  LokiAnswer::Take take_;
  int page_lines_;
  Deadline deadline_;
  LokiUsage usage_;
  Refusal refusal_ = Refusal::none;  // of the last request
  SeenLines delivered_;              // by this page, and by earlier ones at its border
  SeenLines skipping_;               // of those, what has yet to come again in the present try
  bool keeps_text_ = false;
  std::vector<std::string> texts_;  // of the page, where keeps_text_
};

}  // namespace nvab
