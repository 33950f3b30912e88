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
#include <utility>

#include "common/engine/literal_filter.hh"

namespace nvab {
namespace {

struct Entry {
  std::uint32_t hash = 0;  // of the run
  std::uint32_t literal = 0;
  std::int32_t offset = 0;  // of the run in the literal; -1: it begins a byte before it
  // Up to eight folded bytes of the literal around the run, for a quick no, and how far they begin
  // before it.
  std::int32_t before = 0;
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

constexpr std::size_t kRun = LiteralFilter::kRun;
constexpr std::size_t kRuns = LiteralFilter::kStride;
// From this length on all runs that a literal needs lie inside it.
constexpr std::size_t kRoomy = kRun + kRuns - 1;

// How often a run stands in ordinary logs: at most as often as its rarer part.
double run_share(std::string_view run) {
  return std::min(gram_share(run.substr(0, 4)), gram_share(run.substr(1, 4))) / 3;
}

// Where the runs are taken: the place at which they are rarest together.
std::size_t best_place(std::string_view text) {
  std::size_t best = 0;
  double best_share = 1e9;
  for (std::size_t at = 0; at + kRoomy <= text.size(); ++at) {
    double share = 0;
    for (std::size_t i = 0; i < kRuns; ++i) share += run_share(text.substr(at + i, kRun));
    if (share >= best_share) continue;
    best_share = share;
    best = at;
  }
  return best;
}

void look_around(std::string_view text, Entry* entry) {
  constexpr std::size_t kWord = sizeof entry->around;
  const std::size_t room = text.size() < kWord ? 0 : text.size() - kWord;
  const std::size_t begin = std::min(static_cast<std::size_t>(std::max(entry->offset, 0)), room);
  entry->before = entry->offset - static_cast<std::int32_t>(begin);
  entry->around = LiteralFilter::load(text, begin);
  entry->mask = text.size() < kWord ? (1ULL << (8 * text.size())) - 1 : ~0ULL;
  entry->around &= entry->mask;
}

// Entries by the top bits of their hash.
struct EntryTable {
  static constexpr unsigned kBits = 14;
  std::vector<Entry> entries;
  std::vector<std::uint32_t> starts;  // bucket -> first entry

  void sort();
  std::pair<std::uint32_t, std::uint32_t> bucket(std::uint32_t hash) const {
    if (entries.empty()) return {0, 0};
    return {starts[hash >> (32 - kBits)], starts[(hash >> (32 - kBits)) + 1]};
  }
};

// By counting, as it runs at every start.
void EntryTable::sort() {
  starts.assign((1U << kBits) + 1, 0);
  for (const Entry& entry : entries) ++starts[(entry.hash >> (32 - kBits)) + 1];
  for (std::size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
  std::vector<Entry> sorted(entries.size());
  std::vector<std::uint32_t> next(starts.begin(), starts.end() - 1);
  for (const Entry& entry : entries) sorted[next[entry.hash >> (32 - kBits)]++] = entry;
  entries = std::move(sorted);
}

}  // namespace

struct LiteralMatcher::Impl {
  std::vector<OwnedLiteral> literals;
  LiteralFilter filter;
  // Runs inside literals, and those that reach over an edge, by the hash of what is known of them.
  EntryTable runs, open_end, open_start;
  std::vector<std::uint32_t> tiny;  // literals too short for the filter

