// SPDX-License-Identifier: Apache-2.0
// The only file that sees toml++ (it takes seconds to compile).
#include "common/base/toml.hh"

// Compiled in rather than linked: one shared library less to load at start, and the library on
// Debian is built with exceptions.
#undef TOML_SHARED_LIB
#undef TOML_HEADER_ONLY
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_UNRELEASED_FEATURES 0
// 3.3 asserts what it then checks and reports: "[\x01]" would abort the program.
#define TOML_ASSERT(expr) static_assert(true)
#include <fmt/core.h>

#include <toml++/toml.h>
#include <sstream>

namespace nvab {
namespace {

Toml convert(const toml::node& node);

std::string date_text(const toml::node& node) {
  std::ostringstream out;  // toml++ formats dates with streams only
  node.visit([&](const auto& value) {
    using T = std::decay_t<decltype(value)>;
    if constexpr (toml::is_date<T> || toml::is_time<T> || toml::is_date_time<T>) out << value.get();
  });
  return out.str();
}

void convert_table(const toml::table& table, Toml* out) {
  out->kind = Toml::Kind::table;
  out->members.reserve(table.size());
  for (const auto& [key, value] : table) {
    out->members.push_back({std::string(key.str()), convert(value)});
  }
}

void convert_array(const toml::array& array, Toml* out) {
  out->kind = Toml::Kind::array;
  out->elements.reserve(array.size());
  for (const toml::node& element : array) out->elements.push_back(convert(element));
}

// toml++ bounds the nesting (256) before this recursion sees it.
Toml convert(const toml::node& node) {
  Toml out;
  out.line = static_cast<int>(node.source().begin.line);
  out.column = static_cast<int>(node.source().begin.column);
  if (const auto* table = node.as_table()) {
    convert_table(*table, &out);
  } else if (const auto* array = node.as_array()) {
    convert_array(*array, &out);
  } else if (const auto* text = node.as_string()) {
    out.kind = Toml::Kind::string;
    out.text = text->get();
  } else if (const auto* integer = node.as_integer()) {
    out.kind = Toml::Kind::integer;
    out.integer = integer->get();
    out.real = static_cast<double>(integer->get());
  } else if (const auto* real = node.as_floating_point()) {
    out.kind = Toml::Kind::real;
    out.real = real->get();
  } else if (const auto* boolean = node.as_boolean()) {
    out.kind = Toml::Kind::boolean;
    out.boolean = boolean->get();
  } else {
    out.kind = Toml::Kind::date;
    out.text = date_text(node);
  }
  return out;
}

}  // namespace

const Toml* Toml::get(std::string_view key) const {
  for (const auto& [name, value] : members) {
    if (name == key) return &value;
  }
  return nullptr;
}

std::string_view to_string(Toml::Kind kind) {
  switch (kind) {
    case Toml::Kind::table:
      return "a table";
    case Toml::Kind::array:
      return "an array";
    case Toml::Kind::string:
      return "a string";
    case Toml::Kind::integer:
      return "a whole number";
    case Toml::Kind::real:
      return "a number";
    case Toml::Kind::boolean:
      return "true or false";
    case Toml::Kind::date:
      return "a date";
  }
  return "a value";
}

Result<Toml> parse_toml(std::string_view file_name, std::string_view text) {
  const toml::parse_result parsed = toml::parse(text);
  if (parsed.succeeded()) {
    Toml out;
    out.line = out.column = 1;
    convert_table(parsed.table(), &out);
    return out;
  }
  const toml::parse_error& error = parsed.error();
  return fail(Error::Code::malformed,
              fmt::format("{}:{}:{}: {}", file_name, error.source().begin.line,
                          error.source().begin.column, error.description()));
}

}  // namespace nvab
