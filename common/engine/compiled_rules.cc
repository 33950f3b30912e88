// SPDX-License-Identifier: Apache-2.0
// One description of the fields serves writing and reading: they cannot differ.
#include "common/engine/compiled_rules.hh"

#include <cstring>
#include <type_traits>

namespace nvab {
namespace {

class Writer {
 public:
  static constexpr bool kReads = false;
  std::string bytes;

  void number(std::int64_t* value) {
    bytes.append(reinterpret_cast<const char*>(value), sizeof *value);
  }
  void real(double* value) { bytes.append(reinterpret_cast<const char*>(value), sizeof *value); }
  void text(std::string* value) {
    std::int64_t size = static_cast<std::int64_t>(value->size());
    number(&size);
    bytes += *value;
  }
};

class Reader {
 public:
  static constexpr bool kReads = true;
  std::string_view rest;
  bool is_short = false;

  void number(std::int64_t* value) { take(value, sizeof *value); }
  void real(double* value) { take(value, sizeof *value); }
  void text(std::string* value) {
    std::int64_t size = 0;
    number(&size);
    if (size < 0 || static_cast<std::size_t>(size) > rest.size()) {
      is_short = true;
      return;
    }
    value->assign(rest.substr(0, static_cast<std::size_t>(size)));
    rest.remove_prefix(static_cast<std::size_t>(size));
  }

 private:
  void take(void* to, std::size_t size) {
    if (rest.size() < size) {
      is_short = true;
      return;
    }
    std::memcpy(to, rest.data(), size);
    rest.remove_prefix(size);
  }
};

template <typename Io, typename Value>
void small(Io& io, Value* value) {  // bool, int, enum
  std::int64_t wide = static_cast<std::int64_t>(*value);
  io.number(&wide);
  *value = static_cast<Value>(wide);
}

template <typename Io, typename Element, typename Each>
void list(Io& io, std::vector<Element>* values, Each each) {
  std::int64_t size = static_cast<std::int64_t>(values->size());
  io.number(&size);
  if constexpr (Io::kReads) {
    // Every element takes at least a byte: a damaged count cannot ask for more than there is.
    if (size < 0 || static_cast<std::size_t>(size) > io.rest.size()) {
      io.is_short = true;
      return;
    }
    values->resize(static_cast<std::size_t>(size));
  }
  for (Element& value : *values) each(&value);
}

template <typename Io>
void texts(Io& io, std::vector<std::string>* values) {
  list(io, values, [&](std::string* value) { io.text(value); });
}

template <typename Io>
void duration(Io& io, Duration* value) {
  std::int64_t count = value->count();
  io.number(&count);
  *value = Duration(count);
}

template <typename Io, typename Value, typename Each>
void optional(Io& io, std::optional<Value>* value, Each each) {
  bool there = value->has_value();
  small(io, &there);
  if (!there) return;
  if constexpr (Io::kReads) value->emplace();
  each(&**value);
}

template <typename Io>
void metric(Io& io, MetricMatch* match) {
  texts(io, &match->names);
  small(io, &match->test);
  list(io, &match->values, [&](double* value) { io.real(value); });
  io.real(&match->threshold);
  duration(io, &match->hold);
}

template <typename Io>
void rule(Io& io, Rule* r) {
  for (std::string* field :
       {&r->id, &r->cause, &r->title, &r->pack, &r->match, &r->unless, &r->outcome, &r->everywhere,
        &r->only_some, &r->advice, &r->explanation, &r->provenance, &r->file}) {
    io.text(field);
  }
  list(io, &r->sources, [&](Source* source) { small(io, source); });
  texts(io, &r->apps);
  texts(io, &r->explains);
  for (bool* field : {&r->caseless, &r->generic, &r->drain, &r->shadow}) small(io, field);
  optional(io, &r->metric, [&](MetricMatch* match) { metric(io, match); });
  optional(io, &r->action, [&](Action* action) { small(io, action); });
  small(io, &r->role);
  small(io, &r->blames);
  small(io, &r->reach);
  small(io, &r->strength);
  small(io, &r->line);
  duration(io, &r->within);
}

template <typename Io>
void all(Io& io, CompiledRules* compiled) {
  io.text(&compiled->version);
  io.text(&compiled->digest);
  list(io, &compiled->rules, [&](Rule* value) { rule(io, value); });
  list(io, &compiled->literals, [&](std::vector<Literal>* literals) {
    list(io, literals, [&](Literal* literal) {
      io.text(&literal->text);
      small(io, &literal->caseless);
    });
  });
}

}  // namespace

std::string write_compiled(CompiledRules rules) {
  Writer writer;
  all(writer, &rules);
  return std::move(writer.bytes);
}

Result<CompiledRules> read_compiled(std::string_view bytes) {
  Reader reader{.rest = bytes};
  CompiledRules rules;
  all(reader, &rules);
  if (reader.is_short || !reader.rest.empty() || rules.rules.size() != rules.literals.size()) {
    return fail(
        Error::Code::malformed,
        "reading the built-in rules: the program was not linked as it was built; install it again");
  }
  return rules;
}

}  // namespace nvab
