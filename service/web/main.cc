// SPDX-License-Identifier: Apache-2.0
// nvab-web: settings, sockets and signals of the dashboard. SIGTERM and SIGINT end it.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "common/base/build_info.hh"
#include "common/base/file.hh"
#include "common/base/log.hh"
#include "common/base/text.hh"
#include "service/listener.hh"
#include "service/web/demo.hh"
#include "service/web/web_settings.hh"

extern char** environ;

namespace {

using namespace nvab;

constexpr int kExitFailed = 1;         // it could not start
constexpr int kExitUsage = 2;          // the command line
constexpr int kExitConfiguration = 3;  // a configuration file or setting

// A page opens a handful of connections; people look, they do not load.
constexpr std::size_t kMaxConnections = 512;
constexpr std::size_t kHeaderBytes = 16 * 1024;
constexpr std::chrono::seconds kIdle{60};
constexpr std::uint64_t kBodyMemory = 8 * 1024 * 1024;

struct Options {
  std::vector<std::string> listen;
  std::string config, log_level = "info", log_format = "text";
  std::vector<std::pair<std::string, std::string>> given;  // settings by command line
  bool demo = false, check_config = false, show_config = false;
};

int parse_options(int argc, char** argv, Options* options) {
  CLI::App app("Shows in a browser what ended jobs of a cluster and why (nvab-web(8))", "nvab-web");
  std::string db, annotations, page, chart_library;
  app.add_option("--listen", options->listen,
                 "Where to serve: HOST:PORT, [IPV6]:PORT or unix:PATH; may repeat")
      ->type_name("ADDRESS");
  app.add_option("--db", db, "The result database that nvab-run writes")->type_name("PATH");
  app.add_option("--annotations", annotations, "Database for what people say about verdicts")
      ->type_name("PATH");
  app.add_option("--config", options->config, "Settings, TOML or INI (.conf, .ini)")
      ->type_name("FILE");
  app.add_flag("--demo", options->demo, "Show a made-up month, in a temporary database");
  app.add_option("--page", page, "Folder of the page's files")->type_name("DIR");
  app.add_option("--chart-library", chart_library, "Chart.js, as one file")->type_name("FILE");
  app.add_flag("--check-config", options->check_config,
               "Say whether the settings are good, and end");
  app.add_flag("--show-config", options->show_config, "Print the settings in effect, and end");
  app.add_option("--log-level", options->log_level, "debug, info, warning, error or off")
      ->type_name("LEVEL");
  app.add_option("--log-format", options->log_format, "text, or json: an object a line")
      ->type_name("FORMAT");
  app.set_version_flag("--version", "nvab-web " + std::string(build_info().version));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  options->given = {
      {"db", db}, {"annotations", annotations}, {"page", page}, {"chart_library", chart_library}};
  const auto level = log_level_from(options->log_level);
  const auto format = log_format_from(options->log_format);
  if (!level || !format) {
    std::fprintf(stderr, "nvab-web: --log-level or --log-format: no such word; see --help\n");
    return kExitUsage;
  }
  log_start("nvab-web", *level, *format);
  return -1;
}

Result<Settings> load_settings(const Options& options) {
  SettingsLoader loader(std::span(&web_spec, 1));
  const std::string usual = std::string(build_info().sysconf_dir) + "/nvab-web.conf";
  if (!options.config.empty()) {
    loader.read_file(options.config);
  } else if (exists(usual)) {
    loader.read_file(usual);
  }
  loader.read_environment(environ);
  if (!options.listen.empty())
    loader.set("web", "", "listen", join(options.listen, ","), "--listen");
  for (const auto& [name, value] : options.given) {
    if (!value.empty()) loader.set("web", "", name, value, "the command line");
  }
  return loader.finish();
}

// A folder of its own for --demo, gone with the process.
class DemoFolder {
 public:
  Result<void> fill(WebSettings* settings) {
    std::string path = (std::filesystem::temp_directory_path() / "nvab-demo.XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr)
      return tl::unexpected(from_errno(errno, "making a folder for --demo"));
    path_ = path;
    settings->database = path_ + "/results.db";
    settings->annotations = path_ + "/annotations.db";
    DemoOptions demo;
    demo.end = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
    return write_demo(settings->database, demo);
  }
  ~DemoFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

 private:
  std::string path_;
};

// The listening servers. What they use must outlive them.
class Doors {
 public:
  Doors(const WebOptions& options, Web& web) : options_(options), web_(web) {}
  ~Doors() {
    open_.clear();
    for (const std::string& path : paths_) ::unlink(path.c_str());
  }
  Result<void> open();
  ConnectionTable& connections() { return connections_; }

 private:
  const WebOptions& options_;
  Web& web_;
  BodyBudget bodies_{kBodyMemory};
  ConnectionTable connections_{{kMaxConnections, kMaxConnections / 2, kIdle, kIdle}};
  std::vector<std::unique_ptr<Httpd>> open_;
  std::vector<std::string> paths_;
};

Result<void> Doors::open() {
  for (const std::string& text : options_.listen) {
    const auto address = parse_listen(text);
    if (!address) return tl::unexpected(address.error());
    auto listener = listen_on(*address, options_.socket_mode);
    if (!listener) return tl::unexpected(listener.error());
    const std::string bound = bound_to(*listener);
    HttpdOptions httpd;
    httpd.door = address->is_unix() ? Door::local : Door::network;
    httpd.threads = options_.threads;
    httpd.header_bytes = kHeaderBytes;
    httpd.silence = kIdle;
    httpd.connections = 2 * kMaxConnections;
    auto started = Httpd::start(std::move(*listener), httpd, connections_, bodies_, web_);
    if (!started) return tl::unexpected(started.error());
    open_.push_back(std::move(*started));
    if (address->is_unix()) paths_.push_back(address->path);
    log_info("showing " + web_.settings().database + " on " +
             (address->is_unix() ? "" : "http://") + bound + web_.settings().prefix +
             (address->is_unix() ? "" : "/"));
  }
  return {};
}

int run(const WebOptions& options) {
  // Threads inherit the mask: signals are taken in one place only.
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  const auto fail_with = [](const Error& error) {
    log_error(error.message);
    return kExitFailed;
  };
  auto web = Web::create(options.web);
  if (!web) return fail_with(web.error());
  // What is wrong with the database is worth a word now, and a page later.
  if (const auto lease = (*web)->database().lease(); !lease) log_warning(lease.error().message);
  Doors doors(options, **web);
  if (auto opened = doors.open(); !opened) return fail_with(opened.error());
  const timespec second = {1, 0};
  for (;;) {
    const int signal = ::sigtimedwait(&signals, nullptr, &second);
    if (signal == SIGTERM || signal == SIGINT) return 0;
    doors.connections().expire("");
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (const int code = parse_options(argc, argv, &options); code >= 0) return code;
  const auto complain = [](const Error& error) {
    std::fprintf(stderr, "nvab-web: %s\n", error.message.c_str());
    return kExitConfiguration;
  };
  const auto loaded = load_settings(options);
  if (!loaded) return complain(loaded.error());
  for (const std::string& warning : loaded->warnings()) log_warning(warning);
  if (options.show_config) {
    std::fputs(loaded->show(true).c_str(), stdout);
    return 0;
  }
  auto settings = read_web_settings(loaded->section("web"));
  if (!settings) return complain(settings.error());
  if (options.check_config) {
    std::puts("ok");
    return 0;
  }
  DemoFolder demo;
  if (options.demo) {
    if (auto done = demo.fill(&settings->web); !done) return complain(done.error());
  }
  return run(*settings);
}
