// SPDX-License-Identifier: Apache-2.0
// The files of the page, read once at the start: what is served later does not depend on the disk,
// and no path of a request ever reaches it.
#pragma once

#include <map>
#include <string>

#include "common/base/result.hh"
#include "service/http.hh"

namespace nvab {

class StaticFiles {
 public:
  // All files in `folder` with a suffix that a page uses, and the chart library from
  // `chart_library`.
  static Result<StaticFiles> load(const std::string& folder, const std::string& chart_library);

  // With an ETag; 304 where the client has it. Nothing where there is no such file.
  std::optional<Response> find(std::string_view name, const Request& request) const;

 private:
  struct File {
    std::string bytes, etag;
    std::string_view type;
  };
  Result<void> add(const std::string& name, const std::string& path);
  std::map<std::string, File, std::less<>> files_;
};

// The media type by a file's suffix; empty for one that no page uses.
std::string_view type_of_file(std::string_view name);

}  // namespace nvab
