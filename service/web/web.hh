// SPDX-License-Identifier: Apache-2.0
// The dashboard as an HttpApp: routes, who may ask, and what every answer carries.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "service/httpd.hh"
#include "service/router.hh"
#include "service/web/annotations.hh"
#include "service/web/database.hh"
#include "service/web/static_files.hh"

namespace nvab {

struct WebSettings {
  std::string database;
  std::string annotations;  // empty: nobody can say that a verdict is wrong
  std::string queue;        // empty: the page does not speak of the queue
  std::string prefix;       // "/nvab", where a proxy serves it below a path; no slash at the end
  std::string page, chart_library;
  std::vector<std::string> tokens;  // empty: everybody may look
};

class Web final : public HttpApp {
 public:
  // Errors: files that are missing. A database that is missing is no error: it may come.
  static Result<std::unique_ptr<Web>> create(WebSettings settings);

  std::optional<Response> begin(Request& head) override;
  std::size_t body_limit(const Request& head) const override;
  Response handle(Request& request) override;
  void done(const Request& request, const Exchange& exchange) override;

  const WebSettings& settings() const { return settings_; }
  Database& database() { return database_; }
  Annotations* annotations() { return annotations_.get(); }
  const StaticFiles& files() const { return files_; }

 private:
  Web(WebSettings settings, StaticFiles files);
  bool is_welcome(const Request& head) const;

  WebSettings settings_;
  Database database_;
  StaticFiles files_;
  std::unique_ptr<Annotations> annotations_;
  std::unique_ptr<Router> router_;
};

// The calls; the app must outlive them.
std::vector<Route> web_routes(Web& web);

// GET /metrics: verdicts, suspicion of nodes, the queue.
Result<std::string> web_metrics(Web& web, Time now);

}  // namespace nvab
