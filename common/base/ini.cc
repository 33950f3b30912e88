// SPDX-License-Identifier: Apache-2.0
// The only user of inih. inih's handler is not told the line, and headers without values are not
// reported at all, so the reader that feeds it counts lines and notes headers.
#include "common/base/ini.hh"

#include <ini.h>

#include <cstring>
#include <map>

#include "common/base/text.hh"

namespace nvab {
namespace {

struct Parse {
  std::string_view file_name;
  std::string_view rest;  // what inih has not been given yet
  std::string line_text;
  int line = 0;
  std::vector<IniEntry> entries;
  std::map<std::string, int, std::less<>> seen;  // "section\nkey" -> line
  std::string problem;                           // the first one, with its place
  int problem_line = 0;

  void complain(const std::string& what) {
    if (problem.empty()) {
      problem_line = line;
      problem = std::string(file_name) + ":" + std::to_string(line) + ": " + what;
    }
  }
};

// What inih could not hold, or would take for something else.
void check_line(Parse& parse) {
  const std::string_view text = parse.line_text;
  if (text.size() > kMaxIniLine) {
    parse.complain("the line has more than " + std::to_string(kMaxIniLine) +
                   " characters, which INI cannot hold; write the file as TOML");
  }
  if (text.find('\0') != std::string_view::npos) parse.complain("the line holds a zero byte");
  const std::string_view start = trim(text);
  if (!start.starts_with('[')) return;
  const std::size_t close = start.find(']');
  if (close == std::string_view::npos) {
    parse.complain("the section's name wants a closing ']'");
    return;
  }
  const std::string_view name = start.substr(1, close - 1);
  if (name.size() > kMaxIniSection) parse.complain("the section's name is too long");
  parse.entries.push_back({std::string(name), "", "", parse.line});
}

// Hands inih the next line; null at the end or at the first problem.
char* next_line(char* buffer, int size, void* user) {
  auto& parse = *static_cast<Parse*>(user);
  if (parse.rest.empty() || !parse.problem.empty()) return nullptr;
  const std::size_t end = parse.rest.find('\n');
  std::string_view line = parse.rest.substr(0, end);
  parse.rest.remove_prefix(end == std::string_view::npos ? parse.rest.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  ++parse.line;
  parse.line_text = line;
  check_line(parse);
  if (!parse.problem.empty() || line.size() + 1 > static_cast<std::size_t>(size)) return nullptr;
  std::memcpy(buffer, line.data(), line.size());
  buffer[line.size()] = '\0';
  return buffer;
}

int take_value(void* user, const char* section, const char* name, const char* value) {
  auto& parse = *static_cast<Parse*>(user);
  if (section[0] == '\0') {
    parse.complain("'" + excerpt(sanitize(name), 60) + "' stands in front of the first [section]");
    return 0;
  }
  const auto [seen, is_new] = parse.seen.emplace(std::string(section) + "\n" + name, parse.line);
  if (!is_new) {
    parse.complain("'" + excerpt(sanitize(name), 60) + "' was already set in line " +
                   std::to_string(seen->second));
    return 0;
  }
  std::string_view text = value;
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
  }
  parse.entries.push_back({section, name, std::string(text), parse.line});
  return 1;
}

}  // namespace

Result<std::vector<IniEntry>> parse_ini(std::string_view file_name, std::string_view text) {
  // An indented line is a line of its own, not more of the value above it. Always the same value,
  // set before any use.
  ini_allow_multiline = false;
  Parse parse;
  parse.file_name = file_name;
  parse.rest = text.substr(text.starts_with("\xEF\xBB\xBF") ? 3 : 0);  // a byte order mark
  const int wrong_line = ini_parse_stream(next_line, &parse, take_value, &parse);
  // inih goes on behind a line that it does not understand, and then says which it was.
  if (wrong_line > 0 && (parse.problem.empty() || wrong_line < parse.problem_line)) {
    parse.problem.clear();
    parse.line = wrong_line;
    parse.complain("this is neither a [section] nor 'name = value'");
  }
  if (!parse.problem.empty()) return fail(Error::Code::malformed, std::move(parse.problem));
  if (wrong_line != 0) {
    return fail(Error::Code::internal, "reading " + std::string(file_name) + ": inih gave up");
  }
  return std::move(parse.entries);
}

}  // namespace nvab
