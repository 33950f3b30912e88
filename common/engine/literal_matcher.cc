// SPDX-License-Identifier: Apache-2.0
// A literal of seven bytes or more holds three consecutive runs of five bytes, so one of every
// three places in a text is enough to meet one of them. The run at such a place is hashed into a
// bitmap; the few places in a hundred that pass are looked up, and the literals that hold the run
// there are compared. Which three runs of a literal are taken is free: those that ordinary logs
// hold least. Shorter literals want every second place as well, and are best avoided.
//
// (Hyperscan in literal mode was tried first: with the four thousand literals of the built-in rules
// it takes a hundred milliseconds to compile and scans slower than this.)
#include "common/engine/literal_matcher.hh"

#include <algorithm>
#include <cstring>

#include "common/engine/literal_filter.hh"

namespace nvab {
namespace {

struct Entry {
  std::uint32_t hash = 0;  // of the run
  std::uint32_t literal = 0;
  std::uint32_t offset = 0;  // of the run in the literal
  // Up to eight folded bytes of the literal around the run, for a quick no, and how far they begin
  // before it.
  std::uint32_t before = 0;
  std::uint64_t around = 0;
  std::uint64_t mask = 0;
};

bool equal_folded(const char* text, const std::string& lower_case) {
  for (std::size_t i = 0; i < lower_case.size(); ++i) {
    const char c = text[i];
    const char low = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
    if (low != lower_case[i]) return false;
  }
  return true;
}

// How often a run of that many bytes stands in ordinary logs: at most as often as its rarest part.
double run_share(std::string_view run) {
  const double first = gram_share(run.substr(0, 4));
  return run.size() == 4 ? first : std::min(first, gram_share(run.substr(1, 4))) / 3;
}

// Where the runs are taken: the place at which they are rarest together.
std::size_t best_place(std::string_view text, std::size_t runs, std::size_t length) {
  std::size_t best = 0;
  double best_share = 1e9;
  for (std::size_t at = 0; at + runs - 1 + length <= text.size(); ++at) {
    double share = 0;
    for (std::size_t i = 0; i < runs; ++i) share += run_share(text.substr(at + i, length));
    if (share >= best_share) continue;
    best_share = share;
    best = at;
  }
  return best;
}

// How many runs of which length a literal is looked for with; none when it is too short for that.
struct Runs {
  std::size_t count = 0, length = 0;
};

Runs runs_of(std::string_view text) {
  if (text.size() >= LiteralFilter::kRun + LiteralFilter::kStride - 1) {
    return {LiteralFilter::kStride, LiteralFilter::kRun};
  }
  if (text.size() < LiteralFilter::kShortRun + LiteralFilter::kShortStride - 1) return {};
  return {LiteralFilter::kShortStride, LiteralFilter::kShortRun};
}

void look_around(std::string_view text, Entry* entry) {
  constexpr std::size_t kWord = sizeof entry->around;
  const std::size_t room = text.size() < kWord ? 0 : text.size() - kWord;
  const std::size_t begin = std::min<std::size_t>(entry->offset, room);
  entry->before = static_cast<std::uint32_t>(entry->offset - begin);
  entry->around = LiteralFilter::load(text, begin);
  entry->mask = text.size() < kWord ? (1ULL << (8 * text.size())) - 1 : ~0ULL;
  entry->around &= entry->mask;
}

}  // namespace

struct LiteralMatcher::Impl {
  std::vector<OwnedLiteral> literals;
  LiteralFilter filter;
  // By hash; those of short literals apart, they are met at other places.
  std::vector<Entry> entries, short_entries;
  std::vector<std::uint32_t> buckets, short_buckets;  // top bits of the hash -> first entry
  std::vector<std::uint32_t> tiny;                    // literals too short for any filter

