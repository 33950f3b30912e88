// SPDX-License-Identifier: Apache-2.0
// What a server that is taken for Loki may answer, in any pieces, and what a site may write as a
// query.
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "epilog/log/logql.hh"
#include "epilog/log/loki_answer.hh"
#include "epilog/log/loki_moment.hh"

using namespace nvab;

namespace {

std::vector<std::string> read_answer(std::string_view text, std::size_t piece) {
  std::vector<std::string> lines;
  LokiAnswer answer([&](const LokiLine& line) { lines.emplace_back(line.text); });
  std::size_t at = 0;
  (void)read_json(
      [&] {
        const std::string_view next = text.substr(at, piece);
        at += next.size();
        return next;
      },
      answer);
  (void)answer.problem();
  return lines;
}

void render_query(std::string_view text) {
  const auto query = LogqlTemplate::parse(text);
  if (!query) return;
  ExecutionContext context;
  context.job_id = std::string(text);
  context.name = std::string(text);
  context.nodes = {std::string(text), "n1"};
  (void)query->render(logql_values(context, context.nodes));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> lines = read_answer(text, 3);
  assert(lines == read_answer(text, size));
  (void)split_lines(lines);
  render_query(text);
  return 0;
}
