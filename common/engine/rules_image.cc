// SPDX-License-Identifier: Apache-2.0
// One list of fields serves writing and reading, so that the two cannot differ.
#include "common/engine/rules_image.hh"

#include <bit>
#include <cstdint>
#include <cstring>

namespace nvab {
namespace {

constexpr std::string_view kMagic = "nvab rules 2\n";
// Far more of anything than packs have; bounds what a damaged image can ask for.
constexpr std::uint32_t kMaxCount = 1'000'000;

// Numbers are eight bytes, lowest first, on every machine.
class Writer {
 public:
  void field(const std::uint64_t& value) {
    for (unsigned i = 0; i < 8; ++i) out_ += static_cast<char>(value >> (8 * i) & 0xFF);
  }
  void field(const std::string& text) {
    field(static_cast<std::uint64_t>(text.size()));
    out_ += text;
  }
  bool ok() const { return true; }
  std::string out_;
};

class Reader {
 public:
  explicit Reader(std::string_view in) : in_(in) {}
  void field(std::uint64_t& value) {
    value = 0;
    if (in_.size() < 8) return fail_now();
    for (unsigned i = 0; i < 8; ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(in_[i])) << (8 * i);
    }
    in_.remove_prefix(8);
  }
  void field(std::string& text) {
    std::uint64_t size = 0;
    field(size);
    if (size > in_.size()) return fail_now();
    text.assign(in_.substr(0, size));
    in_.remove_prefix(size);
  }
  bool ok() const { return ok_; }
  bool at_end() const { return in_.empty(); }

 private:
  void fail_now() {
    ok_ = false;
    in_ = {};
  }
  std::string_view in_;
  bool ok_ = true;
};

// The same functions for both: `T` is const for the writer.
template <typename Io, typename T>
void number(Io& io, T& value) {
  std::uint64_t wide = static_cast<std::uint64_t>(value);
  io.field(wide);
  if constexpr (!std::is_const_v<T>) value = static_cast<T>(wide);
}

template <typename Io, typename T>
void real(Io& io, T& value) {
  std::uint64_t bits = std::bit_cast<std::uint64_t>(static_cast<double>(value));
  io.field(bits);
  if constexpr (!std::is_const_v<T>) value = std::bit_cast<double>(bits);
}

template <typename Io, typename T>
void duration(Io& io, T& value) {
  std::uint64_t count = static_cast<std::uint64_t>(value.count());
  io.field(count);
  if constexpr (!std::is_const_v<T>) value = Duration(static_cast<long long>(count));
}

template <typename Io, typename T, typename One>
void list(Io& io, T& values, One&& one) {
  std::uint64_t count = values.size();
  io.field(count);
  if constexpr (!std::is_const_v<T>) {
    if (!io.ok() || count > kMaxCount) return;
    values.resize(count);
  }
  for (auto& value : values) {
    if (io.ok()) one(value);
  }
}

// A map keyed by text.
template <typename Io, typename T, typename One>
void texts_by_name(Io& io, T& map, One&& one) {
  std::uint64_t count = map.size();
  io.field(count);
  if constexpr (std::is_const_v<T>) {
    for (auto& [name, value] : map) {
      io.field(name);
      one(value);
    }
  } else {
    for (std::uint64_t i = 0; i < count && io.ok() && count <= kMaxCount; ++i) {
      std::string name;
      io.field(name);
      one(map[name]);
    }
  }
}

template <typename Io, typename T, typename One>
void optional(Io& io, T& value, One&& one) {
  std::uint64_t has = value.has_value() ? 1 : 0;
  io.field(has);
  if constexpr (!std::is_const_v<T>) {
    if (has != 0) value.emplace();
  }
  if (has != 0 && io.ok()) one(*value);
}

template <typename Io, typename T>
void metric_fields(Io& io, T& metric) {
  list(io, metric.names, [&](auto& name) { io.field(name); });
  number(io, metric.test);
  list(io, metric.values, [&](auto& value) { real(io, value); });
  real(io, metric.threshold);
  number(io, metric.bits);
  texts_by_name(io, metric.labels, [&](auto& glob) { io.field(glob); });
  duration(io, metric.hold);
}

template <typename Io, typename T>
void rule_fields(Io& io, T& rule) {
  for (auto* text : {&rule.id, &rule.cause, &rule.title, &rule.pack, &rule.match, &rule.unless,
                     &rule.outcome, &rule.everywhere, &rule.only_some, &rule.advice,
                     &rule.explanation, &rule.provenance, &rule.file}) {
    io.field(*text);
  }
  list(io, rule.sources, [&](auto& source) { number(io, source); });
  list(io, rule.apps, [&](auto& app) { io.field(app); });
  list(io, rule.explains, [&](auto& glob) { io.field(glob); });
  list(io, rule.ends, [&](auto& glob) { io.field(glob); });
  number(io, rule.caseless);
  optional(io, rule.metric, [&](auto& metric) { metric_fields(io, metric); });
  number(io, rule.role);
  number(io, rule.blames);
  number(io, rule.strength);
  number(io, rule.generic);
  duration(io, rule.within);
  number(io, rule.reach);
  optional(io, rule.action, [&](auto& action) { number(io, action); });
  number(io, rule.drain);
  number(io, rule.shadow);
  number(io, rule.line);
}

template <typename Io, typename T>
void image_fields(Io& io, T& image) {
  io.field(image.version);
  io.field(image.digest);
  texts_by_name(io, image.sets,
                [&](auto& globs) { list(io, globs, [&](auto& glob) { io.field(glob); }); });
  list(io, image.rules, [&](auto& compiled) {
    rule_fields(io, compiled.rule);
    list(io, compiled.literals, [&](auto& literal) {
      io.field(literal.text);
      number(io, literal.caseless);
      number(io, literal.place);
    });
  });
}

}  // namespace

std::string write_rules_image(const RulesImage& image) {
  Writer writer;
  writer.out_ = kMagic;
  image_fields(writer, image);
  return std::move(writer.out_);
}

Result<RulesImage> read_rules_image(std::string_view bytes) {
  RulesImage image;
  if (bytes.starts_with(kMagic)) {
    Reader reader(bytes.substr(kMagic.size()));
    image_fields(reader, image);
    if (reader.ok() && reader.at_end()) return image;
  }
  return fail(Error::Code::malformed,
              "the built-in rules of this program are damaged; build it anew");
}

}  // namespace nvab
