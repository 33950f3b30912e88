// SPDX-License-Identifier: Apache-2.0
// See csv.hh.
#include "service/web/csv.hh"

#include <vector>

namespace nvab {
namespace {

std::string cell(const Json& value) {
  if (value.is_null()) return "";
  auto text = value.as_string();
  if (!text) return value.dump();
  // Names of jobs are anybody's: a leading = + - @ or tab runs in some spreadsheets.
  if (!text->empty() &&
      std::string_view("=+-@\t\r").find(text->front()) != std::string_view::npos) {
    text->insert(0, 1, '\'');
  }
  if (text->find_first_of("\",\r\n") == std::string::npos) return *text;
  std::string quoted = "\"";
  for (const char c : *text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

}  // namespace

std::string csv_of(const Json& list) {
  std::vector<std::string> columns;
  list.at(0).each([&](std::string_view key, const Json& value) {
    if (!value.is_array() && !value.is_object()) columns.emplace_back(key);
  });
  std::string csv;
  const auto line = [&csv](const auto& columns_of, const auto& text_of) {
    for (std::size_t i = 0; i < columns_of.size(); ++i)
      csv += (i > 0 ? "," : "") + text_of(columns_of[i]);
    csv += "\r\n";
  };
  line(columns, [](const std::string& column) { return column; });
  for (const Json& row : list.elements()) {
    line(columns, [&row](const std::string& column) { return cell(row.get(column)); });
  }
  return csv;
}

}  // namespace nvab
