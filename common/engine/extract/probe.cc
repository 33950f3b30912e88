// SPDX-License-Identifier: Apache-2.0
// What is known of a stream before it is read: node and rank from its name, and from its first and
// last lines how its clock relates to the job's.
#include <algorithm>
#include <vector>

#include "common/base/text.hh"
#include "common/engine/extract/dialect.hh"
#include "common/engine/extract/head_parts.hh"
#include "common/engine/extract/journal_export.hh"
#include "common/engine/extract/stamp.hh"
#include "common/engine/extract/stream_name.hh"

namespace nvab {
namespace {

// Looked at of each end; more says nothing new.
constexpr std::size_t kMaxProbe = 64 * 1024;
constexpr std::size_t kMaxLines = 400;
// Programs start to log within this time of the job's start, clocks are apart by less.
constexpr Duration kSlack = std::chrono::minutes(5);
constexpr Duration kQuarter = std::chrono::minutes(15);
constexpr Duration kFarthestZone = std::chrono::hours(14);

struct Sample {
  LineHead head;
  std::string_view line;
};

std::vector<std::string_view> lines_of(std::string_view text, bool from_end) {
  std::vector<std::string_view> lines;
  text = from_end ? text.substr(text.size() - std::min(text.size(), kMaxProbe))
                  : text.substr(0, kMaxProbe);
  while (!text.empty() && lines.size() < kMaxLines) {
    const std::size_t end = from_end ? text.find_last_of("\r\n") : text.find_first_of("\r\n");
    const bool whole = end == std::string_view::npos;
    const std::string_view line = from_end ? text.substr(whole ? 0 : end + 1) : text.substr(0, end);
    if (!line.empty()) lines.push_back(line);
    if (whole) break;
    text = from_end ? text.substr(0, end) : text.substr(end + 1);
  }
  if (from_end) std::reverse(lines.begin(), lines.end());
  return lines;
}

// Lines begin with "<number>: " and no number is too large for a task of the job: all of a step's
// output, or (where the script's own output stands in the same file) at least a few lines of it.
bool has_task_labels(const std::vector<std::string_view>& lines, const ExecutionContext& context) {
  constexpr std::size_t kFewLines = 3;
  std::size_t labelled = 0;
  for (std::string_view line : lines) {
    const LineHead head = parse_head(line, Source::applog);
    if (!head.task) continue;
    if (context.ntasks && *head.task >= *context.ntasks) return false;
    ++labelled;
  }
  const bool several_tasks = context.ntasks.value_or(0) > 1;
  return labelled > 0 &&
         (labelled * 10 >= lines.size() * 6 || (several_tasks && labelled >= kFewLines));
}

// Most lines begin with the name of one of the job's nodes and a colon.
bool has_host_labels(const std::vector<std::string_view>& lines, const ExecutionContext& context) {
  std::size_t labelled = 0;
  for (std::string_view line : lines) {
    HeadReader in{line, {}};
    if (!take_host_label(&in)) continue;
    const std::string_view host = in.head.node.substr(0, in.head.node.find('.'));
    labelled += std::any_of(context.nodes.begin(), context.nodes.end(),
                            [&](const std::string& node) {
                              return std::string_view(node).substr(0, node.find('.')) == host;
                            })
                    ? 1
                    : 0;
  }
  return labelled > 0 && labelled * 10 >= lines.size() * 9;
}

bool looks_like_dmesg(const std::vector<std::string_view>& lines) {
  std::size_t kernel = 0;
  for (std::string_view line : lines) {
    const LineHead head = parse_head(line, Source::syslog);
    kernel += head.is_kernel && head.node.empty() && head.stamp != StampKind::none ? 1 : 0;
  }
  return !lines.empty() && kernel * 10 >= lines.size() * 8;
}

// Seconds since 1970 that a kernel line quotes: "audit(1737591038.648:7662)", and the clock being
// set at boot: "setting system clock to 2026-03-01T10:59:58 UTC (1772362798)".
std::optional<Time> quoted_epoch(std::string_view line) {
  std::size_t at = line.find("audit(");
  if (at != std::string_view::npos) {
    const auto stamp = epoch_stamp(line.substr(at + 6));
    return stamp ? std::optional<Time>(stamp->time) : std::nullopt;
  }
  at = line.find("setting system clock to ");
  if (at == std::string_view::npos) return std::nullopt;
  const auto stamp = iso_stamp(line.substr(at + 24));
  return stamp && stamp->kind == StampKind::zoned ? std::optional<Time>(stamp->time) : std::nullopt;
}

std::string plain_sample(const StreamInfo& info, std::string_view text) {
  if (!info.is_journal_export) return std::string(text);
  JournalExport journal(info.source);
  return std::string(journal.feed(text));
}

class Prober {
 public:
  Prober(Source source, const ExecutionContext& context, StreamInfo* info)
      : source_(source), context_(context), info_(*info) {}

