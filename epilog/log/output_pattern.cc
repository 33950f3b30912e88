// SPDX-License-Identifier: Apache-2.0
// See output_pattern.hh.
#include "epilog/log/output_pattern.hh"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "common/base/text.hh"

namespace nvab {
namespace {

// Slurm pads to ten digits at most.
constexpr long long kMaxWidth = 10;
// NO_VAL, which Slurm prints where there is no array.
constexpr long long kNoArrayTask = 4294967294;

std::string padded(long long number, int width) { return fmt::format("{:0{}}", number, width); }

std::string short_host(std::string_view node) {
  return std::string(node.substr(0, node.find('.')));
}

// What the letter stands for; nothing where Slurm leaves it as it is.
std::optional<std::string> value_of(char letter, int width, const PatternValues& v, bool newer) {
  switch (letter) {
    case 'j':
      return padded(v.job_id, width);
    case 'J':
      return v.step == "batch" ? padded(v.job_id, width)
                               : fmt::format("{}.{}", padded(v.job_id, width), v.step);
    case 'A':
      return padded(v.array_job_id.value_or(v.job_id), width);
    case 'a':
      return padded(v.array_task_id.value_or(kNoArrayTask), width);
    case 'b':
      if (!newer) return std::nullopt;
      return padded(v.array_task_id.value_or(kNoArrayTask) % 10, width);
    case 's':
      return v.step;
    case 't':
      return padded(v.task, width);
    case 'n':
      return padded(v.node_number, width);
    case 'N':
      return short_host(v.node);
    case 'u':
      return v.user;
    case 'x':
      return v.job_name;
    default:
      return std::nullopt;
  }
}

bool has_specifier(std::string_view pattern, std::string_view letters) {
  if (pattern.find('\\') != std::string_view::npos) return false;
  for (std::size_t i = pattern.find('%'); i < pattern.size(); i = pattern.find('%', i)) {
    const std::size_t letter = pattern.find_first_not_of("0123456789", i + 1);
    if (letter == std::string_view::npos) return false;
    if (letters.find(pattern[letter]) != std::string_view::npos) return true;
    i = letter + 1;
  }
  return false;
}

// One of Slurm's options in a list of words: "-o x", "-ox", "--output=x", "--output x". Advances
// `at` past its value.
bool take_option(const std::vector<std::string_view>& words, std::size_t* at, char letter,
                 std::string_view name, std::string* value) {
  std::string_view word = words[*at];
  const std::string small = std::string("-") + letter, large = "--" + std::string(name);
  if (word == small || word == large) {
    if (*at + 1 < words.size()) *value = words[++*at];
    return true;
  }
  if (word.starts_with(large + "=")) {
    *value = word.substr(large.size() + 1);
    return true;
  }
  if (word.starts_with(small) && !word.starts_with("--")) {
    *value = word.substr(2);
    return true;
  }
  return false;
}

bool take_output_option(const std::vector<std::string_view>& words, std::size_t* at,
                        OutputPatterns* patterns) {
  return take_option(words, at, 'o', "output", &patterns->output) ||
         take_option(words, at, 'e', "error", &patterns->error);
}

// sbatch's options that take a word of their own behind them; of all others "--name=value" is one
// word. Without this list a value would be taken for the script.
bool takes_next_word(std::string_view word) {
  constexpr std::string_view kSmall = "aAbBcCdDeFGiJLMmnNopqStwx";
  constexpr std::string_view kLarge[] = {"--account",     "--array",           "--chdir",
                                         "--cluster",     "--clusters",        "--comment",
                                         "--constraint",  "--cpus-per-task",   "--dependency",
                                         "--error",       "--exclude",         "--export",
                                         "--gpus",        "--gpus-per-node",   "--gres",
                                         "--input",       "--job-name",        "--licenses",
                                         "--mail-type",   "--mail-user",       "--mem",
                                         "--mem-per-cpu", "--nodelist",        "--nodes",
                                         "--ntasks",      "--ntasks-per-node", "--open-mode",
                                         "--output",      "--partition",       "--qos",
                                         "--reservation", "--signal",          "--time",
                                         "--time-min",    "--attribution"};
  if (word.size() == 2 && word[0] == '-') return kSmall.find(word[1]) != std::string_view::npos;
  return std::find(std::begin(kLarge), std::end(kLarge), word) != std::end(kLarge);
}

// The words of a submit line behind the program's name, without empty ones.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (const std::string_view word : split(line, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  if (!words.empty()) words.erase(words.begin());
  return words;
}

struct Command {
  OutputPatterns patterns;
  std::string script;
};

Command parse_command(std::string_view line) {
  Command command;
  const std::vector<std::string_view> words = words_of(line);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with("--wrap")) return command;
    if (!words[i].starts_with('-')) {
      command.script = words[i];
      return command;
    }
    if (take_output_option(words, &i, &command.patterns)) continue;
    if (takes_next_word(words[i])) ++i;
  }
  return command;
}

// Words of a #SBATCH line; quotes keep blanks together and vanish, '#' begins a comment.
std::vector<std::string> directive_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  bool any = false;
  for (const char c : line) {
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
      any = true;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      if (any || !word.empty()) words.push_back(word);
      word.clear();
      any = false;
    } else if (c == '#' && word.empty()) {
      break;
    } else {
      word += c;
    }
  }
  if (any || !word.empty()) words.push_back(word);
  return words;
}

}  // namespace

std::string expand_output_pattern(std::string_view pattern, const PatternValues& values,
                                  bool newer) {
  std::string path;
  if (pattern.find('\\') != std::string_view::npos) {
    std::copy_if(pattern.begin(), pattern.end(), std::back_inserter(path),
                 [](char c) { return c != '\\'; });
    return path;
  }
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      path += pattern[i];
      continue;
    }
    const std::size_t letter = pattern.find_first_not_of("0123456789", i + 1);
    if (letter == std::string_view::npos) return path += pattern.substr(i);
    const std::string_view digits = pattern.substr(i + 1, letter - i - 1);
    const long long width = digits.empty() ? 0 : parse_int(digits).value_or(kMaxWidth);
    const auto value =
        value_of(pattern[letter], static_cast<int>(std::min(width, kMaxWidth)), values, newer);
    if (value) {
      path += *value;
    } else if (pattern[letter] == '%') {
      path += '%';
    } else {
      path += pattern.substr(i, letter - i + 1);
    }
    i = letter;
  }
  return path;
}

bool names_the_job(std::string_view pattern) { return has_specifier(pattern, "jJA"); }
bool names_the_task(std::string_view pattern) { return has_specifier(pattern, "t"); }
bool names_the_node(std::string_view pattern) { return has_specifier(pattern, "nN"); }

OutputPatterns patterns_of_command(std::string_view line) { return parse_command(line).patterns; }
std::string script_of_command(std::string_view line) { return parse_command(line).script; }

OutputPatterns patterns_of_script(std::string_view text) {
  constexpr std::string_view kDirective = "#SBATCH";
  OutputPatterns patterns;
  for (const std::string_view line : split(text, '\n')) {
    // sbatch reads them up to the first command.
    if (!trim(line).empty() && !line.starts_with('#')) break;
    if (!line.starts_with(kDirective)) continue;
    const std::vector<std::string> words = directive_words(line.substr(kDirective.size()));
    const std::vector<std::string_view> views(words.begin(), words.end());
    for (std::size_t i = 0; i < views.size(); ++i) take_output_option(views, &i, &patterns);
  }
  return patterns;
}

}  // namespace nvab