  void add(std::uint32_t index);
  void add_short(std::uint32_t index);
  void add_entry(EntryTable* table, std::uint32_t hash, std::uint32_t index, std::int32_t offset);
  bool is_at(const Entry& entry, std::string_view bytes, std::size_t from, std::size_t at) const;
  std::size_t find_tiny(std::uint32_t index, std::string_view bytes, std::size_t from) const;
  template <typename Found>
  bool look_up(std::string_view bytes, std::size_t from, std::size_t at, Found&& found) const;
  template <typename Found>
  void walk(std::string_view bytes, std::size_t from, Found&& found) const;
};

void LiteralMatcher::Impl::add_entry(EntryTable* table, std::uint32_t hash, std::uint32_t index,
                                     std::int32_t offset) {
  Entry entry;
  entry.hash = hash;
  entry.literal = index;
  entry.offset = offset;
  look_around(literals[index].literal.text, &entry);
  table->entries.push_back(entry);
}

void LiteralMatcher::Impl::add(std::uint32_t index) {
  choose_place(&literals[index].literal);
  const std::string& text = literals[index].literal.text;
  if (text.size() < kRun) {
    tiny.push_back(index);
    return;
  }
  if (text.size() < kRoomy) return add_short(index);
  const auto place = static_cast<std::size_t>(literals[index].literal.place);
  for (std::size_t i = place; i < place + kRuns; ++i) {
    add_entry(&runs, filter.add(text, i), index, static_cast<std::int32_t>(i));
  }
}

// Five bytes: the run before, the run itself, the run behind. Six: two runs and the one behind.
void LiteralMatcher::Impl::add_short(std::uint32_t index) {
  const std::string& text = literals[index].literal.text;
  const std::size_t inside = text.size() - kRun + 1;
  for (std::size_t i = 0; i < inside; ++i) {
    add_entry(&runs, filter.add(text, i), index, static_cast<std::int32_t>(i));
  }
  add_entry(&open_end, filter.add_open_end(text, inside), index, static_cast<std::int32_t>(inside));
  if (inside + 1 < kRuns) add_entry(&open_start, filter.add_open_start(text, 0), index, -1);
}

bool LiteralMatcher::Impl::is_at(const Entry& entry, std::string_view bytes, std::size_t from,
                                 std::size_t at) const {
  const std::string& text = literals[entry.literal].literal.text;
  const auto start = static_cast<std::ptrdiff_t>(at) - entry.offset;
  if (start < static_cast<std::ptrdiff_t>(from)) return false;
  if (text.size() > bytes.size() - static_cast<std::size_t>(start)) return false;
  const auto around = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(at) - entry.before);
  if ((LiteralFilter::load(bytes, around) & entry.mask) != entry.around) return false;
  const Literal& literal = literals[entry.literal].literal;
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

// Calls found(start, literal) for each literal around the run at `at`; stops when that returns
// true.
template <typename Found>
bool LiteralMatcher::Impl::look_up(std::string_view bytes, std::size_t from, std::size_t at,
                                   Found&& found) const {
  const auto search = [&](const EntryTable& table, std::uint32_t hash) {
    const auto [first, last] = table.bucket(hash);
    for (std::uint32_t i = first; i < last; ++i) {
      const Entry& entry = table.entries[i];
      if (entry.hash != hash || !is_at(entry, bytes, from, at)) continue;
      const auto start = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(at) - entry.offset);
      if (found(start, entry.literal)) return true;
    }
    return false;
  };
  const std::uint64_t word = LiteralFilter::load(bytes, at);
  if (search(runs, LiteralFilter::hash_of(word))) return true;
  return search(open_end, LiteralFilter::known_hash_of(word)) ||
         search(open_start, LiteralFilter::known_hash_of(word >> 8));
}

// Calls found(start, literal) for literals in about their order, line by line, until that returns
// true. Few places at first: what is found beyond the one that ends the walk is looked for again.
template <typename Found>
void LiteralMatcher::Impl::walk(std::string_view bytes, std::size_t from, Found&& found) const {
  LiteralFilter::Places places;
  places.limit = 2 * LiteralFilter::kMaxStep;
  for (std::size_t at = from; at < bytes.size(); places.limit = LiteralFilter::Places::kRoom) {
    at = filter.collect(bytes, at, &places);
    for (std::size_t i = 0; i < places.count; ++i) {
      if (look_up(bytes, from, places.place(i), found)) return;
    }
  }
}

LiteralMatcher::LiteralMatcher(std::span<const OwnedLiteral> literals)
    : impl_(std::make_unique<Impl>()) {
  impl_->literals.assign(literals.begin(), literals.end());
  for (std::uint32_t i = 0; i < impl_->literals.size(); ++i) impl_->add(i);
  for (EntryTable* table : {&impl_->runs, &impl_->open_end, &impl_->open_start}) table->sort();
}

LiteralMatcher::~LiteralMatcher() = default;

void LiteralMatcher::choose_place(Literal* literal) {
  if (literal->text.size() < kRoomy) return;
  const bool is_set = literal->place >= 0 &&
                      static_cast<std::size_t>(literal->place) + kRoomy <= literal->text.size();
  if (!is_set) literal->place = static_cast<int>(best_place(literal->text));
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
