// SPDX-License-Identifier: Apache-2.0
// See loki_pager.hh. A page holds the oldest lines of the window, up to the limit; which of those
// with the last one's time it holds is anybody's guess. So the next page begins at that time, and
// what has come already is passed over.
#include "epilog/log/loki_pager.hh"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "common/base/text.hh"
#include "epilog/body_pipe.hh"
#include "epilog/log/logql.hh"
#include "epilog/log/loki_moment.hh"

namespace nvab {
namespace {

// Windows are cut no shorter; a second that a server cannot read it will not read at all.
constexpr std::int64_t kShortestWindow = 1'000'000'000;
// An answer that broke off is asked for so often.
constexpr int kTries = 3;
// Each halves what is left of the lines of one moment.
constexpr int kMaxMomentDepth = 24;
// Proxies take request lines of 8 KiB.
constexpr std::size_t kMaxUrl = 8000;

bool says_any(std::string_view words, std::initializer_list<std::string_view> phrases) {
  const std::string text = lower(words);
  return std::any_of(phrases.begin(), phrases.end(), [&](std::string_view phrase) {
    return text.find(phrase) != std::string::npos;
  });
}

// The words are those of Loki's own page on errors of queries; "limit > … (5000 > 1000)".
bool wants_smaller_page(std::string_view words) { return says_any(words, {"max entries limit"}); }

bool wants_shorter_window(std::string_view words) {
  return says_any(words, {"time range exceeds the limit", "too many bytes", "too large to execute",
                          "max number of chunks", "request timed out", "context deadline exceeded",
                          "decrease the duration", "received message larger", "exceeding the limit",
                          "resourceexhausted", "max number of series"});
}

bool wants_shorter_query(int status, std::string_view words) {
  return status == 414 || status == 431 ||
         says_any(words, {"streams matchers per query", "query too long", "input size too long",
                          "request-uri too large", "uri too long"});
}

// The server's own limit, as it names it, else half of ours.
int smaller_page(std::string_view words, int page_lines) {
  const std::size_t close = words.rfind(')');
  const std::size_t greater = words.rfind("> ", close);
  if (close != std::string_view::npos && greater != std::string_view::npos) {
    const auto limit = parse_int(trim(words.substr(greater + 2, close - greater - 2)));
    if (limit && *limit > 0 && *limit < page_lines) return static_cast<int>(*limit);
  }
  return page_lines / 2;
}

std::uint64_t hash_of(const LokiLine& line) {
  std::uint64_t hash = std::hash<std::string_view>()(line.text);
  const auto mix = [&hash](std::uint64_t more) {
    hash ^= more + 0x9E3779B97F4A7C15U + (hash << 6) + (hash >> 2);
  };
  mix(static_cast<std::uint64_t>(line.time_ns));
  for (const auto& [name, value] : line.stream) {
    mix(std::hash<std::string>()(name));
    mix(std::hash<std::string>()(value));
  }
  return hash;
}

std::string url_of(const std::string& query, LokiWindow window, int limit) {
  return fmt::format("/loki/api/v1/query_range?direction=forward&limit={}&start={}&end={}&query={}",
                     limit, window.from, window.to, url_escape(query));
}

}  // namespace

void LokiPager::take(const LokiLine& line, LokiWindow window, Page* page) {
  if (line.stream_number == page->stream && line.time_ns < page->previous) {
    page->is_descending = true;
  }
  page->stream = line.stream_number;
  page->previous = line.time_ns;
  if (line.time_ns < window.from || line.time_ns >= window.to) {
    ++usage_.out_of_window;
    return;
  }
  page->last = std::max(page->last, line.time_ns);
  ++page->lines;
  if (keeps_text_) texts_.emplace_back(line.text);
  const std::uint64_t hash = hash_of(line);
  if (const auto found = skipping_.find(hash);
      found != skipping_.end() && found->second.times > 0) {
    --found->second.times;
    ++usage_.repeated;
    return;
  }
  Seen& seen = delivered_[hash];
  seen.time = line.time_ns;
  ++seen.times;
  ++usage_.lines;
  take_(line);
}

Error LokiPager::refused(const std::string& doing, const HttpAnswer& answer) {
  Error error = answer_error(doing, answer);
  const std::string_view words = error.message;
  if (wants_smaller_page(words)) {
    refusal_ = Refusal::page_lines;
    page_lines_ = smaller_page(words, page_lines_);
  } else if (wants_shorter_query(answer.status, words)) {
    refusal_ = Refusal::query;
    error.code = Error::Code::unsupported;
  } else if (wants_shorter_window(words) || answer.status == 504) {
    refusal_ = Refusal::window;
  } else if (says_any(words, {"max_query_lookback"})) {
    error.code = Error::Code::not_found;
  } else if (says_any(words, {"no org id"})) {
    error.code = Error::Code::permission;
    error.message += "; set tenant";
  }
  return error;
}

Result<LokiPager::Page> LokiPager::fetch_once(const std::string& query, LokiWindow window) {
  const std::string doing = "asking " + backend_.url();
  HttpRequest request;
  request.url = url_of(query, window, page_lines_);
  if (backend_.url().size() + request.url.size() > kMaxUrl) {
    refusal_ = Refusal::query;
    return fail(Error::Code::unsupported, doing + ": the query is too long for a URL");
  }
  // Metadata of single lines apart from the labels of their stream; older servers know no such.
  request.headers = {"Accept: application/json",
                     "X-Loki-Response-Encoding-Flags: categorize-labels"};
  Page page;
  LokiAnswer content([&](const LokiLine& line) { take(line, window, &page); });
  Result<bool> parsed = false;
  bool has_body = false;
  auto answer = stream_body(backend_, std::move(request), deadline_, [&](const auto& next) {
    has_body = true;
    parsed = read_json(next, content);
  });
  if (!answer) {
    const bool is_slow = answer.error().code == Error::Code::timeout && !deadline_.passed();
    if (is_slow) refusal_ = Refusal::window;
    return fail(doing, answer.error());
  }
  if (answer->status < 200 || answer->status > 299) {
    return tl::unexpected<Error>(refused(doing, *answer));
  }
  std::string problem = !has_body ? "the answer is empty"
                        : !parsed ? parsed.error().message
                                  : content.problem();
  if (problem.empty() && page.is_descending) problem = "its lines are not in ascending order";
  if (problem.empty() && page.lines == 0 && usage_.out_of_window > 0 && page.stream > 0) {
    problem = "its lines are not of the window that was asked for";
  }
  if (!problem.empty()) {
    return fail(
        Error::Code::malformed,
        fmt::format("{}: the answer ({}) is not one of Loki's: {}", doing,
                    answer->content_type.empty() ? "of no type"
                                                 : excerpt(sanitize(answer->content_type), 60),
                    excerpt(sanitize(problem), 200)));
  }
  for (const std::string& warning : content.warnings()) {
    if (std::count(usage_.warnings.begin(), usage_.warnings.end(), warning) == 0) {
      usage_.warnings.push_back(excerpt(sanitize(warning), 200));
    }
  }
  ++usage_.pages;
  return page;
}

Result<LokiPager::Page> LokiPager::fetch(const std::string& query, LokiWindow window) {
  for (int attempt = 1;; ++attempt) {
    refusal_ = Refusal::none;
    skipping_ = delivered_;
    texts_.clear();
    const std::uint64_t before = usage_.lines + usage_.repeated;
    auto page = fetch_once(query, window);
    // The backend itself repeats what had not begun.
    const bool broke_off = !page && page.error().code == Error::Code::unavailable &&
                           refusal_ == Refusal::none && usage_.lines + usage_.repeated > before;
    if (page || !broke_off || attempt >= kTries || deadline_.passed()) return page;
  }
}

void LokiPager::forget_before(std::int64_t time) {
  std::erase_if(delivered_, [&](const auto& seen) { return seen.second.time < time; });
}

Result<void> LokiPager::read_moment(const std::string& query, std::int64_t time, int depth) {
  keeps_text_ = true;
  auto page = fetch(query, {time, time + 1});
  keeps_text_ = false;
  if (!page && refusal_ == Refusal::page_lines && page_lines_ > 0) {
    return read_moment(query, time, depth);
  }
  if (!page) return tl::unexpected<Error>(page.error());
  if (page->lines < page_lines_) return {};
  const auto split = depth < kMaxMomentDepth ? split_lines(texts_) : std::nullopt;
  if (!split) {
    ++usage_.lost_moments;
    return {};
  }
  const std::string quoted = " \"" + logql_escape(*split) + "\"";
  auto done = read_moment(query + " |~" + quoted, time, depth + 1);
  if (!done) return done;
  return read_moment(query + " !~" + quoted, time, depth + 1);
}

Result<void> LokiPager::read_page(const std::string& query, LokiWindow* slice) {
  auto page = fetch(query, *slice);
  if (!page) return tl::unexpected<Error>(page.error());
  if (page->lines < page_lines_) {
    slice->from = slice->to;
  } else if (page->last > slice->from) {
    slice->from = page->last;
  } else {
    auto done = read_moment(query, slice->from, 0);
    if (!done) return done;
    ++slice->from;
  }
  forget_before(slice->from);
  return {};
}

Result<void> LokiPager::run(const std::string& query, LokiWindow window, Deadline deadline) {
  deadline_ = deadline;
  delivered_.clear();
  ++usage_.queries;
  std::int64_t length = window.to - window.from;
  while (window.from < window.to) {
    if (deadline_.passed()) {
      return fail(Error::Code::timeout, "asking " + backend_.url() + ": the time was over");
    }
    LokiWindow slice{window.from, std::min(window.to, window.from + length)};
    auto done = read_page(query, &slice);
    window.from = slice.from;
    if (done) continue;
    const bool is_shorter = refusal_ == Refusal::window && length > kShortestWindow;
    const bool is_smaller = refusal_ == Refusal::page_lines && page_lines_ > 0;
    if (!is_shorter && !is_smaller) return done;
    if (is_shorter) {
      length = std::max(std::min(length, slice.to - slice.from) / 2, kShortestWindow);
      ++usage_.splits;
    }
  }
  return {};
}

}  // namespace nvab
