// SPDX-License-Identifier: Apache-2.0
// File names are read as words between separators; a job's node may be any run of words, because
// host names hold separators themselves.
#include "common/engine/extract/stream_name.hh"

#include <algorithm>
#include <vector>

#include "common/base/text.hh"
#include "common/engine/extract/head_parts.hh"

namespace nvab {
namespace {

// Longer names are cut: every pair of separators is looked at.
constexpr std::size_t kMaxName = 255;

bool is_separator(char c) {
  return c == '.' || c == '-' || c == '_' || c == '@' || c == ' ' || c == ',';
}

std::vector<std::string_view> words_of(std::string_view name) {
  std::vector<std::string_view> words;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= name.size(); ++i) {
    if (i < name.size() && !is_separator(name[i])) continue;
    if (i > begin) words.push_back(name.substr(begin, i - begin));
    begin = i + 1;
  }
  return words;
}

std::string_view short_host(std::string_view name) { return name.substr(0, name.find('.')); }

// The job's node that `text` names, in whichever of the two the domain stands.
std::string job_node(std::string_view text, const ExecutionContext& context) {
  if (context.has_node(text)) return std::string(text);
  const bool has_domains =
      !context.nodes.empty() && context.nodes.front().find('.') != std::string::npos;
  if (!has_domains) return "";
  for (const std::string& node : context.nodes) {
    if (short_host(node) == text) return node;
  }
  return "";
}

// The longest run of words that is a node of the job.
std::string find_job_node(std::string_view name, const ExecutionContext& context) {
  std::vector<std::size_t> borders{0};
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (is_separator(name[i])) borders.push_back(i + 1);
  }
  std::string best;
  for (std::size_t begin : borders) {
    for (std::size_t next : borders) {
      const std::size_t end = next > begin ? next - 1 : 0;
      if (end <= begin || end - begin <= best.size()) continue;
      std::string node = job_node(name.substr(begin, end - begin), context);
      if (!node.empty()) best = std::move(node);
    }
    if (name.size() - begin <= best.size()) continue;
    std::string node = job_node(name.substr(begin), context);
    if (!node.empty()) best = std::move(node);
  }
  return best;
}

// "rank12", or the words "rank" and "12".
std::optional<int> number_behind(const std::vector<std::string_view>& words,
                                 std::string_view wanted) {
  constexpr std::size_t kDigits = 7;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!starts_with_nocase(words[i], wanted)) continue;
    std::string_view digits = words[i].substr(wanted.size());
    if (digits.empty() && i + 1 < words.size()) digits = words[i + 1];
    std::size_t length = 0;
    const auto number = leading_number(digits, kDigits, &length);
    if (number && length == digits.size()) return number;
  }
  return std::nullopt;
}

void read_words(std::string_view part, NamedPlace* place) {
  const std::vector<std::string_view> words = words_of(part);
  if (words.empty()) return;
  for (std::string_view word : {"localrank", "local"}) {
    if (!place->local_rank && number_behind(words, word))
      place->local_rank = number_behind(words, word);
  }
  const bool local = part.find("local_rank") != std::string_view::npos ||
                     part.find("local-rank") != std::string_view::npos;
  if (local) {
    place->local_rank = number_behind(words, "rank");
  } else if (!place->rank) {
    place->rank = number_behind(words, "rank");
  }
  for (std::string_view word : {"task", "worker", "proc", "process"}) {
    if (!place->task) place->task = number_behind(words, word);
  }
  // WRF and its kin: "rsl.error.0037".
  if (words.size() == 3 && words[0] == "rsl" && !place->rank) {
    std::size_t length = 0;
    place->rank = leading_number(words[2], 7, &length);
  }
}

// The same path flattened into one name: "none_attempt_0_3_stderr.log".
std::optional<int> flat_torchrun_rank(std::string_view name) {
  const std::size_t attempt = name.find("attempt_");
  const std::size_t end = name.find("_std", attempt);
  if (attempt == std::string_view::npos || end == std::string_view::npos) return std::nullopt;
  const std::size_t begin = name.rfind('_', end - 1);
  if (begin == std::string_view::npos || begin < attempt + 8) return std::nullopt;
  std::size_t length = 0;
  const auto rank = leading_number(name.substr(begin + 1), 6, &length);
  return rank && begin + 1 + length == end ? rank : std::nullopt;
}

// torchrun --log-dir: ".../attempt_0/3/stderr.log".
void read_torchrun_path(const std::vector<std::string_view>& parts, NamedPlace* place) {
  if (!place->rank) place->rank = flat_torchrun_rank(parts.back());
  if (parts.size() < 3 || !parts[parts.size() - 3].starts_with("attempt_")) return;
  const std::string_view part = parts[parts.size() - 2];
  std::size_t length = 0;
  const auto local = leading_number(part, 4, &length);
  if (local && length == part.size()) place->local_rank = local;
}

constexpr std::string_view kDaemons[] = {"slurmctld", "slurmdbd", "slurmd",     "slurmstepd",
                                         "opensm",    "kubelet",  "containerd", "munged"};
// What a system log is called besides its host.
constexpr std::string_view kLogWords[] = {"dmesg",  "kern", "kernel",  "log", "messages",
                                          "syslog", "txt",  "journal", "gz",  "zst",
                                          "xz",     "out",  "1"};

std::string other_host(std::string_view base) {
  for (bool again = true; again;) {
    again = false;
    for (std::string_view word : kLogWords) {
      if (base.size() > word.size() + 1 && base.ends_with(word) &&
          is_separator(base[base.size() - word.size() - 1])) {
        base.remove_suffix(word.size() + 1);
        again = true;
      }
      if (base.size() > word.size() + 1 && base.starts_with(word) &&
          is_separator(base[word.size()])) {
        base.remove_prefix(word.size() + 1);
        again = true;
      }
    }
  }
  const bool is_word =
      std::find(std::begin(kLogWords), std::end(kLogWords), base) != std::end(kLogWords);
  return is_word || !is_host_name(base) ? "" : std::string(base);
}

}  // namespace

NamedPlace place_from_name(std::string_view name, Source source, const ExecutionContext& context) {
  NamedPlace place;
  const std::vector<std::string_view> parts = split(name, '/');
  const std::string_view base = parts.back().substr(0, kMaxName);
  place.node = find_job_node(base, context);
  if (source == Source::applog) {
    if (parts.size() > 1) read_words(parts[parts.size() - 2].substr(0, kMaxName), &place);
    read_words(base, &place);
    read_torchrun_path(parts, &place);
    return place;
  }
  for (std::string_view word : words_of(base)) {
    const auto daemon = std::find(std::begin(kDaemons), std::end(kDaemons), word);
    if (daemon != std::end(kDaemons)) place.app = *daemon;
    place.is_dmesg |= word == "dmesg";
  }
  if (place.is_dmesg && place.node.empty()) place.node = other_host(base);
  return place;
}

}  // namespace nvab
