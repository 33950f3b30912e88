// SPDX-License-Identifier: Apache-2.0
// PCRE2 behind its limits. What a match may cost is bounded three ways: the text is cut, the
// backtracking is counted, and the stack and heap are capped.
#include "common/base/regex.hh"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <span>

#include "common/base/text.hh"

namespace nvab {
namespace {

// Backtracking steps of one match. A sane rule needs some thousand on the longest text; this many
// take about 10 ms.
constexpr std::uint32_t kMatchLimit = 500'000;
constexpr std::uint32_t kDepthLimit = 10'000;
constexpr std::uint32_t kHeapLimitKib = 16 * 1024;
// Longer patterns than any rule has; PCRE2's own bound is in the gigabytes.
constexpr std::size_t kMaxPattern = 16 * 1024;
constexpr std::uint32_t kMaxNesting = 100;
// JIT code runs on 32 KiB of the machine's stack; a pattern that needs more gets its own once.
constexpr std::size_t kJitStackMin = 64 * 1024;
constexpr std::size_t kJitStackMax = 1024 * 1024;

struct FreePattern {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct FreeMatch {
  void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
};
struct FreeMatchContext {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};
struct FreeCompileContext {
  void operator()(pcre2_compile_context* context) const { pcre2_compile_context_free(context); }
};
struct FreeJitStack {
  void operator()(pcre2_jit_stack* stack) const { pcre2_jit_stack_free(stack); }
};

PCRE2_SPTR bytes_of(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

tl::unexpected<Error> compile_error(std::string_view pattern, int code, std::size_t offset) {
  PCRE2_UCHAR words[256];
  pcre2_get_error_message(code, words, sizeof words);
  return fail(Error::Code::malformed, "compiling the pattern '" + excerpt(sanitize(pattern), 120) +
                                          "': at offset " + std::to_string(offset) + ": " +
                                          reinterpret_cast<const char*>(words));
}

struct Group {
  std::string name;
  std::uint32_t number = 0;
};

// The named groups in the order in which the pattern opens them.
std::vector<Group> read_groups(const pcre2_code* code) {
  std::uint32_t count = 0, entry_size = 0;
  PCRE2_SPTR table = nullptr;
  pcre2_pattern_info(code, PCRE2_INFO_NAMECOUNT, &count);
  pcre2_pattern_info(code, PCRE2_INFO_NAMEENTRYSIZE, &entry_size);
  pcre2_pattern_info(code, PCRE2_INFO_NAMETABLE, &table);
  std::vector<Group> groups;
  for (std::uint32_t i = 0; i < count; ++i) {
    // An entry is the number in two bytes, then the name with its NUL.
    const std::span entry(table + i * entry_size, entry_size);
    const std::uint32_t number = static_cast<std::uint32_t>(entry[0] << 8 | entry[1]);
    groups.push_back({reinterpret_cast<const char*>(&entry[2]), number});
  }
  std::sort(groups.begin(), groups.end(),
            [](const Group& a, const Group& b) { return a.number < b.number; });
  return groups;
}

}  // namespace

struct Regex::Impl {
  std::unique_ptr<pcre2_code, FreePattern> code;
  std::unique_ptr<pcre2_match_data, FreeMatch> match;
  std::unique_ptr<pcre2_match_context, FreeMatchContext> context;
  std::unique_ptr<pcre2_jit_stack, FreeJitStack> jit_stack;
  std::vector<Group> groups;
  std::vector<std::string> names;
  std::size_t limits_hit = 0;
  bool is_jit_tried = false;

  bool run(std::string_view text);
  int run_once(std::string_view text) {
    return pcre2_match(code.get(), bytes_of(text), text.size(), 0, 0, match.get(), context.get());
  }
};

// Whether it matched; the match data then holds where.
bool Regex::Impl::run(std::string_view text) {
  if (!is_jit_tried) {
    // Where the system forbids JIT this fails, and the interpreter gives the same answers.
    pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
    is_jit_tried = true;
  }
  text = text.substr(0, kMaxMatchText);
  int status = run_once(text);
  if (status == PCRE2_ERROR_JIT_STACKLIMIT && !jit_stack) {
    jit_stack.reset(pcre2_jit_stack_create(kJitStackMin, kJitStackMax, nullptr));
    pcre2_jit_stack_assign(context.get(), nullptr, jit_stack.get());
    status = run_once(text);
  }
  if (status < PCRE2_ERROR_NOMATCH) ++limits_hit;
  return status >= 0;
}

Regex::Regex(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

Result<Regex> Regex::compile(std::string_view pattern, bool caseless) {
  std::unique_ptr<pcre2_compile_context, FreeCompileContext> options(
      pcre2_compile_context_create(nullptr));
  if (!options) return fail(Error::Code::unavailable, "compiling a pattern: out of memory");
  pcre2_set_max_pattern_length(options.get(), kMaxPattern);
  pcre2_set_parens_nest_limit(options.get(), kMaxNesting);
  pcre2_set_newline(options.get(), PCRE2_NEWLINE_ANYCRLF);
  const std::uint32_t flags = PCRE2_MULTILINE | PCRE2_NEVER_UTF | (caseless ? PCRE2_CASELESS : 0U);
  int code = 0;
  std::size_t offset = 0;
  auto impl = std::make_unique<Impl>();
  impl->code.reset(
      pcre2_compile(bytes_of(pattern), pattern.size(), flags, &code, &offset, options.get()));
  if (!impl->code) return compile_error(pattern, code, offset);
  impl->match.reset(pcre2_match_data_create_from_pattern(impl->code.get(), nullptr));
  impl->context.reset(pcre2_match_context_create(nullptr));
  if (!impl->match || !impl->context) {
    return fail(Error::Code::unavailable, "compiling a pattern: out of memory");
  }
  pcre2_set_match_limit(impl->context.get(), kMatchLimit);
  pcre2_set_depth_limit(impl->context.get(), kDepthLimit);
  pcre2_set_heap_limit(impl->context.get(), kHeapLimitKib);
  impl->groups = read_groups(impl->code.get());
  for (const Group& group : impl->groups) impl->names.push_back(group.name);
  return Regex(std::move(impl));
}

bool Regex::matches(std::string_view text) const { return impl_->run(text); }

std::optional<std::vector<Capture>> Regex::match(std::string_view text) const {
  if (!impl_->run(text)) return std::nullopt;
  const std::span ends(pcre2_get_ovector_pointer(impl_->match.get()),
                       std::size_t{2} * pcre2_get_ovector_count(impl_->match.get()));
  std::vector<Capture> captures;
  for (const Group& group : impl_->groups) {
    const std::size_t begin = ends[std::size_t{2} * group.number];
    const std::size_t end = ends[std::size_t{2} * group.number + 1];
    if (begin == PCRE2_UNSET || begin > end) continue;  // took no part; or \K inside a lookahead
    captures.push_back({group.name, text.substr(begin, end - begin)});
  }
  return captures;
}

std::size_t Regex::limits_hit() const { return impl_->limits_hit; }
const std::vector<std::string>& Regex::group_names() const { return impl_->names; }

}  // namespace nvab
