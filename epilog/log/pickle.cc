// SPDX-License-Identifier: Apache-2.0
// The stack machine behind pickle.hh. Each opcode checks what it takes; a container is filled only
// while it is new on the stack, which is what rules out cycles.
#include "epilog/log/pickle.hh"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace nvab {
namespace {

// Memo numbers of a writer are consecutive; a pickle of kMaxPickleValues cannot need more.
constexpr std::size_t kMaxMemo = kMaxPickleValues;

enum class Kind { scalar, list, dict, tuple, mark };

// What is known of a list, dict or tuple, wherever it is referred to from.
struct Container {
  bool is_open = true;  // on the stack and not yet part of anything
  int depth = 0;        // containers below it
};

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

struct Slot {
  Json value;
  Kind kind = Kind::scalar;
  std::size_t container = kNone;  // index in containers_
  bool is_new = false;            // the slot that made the container: may fill it
};

class Machine {
 public:
  explicit Machine(std::string_view bytes) : bytes_(bytes) {}
  Result<Json> run();

 private:
  // Reading; on a cut input they set failed_.
  std::uint64_t read_le(int size);
  std::string_view read_bytes(std::uint64_t size);

  // One opcode. False: stop, with failure_ set or done_.
  bool step();
  bool step_scalar(unsigned char op);
  bool step_container(unsigned char op);
  bool step_memo(unsigned char op);

  bool push(Json value);
  bool push_new(Json value, Kind kind, int depth = 0);
  bool has_room();
  // The values from stack_[first] on leave the stack to become part of something: how deep they
  // are, or nothing when one of them may not.
  std::optional<int> close(std::size_t first);
  bool push_long(std::string_view digits);
  bool fill(std::size_t first, std::size_t container);  // stack_[first..] into a list or dict
  bool make_tuple(std::size_t first);
  bool remember(std::uint64_t number);
  bool recall(std::uint64_t number);
  std::optional<std::size_t> last_mark();  // index of the mark
  bool refuse(std::string what);
  bool refuse_opcode(unsigned char op);