  void run(const std::vector<std::string_view>& head, const std::vector<std::string_view>& tail) {
    collect(head, &first_);
    collect(tail, &last_);
    if (first_.empty()) first_ = last_;
    if (last_.empty()) last_ = first_;
    if (first_.empty()) return;
    find_boot();
    find_year();
    find_day();
    find_zone();
  }

 private:
  void collect(const std::vector<std::string_view>& lines, std::vector<Sample>* samples) {
    for (std::string_view line : lines) {
      LineHead head = parse_head(line, source_, info_.head);
      if (head.stamp != StampKind::none) samples->push_back({head, line});
    }
  }

  static const Sample* first_of(const std::vector<Sample>& samples, StampKind kind) {
    const auto found = std::find_if(samples.begin(), samples.end(), [&](const Sample& sample) {
      return sample.head.stamp == kind;
    });
    return found == samples.end() ? nullptr : &*found;
  }

  const Sample* last_of(StampKind kind) const {
    const auto found = std::find_if(last_.rbegin(), last_.rend(), [&](const Sample& sample) {
      return sample.head.stamp == kind;
    });
    return found == last_.rend() ? nullptr : &*found;
  }

  // A line that quotes the wall clock next to its own stamp of `kind`; the difference.
  std::optional<Duration> anchor(StampKind kind) const {
    for (const auto* samples : {&last_, &first_}) {
      for (const Sample& sample : *samples) {
        if (sample.head.stamp != kind) continue;
        const auto epoch = quoted_epoch(sample.line);
        if (!epoch) continue;
        const auto own = kind == StampKind::yearless && info_.year
                             ? in_year(sample.head.time, *info_.year)
                             : sample.head.time;
        if (own) return *own - *epoch;
      }
    }
    return std::nullopt;
  }

  void find_boot() {
    const Sample* last = last_of(StampKind::uptime);
    // The nodes of a collected log were booted at times of their own.
    if (!last || info_.head.host_labels) return;
    if (const auto offset = anchor(StampKind::uptime)) {
      info_.boot = Time{} - *offset;
    } else if (context_.end_time) {
      info_.boot = *context_.end_time - last->head.time.time_since_epoch();
    }
  }

  // The latest year in which the stream does not begin after the job's end.
  void find_year() {
    const Sample* first = first_of(first_, StampKind::yearless);
    if (!first) return;
    const auto reference = context_.end_time ? context_.end_time : context_.start_time;
    if (!reference) {
      for (const Sample& sample : first_) {
        const bool dated =
            sample.head.stamp == StampKind::zoned || sample.head.stamp == StampKind::zoneless;
        if (dated && !info_.year) info_.year = year_of(sample.head.time);
      }
      return;
    }
    // The year that puts most of the sampled lines into the job; a log of a whole year begins and
    // ends near the same date. Where none fall into it: the latest that does not begin after it.
    const int around = year_of(*reference);
    std::size_t most = 0;
    for (int year = around - 2; year <= around + 1; ++year) {
      const std::size_t inside = std::max(inside_job(first_, year), inside_job(last_, year));
      const auto time = in_year(first->head.time, year);
      const bool possible = time && *time <= *reference + std::chrono::hours(24);
      if (inside < most || (!possible && info_.year)) continue;
      info_.year = year;
      most = inside;
    }
  }

  // How many lines fall into the job when the stream's first one is of `year`. `samples` are in
  // order; a date that goes back by more than a day begins another year.
  std::size_t inside_job(const std::vector<Sample>& samples, int year) const {
    constexpr Duration kMargin = std::chrono::hours(1), kNewYear = std::chrono::hours(24);
    const Sample* head = first_of(first_, StampKind::yearless);
    std::size_t inside = 0;
    Time previous = head ? head->head.time : Time::min();
    for (const Sample& sample : samples) {
      if (sample.head.stamp != StampKind::yearless) continue;
      if (sample.head.time + kNewYear < previous) ++year;
      previous = sample.head.time;
      const auto time = in_year(sample.head.time, year);
      inside += time && (!context_.start_time || *time >= *context_.start_time - kMargin) &&
                        (!context_.end_time || *time <= *context_.end_time + kMargin)
                    ? 1
                    : 0;
    }
    return inside;
  }

