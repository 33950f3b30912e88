// SPDX-License-Identifier: Apache-2.0
// See logql.hh. Strings of LogQL are those of Go: "…" with escapes, `…` without; `#` begins a
// comment.
#include "epilog/log/logql.hh"

#include <algorithm>
#include <array>
#include <utility>

#include "common/base/text.hh"

namespace nvab {
namespace {

struct Name {
  std::string_view name;
  bool is_list;
};
constexpr std::array kNames = {
    Name{"job_id", false},   Name{"job_ids", true},  Name{"job_name", false},
    Name{"user", false},     Name{"account", false}, Name{"partition", false},
    Name{"cluster", false},  Name{"nodes", true},    Name{"namespace", false},
    Name{"workload", false}, Name{"pods", true},
};

const Name* find_name(std::string_view name) {
  const auto found =
      std::find_if(kNames.begin(), kNames.end(), [&](const Name& one) { return one.name == name; });
  return found == kNames.end() ? nullptr : &*found;
}

std::string all_names() {
  std::string names;
  for (const Name& one : kNames)
    names += (names.empty() ? "${" : ", ${") + std::string(one.name) + "}";
  return names;
}

void add_value(LogqlValues* values, const char* name, std::string_view value) {
  std::string valid = replace_invalid_utf8(value);
  if (!valid.empty()) (*values)[name] = {std::move(valid)};
}

}  // namespace

std::string regex_quote(std::string_view text) {
  constexpr std::string_view kSpecial = R"(\.+*?()|[]{}^$)";
  std::string out;
  for (const char c : text) {
    if (kSpecial.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string logql_escape(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out;
}

LogqlValues logql_values(const ExecutionContext& context, const std::vector<std::string>& nodes) {
  LogqlValues values;
  add_value(&values, "job_id", context.job_id);
  add_value(&values, "job_name", context.name);
  add_value(&values, "user", context.user);
  add_value(&values, "account", context.account);
  add_value(&values, "partition", context.partition);
  add_value(&values, "cluster", context.cluster);
  for (const std::string& node : nodes) values["nodes"].push_back(replace_invalid_utf8(node));
  if (!context.job_id.empty()) values["job_ids"].push_back(replace_invalid_utf8(context.job_id));
  for (const std::string& id : context.other_ids) {
    values["job_ids"].push_back(replace_invalid_utf8(id));
  }
  if (context.scheduler != "kueue") return values;
  // "namespace/name"; its steps are Pods.
  const std::string_view id = context.job_id;
  const std::size_t slash = id.find('/');
  if (slash != std::string_view::npos) add_value(&values, "namespace", id.substr(0, slash));
  add_value(&values, "workload", id.substr(slash + 1));
  for (const Step& step : context.steps) {
    const std::string_view pod = step.name.empty() ? step.id : step.name;
    if (!pod.empty()) values["pods"].push_back(replace_invalid_utf8(pod));
  }
  return values;
}

class LogqlTemplate::Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}
  Result<LogqlTemplate> run();

 private:
  Result<void> string(char quote);
  Result<void> placeholder(bool in_string);
  void note_operator(char c);
  void copy(std::string_view text) {
    if (pieces_.empty() || pieces_.back().is_name) pieces_.emplace_back();
    pieces_.back().text += text;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string before_;  // the last two characters outside strings that are no blanks
  bool is_regex_ = false;
  std::vector<Piece> pieces_;
};

// A string is a regular expression behind =~, !~ or |~, and behind an `or` that follows one.
void LogqlTemplate::Parser::note_operator(char c) {
  if (c == ' ' || c == '\t' || c == '\n' || c == '\r') return;
  before_ += c;
  if (before_.size() > 2) before_.erase(0, before_.size() - 2);
  if (before_ != "or" && c != 'o') is_regex_ = c == '~';
}

Result<void> LogqlTemplate::Parser::placeholder(bool in_string) {
  const std::size_t end = text_.find('}', at_);
  const std::string name(text_.substr(at_ + 2, end - at_ - 2));
  const Name* known = end == std::string_view::npos ? nullptr : find_name(name);
  const std::string shown = "'${" + excerpt(sanitize(name), 40) + "}'";
  if (known == nullptr) {
    return fail(Error::Code::malformed, shown + " is not known; there are " + all_names());
  }
  if (!in_string) {
    return fail(Error::Code::malformed, shown + " stands outside a string; put it in quotes");
  }
  if (known->is_list && !is_regex_) {
    return fail(Error::Code::malformed, shown + " is a list, and needs =~ or |~ before its string");
  }
  pieces_.push_back({name, true, is_regex_});
  at_ = end + 1;
  return {};
}

// Becomes a string in double quotes, whose values can be escaped.
Result<void> LogqlTemplate::Parser::string(char quote) {
  copy("\"");
  ++at_;
  while (at_ < text_.size() && text_[at_] != quote) {
    if (text_.substr(at_).starts_with("${")) {
      auto done = placeholder(true);
      if (!done) return done;
      continue;
    }
    const std::size_t length = quote == '"' && text_[at_] == '\\' ? 2 : 1;
    const std::string_view part = text_.substr(at_, length);
    copy(quote == '"' ? std::string(part) : logql_escape(part));
    at_ += length;
  }
  if (at_ >= text_.size()) return fail(Error::Code::malformed, "a string has no end");
  copy("\"");
  ++at_;
  before_.clear();
  return {};
}

Result<LogqlTemplate> LogqlTemplate::Parser::run() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    Result<void> done;
    if (c == '"' || c == '`') {
      done = string(c);
    } else if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (text_.substr(at_).starts_with("${")) {
      done = placeholder(false);
    } else {
      note_operator(c);
      copy(text_.substr(at_++, 1));
    }
    if (!done) return tl::unexpected<Error>(done.error());
  }
  LogqlTemplate result;
  result.pieces_ = std::move(pieces_);
  return result;
}

Result<LogqlTemplate> LogqlTemplate::parse(std::string_view text) { return Parser(text).run(); }

bool LogqlTemplate::uses(std::string_view name) const {
  return std::any_of(pieces_.begin(), pieces_.end(),
                     [&](const Piece& piece) { return piece.is_name && piece.text == name; });
}

Result<std::string> LogqlTemplate::render(const LogqlValues& values) const {
  std::string out;
  for (const Piece& piece : pieces_) {
    if (!piece.is_name) {
      out += piece.text;
      continue;
    }
    const auto found = values.find(piece.text);
    if (found == values.end() || found->second.empty()) {
      return fail(Error::Code::not_found,
                  "the query wants ${" + piece.text + "}, and the job has none");
    }
    if (!piece.is_regex) {
      out += logql_escape(found->second.front());
      continue;
    }
    std::string any;
    for (const std::string& value : found->second) {
      any += (any.empty() ? "" : "|") + regex_quote(value);
    }
    out += logql_escape(found->second.size() > 1 ? "(?:" + any + ")" : any);
  }
  return out;
}

}  // namespace nvab