  std::string_view bytes_;
  std::size_t at_ = 0;
  std::size_t values_ = 0;
  std::vector<Slot> stack_;
  std::vector<Container> containers_;
  std::unordered_map<std::uint64_t, Slot> memo_;
  bool done_ = false;
  std::optional<Error> failure_;
};

bool Machine::refuse(std::string what) {
  if (!failure_) {
    failure_ = Error{Error::Code::malformed, fmt::format("{} at byte {}", what, at_)};
  }
  return false;
}

bool Machine::refuse_opcode(unsigned char op) {
  if (!failure_) {
    failure_ = Error{Error::Code::unsupported,
                     fmt::format("opcode 0x{:02x} at byte {} is not plain data and is not followed",
                                 op, at_ - 1)};
  }
  return false;
}

std::string_view Machine::read_bytes(std::uint64_t size) {
  if (size > bytes_.size() - at_) {
    refuse("the pickle is cut short");
    return {};
  }
  const std::string_view taken = bytes_.substr(at_, size);
  at_ += size;
  return taken;
}

std::uint64_t Machine::read_le(int size) {
  const std::string_view raw = read_bytes(static_cast<std::uint64_t>(size));
  std::uint64_t value = 0;
  for (std::size_t i = raw.size(); i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(raw[i]);
  }
  return value;
}

bool Machine::has_room() {
  if (failure_) return false;
  if (++values_ > kMaxPickleValues || stack_.size() >= kMaxPickleStack) {
    return refuse("the pickle holds more values than any dump does");
  }
  return true;
}

bool Machine::push(Json value) {
  if (!has_room()) return false;
  stack_.push_back({std::move(value), Kind::scalar, kNone, false});
  return true;
}

bool Machine::push_new(Json value, Kind kind, int depth) {
  if (!has_room()) return false;
  if (kind == Kind::mark) {
    stack_.push_back({std::move(value), kind, kNone, false});
    return true;
  }
  stack_.push_back({std::move(value), kind, containers_.size(), kind != Kind::tuple});
  containers_.push_back({true, depth});
  return true;
}

// LONG1: a little-endian two's complement number of any length; ours end at 64 bits.
bool Machine::push_long(std::string_view digits) {
  if (failure_) return false;
  if (digits.size() > 8) return refuse("a number of more than 64 bits");
  std::uint64_t value = 0;
  for (std::size_t i = digits.size(); i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(digits[i]);
  }
  const bool negative = !digits.empty() && (digits.back() & 0x80) != 0;
  if (negative && digits.size() < 8) value |= ~std::uint64_t{0} << (8 * digits.size());
  return push(Json::of(static_cast<std::int64_t>(value)));
}

std::optional<std::size_t> Machine::last_mark() {
  for (std::size_t i = stack_.size(); i-- > 0;) {
    if (stack_[i].kind == Kind::mark) return i;
  }
  refuse("a mark is missing");
  return std::nullopt;
}

std::optional<std::string> key_text(const Json& key) {
  if (auto text = key.as_string()) return text;
  if (auto number = key.as_int()) return std::to_string(*number);
  return std::nullopt;
}

std::optional<int> Machine::close(std::size_t first) {
  int depth = 0;
  for (std::size_t i = first; i < stack_.size(); ++i) {
    if (stack_[i].kind == Kind::mark) {
      refuse("a mark where a value should be");
      return std::nullopt;
    }
    if (stack_[i].container == kNone) continue;
    Container& inner = containers_[stack_[i].container];
    inner.is_open = false;
    depth = std::max(depth, inner.depth + 1);
  }
  if (depth > kMaxJsonDepth) {
    refuse("the pickle is nested too deeply");
    return std::nullopt;
  }
  return depth;
}

bool Machine::fill(std::size_t first, std::size_t container) {
  Slot& into = stack_[container];
  if (!into.is_new) return refuse("a value is put into something that is not a new container");
  const bool is_dict = into.kind == Kind::dict;
  if (is_dict && (stack_.size() - first) % 2 != 0) return refuse("a key without a value");
  const auto depth = close(first);
  if (!depth) return false;
  int& own = containers_[into.container].depth;
  own = std::max(own, *depth);
  for (std::size_t i = first; i < stack_.size(); ++i) {
    if (!is_dict) {
      into.value.push(std::move(stack_[i].value));
      continue;
    }
    const auto key = key_text(stack_[i].value);
    if (!key) return refuse("a key that is neither text nor a number");
    into.value.set(*key, std::move(stack_[++i].value));
  }
  stack_.resize(first);
  return true;
}

bool Machine::make_tuple(std::size_t first) {
  const auto depth = close(first);
  if (!depth) return false;
  Json tuple = Json::array();
  for (std::size_t i = first; i < stack_.size(); ++i) tuple.push(std::move(stack_[i].value));
  stack_.resize(first);
  return push_new(std::move(tuple), Kind::tuple, *depth);
}

bool Machine::remember(std::uint64_t number) {
  if (stack_.empty() || stack_.back().kind == Kind::mark) return refuse("nothing to remember");
  if (memo_.size() >= kMaxMemo) return refuse("the pickle remembers too many values");
  Slot copy = stack_.back();
  copy.is_new = false;
  memo_[number] = std::move(copy);
  return true;
}

bool Machine::recall(std::uint64_t number) {
  const auto found = memo_.find(number);
  if (found == memo_.end()) return refuse("a value is recalled that was never remembered");
  const Slot& slot = found->second;
  const bool is_list_or_dict = slot.kind == Kind::list || slot.kind == Kind::dict;
  if (is_list_or_dict && containers_[slot.container].is_open) {
    return refuse("a container that holds itself");
  }
  if (!has_room()) return false;
  stack_.push_back(slot);
  return true;
}

bool Machine::step_scalar(unsigned char op) {
  switch (op) {
    case 'N':  // NONE
      return push(Json());
    case 0x88:  // NEWTRUE
      return push(Json::of(true));
    case 0x89:  // NEWFALSE
      return push(Json::of(false));
    case 'K':  // BININT1
      return push(Json::of(static_cast<std::int64_t>(read_le(1))));
    case 'M':  // BININT2
      return push(Json::of(static_cast<std::int64_t>(read_le(2))));
    case 'J':  // BININT
      return push(Json::of(static_cast<std::int64_t>(static_cast<std::int32_t>(read_le(4)))));
    case 0x8a:  // LONG1
      return push_long(read_bytes(read_le(1)));
    case 'G': {  // BINFLOAT, big-endian
      std::uint64_t bits = 0;
      for (const char byte : read_bytes(8)) bits = bits << 8 | static_cast<unsigned char>(byte);
      return push(Json::of(std::bit_cast<double>(bits)));
    }
    case 'X':  // BINUNICODE
      return push(Json::of(read_bytes(read_le(4))));
    case 0x8c:  // SHORT_BINUNICODE
      return push(Json::of(read_bytes(read_le(1))));
    case 0x8d:  // BINUNICODE8
      return push(Json::of(read_bytes(read_le(8))));
    default:
      return step_container(op);
  }
}

bool Machine::step_container(unsigned char op) {
  const auto at_least = [&](std::size_t n) {
    return stack_.size() >= n || refuse("values are missing");
  };
  switch (op) {
    case '}':  // EMPTY_DICT
      return push_new(Json::object(), Kind::dict);
    case ']':  // EMPTY_LIST
      return push_new(Json::array(), Kind::list);
    case ')':  // EMPTY_TUPLE
      return push_new(Json::array(), Kind::tuple);
    case '(':  // MARK
      return push_new(Json(), Kind::mark);
    case 0x85:  // TUPLE1
    case 0x86:  // TUPLE2
    case 0x87:  // TUPLE3
      return at_least(op - 0x84u) && make_tuple(stack_.size() - (op - 0x84u));
    case 't': {  // TUPLE
      const auto mark = last_mark();
      if (!mark) return false;
      stack_.erase(stack_.begin() + static_cast<std::ptrdiff_t>(*mark));
      return make_tuple(*mark);
    }
    case 'a':  // APPEND
      return at_least(2) && fill(stack_.size() - 1, stack_.size() - 2);
    case 's':  // SETITEM
      return at_least(3) && fill(stack_.size() - 2, stack_.size() - 3);
    case 'e':    // APPENDS
    case 'u': {  // SETITEMS
      const auto mark = last_mark();
      if (!mark) return false;
      if (*mark == 0) return refuse("values are missing");
      const bool wants_dict = op == 'u';
      if ((stack_[*mark - 1].kind == Kind::dict) != wants_dict) {
        return refuse("values for another kind of container");
      }
      stack_.erase(stack_.begin() + static_cast<std::ptrdiff_t>(*mark));
      return fill(*mark, *mark - 1);
    }
    default:
      return step_memo(op);
  }
}

bool Machine::step_memo(unsigned char op) {
  switch (op) {
    case 'q':  // BINPUT
      return remember(read_le(1));
    case 'r':  // LONG_BINPUT
      return remember(read_le(4));
    case 0x94:  // MEMOIZE
      return remember(memo_.size());
    case 'h':  // BINGET
      return recall(read_le(1));
    case 'j':  // LONG_BINGET
      return recall(read_le(4));
    case 0x95:  // FRAME: a hint for readers of streams
      read_le(8);
      return !failure_;
    case '.':  // STOP
      done_ = true;
      return false;
    default:
      return refuse_opcode(op);
  }
}

bool Machine::step() {
  if (at_ >= bytes_.size()) return refuse("the pickle is cut short");
  return step_scalar(static_cast<unsigned char>(bytes_[at_++])) && !failure_;
}

Result<Json> Machine::run() {
  if (bytes_.size() < 2 || bytes_[0] != '\x80') {
    return fail(Error::Code::malformed, "this is not a pickle of protocol 2 or later");
  }
  if (bytes_[1] < 2 || bytes_[1] > 5) {
    return fail(Error::Code::unsupported,
                fmt::format("pickle protocol {} is not known (2 to 5 are)", int{bytes_[1]}));
  }
  at_ = 2;
  while (step()) {
  }
  if (failure_) return tl::unexpected<Error>(*failure_);
  if (!done_ || stack_.size() != 1 || stack_[0].kind == Kind::mark) {
    return fail(Error::Code::malformed, "the pickle does not end with exactly one value");
  }
  return stack_[0].value;
}

}  // namespace

Result<Json> parse_pickle(std::string_view bytes) { return Machine(bytes).run(); }

}  // namespace nvab