  void find_day() {
    const Sample* first = first_of(first_, StampKind::time_of_day);
    const auto reference = context_.start_time ? context_.start_time : context_.end_time;
    if (!first || !reference) return;
    const Time same_day = midnight(*reference) + first->head.time.time_since_epoch();
    Time best = same_day;
    for (Duration day : {Duration(std::chrono::hours(-24)), Duration(std::chrono::hours(24))}) {
      if (distance(same_day + day, *reference) < distance(best, *reference)) best = same_day + day;
    }
    info_.day = midnight(best);
  }

  static Duration distance(Time a, Time b) { return a < b ? b - a : a - b; }

  // First and last local time of the stream, as if it were UTC.
  std::optional<std::pair<Time, Time>> local_span() const {
    std::optional<Time> first, last;
    StreamInfo plain = info_;
    plain.zone = Duration(0);
    for (const auto* samples : {&first_, &last_}) {
      for (const Sample& sample : *samples) {
        if (sample.head.stamp == StampKind::zoned || sample.head.stamp == StampKind::uptime)
          continue;
        const auto time = resolve(sample.head, plain, last);
        if (!time) continue;
        if (!first) first = time;
        last = time;
      }
    }
    if (!first) return std::nullopt;
    return std::pair(*first, *last);
  }

  // A clock without a zone: what a line proves; else, for the job's own output, the smallest offset
  // that puts it into the job's window. A system log may well be of another time: it is left alone.
  void find_zone() {
    for (StampKind kind : {StampKind::zoneless, StampKind::yearless}) {
      const auto offset = anchor(kind);
      if (!offset || *offset > kFarthestZone || *offset < -kFarthestZone) continue;
      const auto quarters =
          (offset->count() + (offset->count() < 0 ? -1 : 1) * kQuarter.count() / 2) /
          kQuarter.count();
      info_.zone = quarters * kQuarter;
      return;
    }
    if (source_ != Source::applog || !context_.start_time || !context_.end_time) return;
    const auto span = local_span();
    if (!span) return;
    const auto fits = [&](Duration zone) {
      return span->first - zone >= *context_.start_time - kSlack &&
             span->second - zone <= *context_.end_time + kSlack;
    };
    for (Duration zone{0}; zone <= kFarthestZone; zone += kQuarter) {
      for (Duration signed_zone : {zone, -zone}) {
        if (!fits(signed_zone)) continue;
        info_.zone = signed_zone;
        return;
      }
    }
  }

  Source source_;
  const ExecutionContext& context_;
  StreamInfo& info_;
  std::vector<Sample> first_, last_;
};

}  // namespace

StreamInfo probe_stream(std::string_view name, Source source, std::string_view head,
                        std::string_view tail, const ExecutionContext& context) {
  StreamInfo info;
  info.name = std::string(name);
  info.source = source;
  NamedPlace place = place_from_name(name, source, context);
  info.node = std::move(place.node);
  info.rank = place.rank;
  info.task = place.task;
  info.local_rank = place.local_rank;
  info.app = std::move(place.app);
  // The parts of a line outlive this function only inside `head` and `tail`, so colours are cut out
  // of a copy.
  info.is_journal_export = is_journal_export(head);
  const std::string clean_head = sanitize(plain_sample(info, head.substr(0, kMaxProbe)));
  const std::string clean_tail =
      sanitize(plain_sample(info, tail.substr(tail.size() - std::min(tail.size(), kMaxProbe))));
  const std::vector<std::string_view> first = lines_of(clean_head, false);
  const std::vector<std::string_view> last =
      clean_tail.empty() ? lines_of(clean_head, true) : lines_of(clean_tail, true);
  info.head.host_labels = has_host_labels(first, context);
  info.head.task_labels = source != Source::syslog &&
                          (has_task_labels(first, context) || has_task_labels(last, context));
  info.head.is_dmesg = source == Source::syslog && (place.is_dmesg || looks_like_dmesg(first));
  if (source == Source::syslog) info.trust = info.head.is_dmesg ? Trust::kernel : Trust::system;
  Prober(source, context, &info).run(first, last);
  return info;
}

}  // namespace nvab