  void add(std::uint32_t index);
  static void sort(std::vector<Entry>* list, std::vector<std::uint32_t>* starts);
  bool is_at(const Entry& entry, std::string_view bytes, std::size_t from, std::size_t at) const;
  std::size_t find_tiny(std::uint32_t index, std::string_view bytes, std::size_t from) const;
  template <typename Found>
  bool look_up(std::string_view bytes, std::size_t from, std::size_t at, Found&& found) const;
  template <typename Found>
  void walk(std::string_view bytes, std::size_t from, Found&& found) const;
};

constexpr unsigned kBucketBits = 14;

void LiteralMatcher::Impl::add(std::uint32_t index) {
  choose_place(&literals[index].literal);
  const std::string& text = literals[index].literal.text;
  const Runs runs = runs_of(text);
  if (runs.count == 0) {
    tiny.push_back(index);
    return;
  }
  const auto place = static_cast<std::size_t>(literals[index].literal.place);
  const bool is_short = runs.length == LiteralFilter::kShortRun;
  for (std::size_t i = place; i < place + runs.count; ++i) {
    const std::uint32_t hash = is_short ? filter.add_short(text, i) : filter.add(text, i);
    Entry entry{hash, index, static_cast<std::uint32_t>(i)};
    look_around(text, &entry);
    (is_short ? short_entries : entries).push_back(entry);
  }
}

void LiteralMatcher::Impl::sort(std::vector<Entry>* list, std::vector<std::uint32_t>* starts) {
  std::sort(list->begin(), list->end(), [](const Entry& a, const Entry& b) {
    return a.hash != b.hash ? a.hash < b.hash : a.literal < b.literal;
  });
  starts->assign((1U << kBucketBits) + 1, 0);
  for (const Entry& entry : *list) ++(*starts)[(entry.hash >> (32 - kBucketBits)) + 1];
  for (std::size_t i = 1; i < starts->size(); ++i) (*starts)[i] += (*starts)[i - 1];
}

bool LiteralMatcher::Impl::is_at(const Entry& entry, std::string_view bytes, std::size_t from,
                                 std::size_t at) const {
  if (at < from + entry.offset) return false;
  if ((LiteralFilter::load(bytes, at - entry.before) & entry.mask) != entry.around) return false;
  const Literal& literal = literals[entry.literal].literal;
  const std::size_t start = at - entry.offset;
  if (literal.text.size() > bytes.size() - start) return false;
  if (literal.caseless) return equal_folded(bytes.data() + start, literal.text);
  return std::memcmp(bytes.data() + start, literal.text.data(), literal.text.size()) == 0;
}

std::size_t LiteralMatcher::Impl::find_tiny(std::uint32_t index, std::string_view bytes,
                                            std::size_t from) const {
  const Literal& literal = literals[index].literal;
  if (!literal.caseless) return bytes.find(literal.text, from);
  for (std::size_t at = from; at + literal.text.size() <= bytes.size(); ++at) {
    if (equal_folded(bytes.data() + at, literal.text)) return at;
  }
  return npos;
}

// Calls found(literal) for each literal around the run at `at`; stops when that returns true.
template <typename Found>
bool LiteralMatcher::Impl::look_up(std::string_view bytes, std::size_t from, std::size_t at,
                                   Found&& found) const {
  const auto search = [&](const std::vector<Entry>& list, const std::vector<std::uint32_t>& starts,
                          std::uint32_t hash) {
    const std::uint32_t bucket = hash >> (32 - kBucketBits);
    for (std::uint32_t i = starts[bucket]; i < starts[bucket + 1]; ++i) {
      if (list[i].hash == hash && is_at(list[i], bytes, from, at) && found(list[i].literal))
        return true;
    }
    return false;
  };
  const std::uint64_t word = LiteralFilter::load(bytes, at);
  if (search(entries, buckets, LiteralFilter::hash_of(word))) return true;
  return filter.has_short() &&
         search(short_entries, short_buckets, LiteralFilter::short_hash_of(word));
}

// Calls found(place, literal) for literals in order of the places, until that returns true. Few
// places at first: what is found beyond the one that ends the walk is looked for again.
template <typename Found>
void LiteralMatcher::Impl::walk(std::string_view bytes, std::size_t from, Found&& found) const {
  LiteralFilter::Places places;
  places.limit = 2 * LiteralFilter::kMaxStep;
  for (std::size_t at = from; at < bytes.size(); places.limit = LiteralFilter::Places::kRoom) {
    at = filter.collect(bytes, at, &places);
    for (std::size_t i = 0; i < places.count; ++i) {
      const std::size_t place = places.place(i);
      if (look_up(bytes, from, place, [&](std::uint32_t literal) { return found(place, literal); }))
        return;
    }
  }
}

LiteralMatcher::LiteralMatcher(std::span<const OwnedLiteral> literals)
    : impl_(std::make_unique<Impl>()) {
  impl_->literals.assign(literals.begin(), literals.end());
  for (std::uint32_t i = 0; i < impl_->literals.size(); ++i) impl_->add(i);
  Impl::sort(&impl_->entries, &impl_->buckets);
  Impl::sort(&impl_->short_entries, &impl_->short_buckets);
}

LiteralMatcher::~LiteralMatcher() = default;

void LiteralMatcher::choose_place(Literal* literal) {
  const Runs runs = runs_of(literal->text);
  const bool is_set = literal->place >= 0 &&
                      static_cast<std::size_t>(literal->place) + runs.count - 1 + runs.length <=
                          literal->text.size();
  if (is_set || runs.count == 0) return;
  literal->place = static_cast<int>(best_place(literal->text, runs.count, runs.length));
}

std::size_t LiteralMatcher::next(std::string_view bytes, std::size_t from) const {
  std::size_t place = npos;
  impl_->walk(bytes, from, [&](std::size_t at, std::uint32_t) {
    place = at;
    return true;
  });
  for (std::uint32_t index : impl_->tiny)
    place = std::min(place, impl_->find_tiny(index, bytes, from));
  return place;
}

void LiteralMatcher::owners(std::string_view text, std::vector<std::uint32_t>* owners) const {
  const auto old_size = static_cast<std::ptrdiff_t>(owners->size());
  impl_->walk(text, 0, [&](std::size_t, std::uint32_t literal) {
    owners->push_back(impl_->literals[literal].owner);
    return false;
  });
  for (std::uint32_t index : impl_->tiny) {
    if (impl_->find_tiny(index, text, 0) != npos) owners->push_back(impl_->literals[index].owner);
  }
  std::sort(owners->begin() + old_size, owners->end());
  owners->erase(std::unique(owners->begin() + old_size, owners->end()), owners->end());
}

}  // namespace nvab
