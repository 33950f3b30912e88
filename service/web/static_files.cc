// SPDX-License-Identifier: Apache-2.0
// See static_files.hh.
#include "service/web/static_files.hh"

#include <dirent.h>
#include <errno.h>

#include <memory>

#include "common/base/digest.hh"
#include "common/base/file.hh"

namespace nvab {
namespace {

// The largest, a chart library, has 200 kB.
constexpr std::size_t kMaxFile = 4 * 1024 * 1024;
// Where the page looks for the library.
constexpr const char* kChartName = "chart.js";

}  // namespace

std::string_view type_of_file(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {".html", "text/html; charset=utf-8"},
      {".js", "text/javascript; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".svg", "image/svg+xml"},
  };
  for (const auto& [suffix, type] : kTypes) {
    if (name.ends_with(suffix)) return type;
  }
  return {};
}

Result<void> StaticFiles::add(const std::string& name, const std::string& path) {
  auto bytes = read_file(path, kMaxFile);
  if (!bytes) return fail("the page's file " + path, bytes.error());
  File file{std::move(*bytes), {}, type_of_file(name)};
  file.etag = '"' + sha256_hex(file.bytes).substr(0, 32) + '"';
  files_[name] = std::move(file);
  return {};
}

Result<StaticFiles> StaticFiles::load(const std::string& folder, const std::string& chart_library) {
  StaticFiles files;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(folder.c_str()), ::closedir);
  if (!dir) return fail("the folder of the page, " + folder, from_errno(errno, "opening it"));
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string name = entry->d_name;
    if (name.starts_with('.') || type_of_file(name).empty()) continue;
    if (auto done = files.add(name, folder + '/' + name); !done)
      return tl::unexpected(done.error());
  }
  if (files.files_.count("index.html") == 0) {
    return fail(Error::Code::not_found,
                folder + " holds no index.html; --page names the folder that does");
  }
  if (auto done = files.add(kChartName, chart_library); !done) {
    Error error = done.error();
    error.message += "; install libjs-chart.js, or name the file by --chart-library";
    return tl::unexpected(error);
  }
  return files;
}

std::optional<Response> StaticFiles::find(std::string_view name, const Request& request) const {
  const auto file = files_.find(name);
  if (file == files_.end()) return std::nullopt;
  Response response;
  response.with("ETag", file->second.etag).with("Cache-Control", "no-cache");
  if (request.headers.if_none_match == file->second.etag) {
    response.status = 304;
    return response;
  }
  response.content_type = file->second.type;
  response.body = file->second.bytes;
  return response;
}

}  // namespace nvab
