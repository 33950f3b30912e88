// SPDX-License-Identifier: Apache-2.0
// nvab-service: settings, sockets and signals. SIGTERM and SIGINT end it, SIGHUP loads rules again.
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/base/build_info.hh"
#include "common/base/file.hh"
#include "common/base/log.hh"
#include "common/base/text.hh"
#include "service/listener.hh"
#include "service/notify.hh"
#include "service/service.hh"

extern char** environ;

namespace {

using namespace nvab;

constexpr int kExitFailed = 1;         // it could not start, or could not go on
constexpr int kExitUsage = 2;          // the command line
constexpr int kExitConfiguration = 3;  // a configuration file or setting

// Files beside connections: rules, journal, logs.
constexpr rlim_t kOtherFiles = 128;

// The table looks once a second.
constexpr std::chrono::seconds kAfterTable{5};

struct Options {
  std::vector<std::string> listen;
  std::string state, config, log_level = "info", log_format = "text";
  bool check_config = false, show_config = false;
};

int parse_options(int argc, char** argv, Options* options) {
  CLI::App app("Judges why jobs ended: receives observations, returns verdicts (nvab-service(8))",
               "nvab-service");
  app.add_option("--listen", options->listen,
                 "Where to serve: HOST:PORT, [IPV6]:PORT or unix:PATH; may repeat")
      ->type_name("ADDRESS");
  app.add_option("--state", options->state, "Keep sessions in memory only, or also in sqlite:PATH")
      ->type_name("memory|sqlite:PATH");
  app.add_option("--config", options->config, "Settings, TOML or INI (.conf, .ini)")
      ->type_name("FILE");
  app.add_flag("--check-config", options->check_config,
               "Say whether the settings are good, and end");
  app.add_flag("--show-config", options->show_config, "Print the settings in effect, and end");
  app.add_option("--log-level", options->log_level, "debug, info, warning, error or off")
      ->type_name("LEVEL");
  app.add_option("--log-format", options->log_format, "text, or json: an object a line")
      ->type_name("FORMAT");
  app.set_version_flag("--version", "nvab-service " + std::string(build_info().version));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  const auto level = log_level_from(options->log_level);
  const auto format = log_format_from(options->log_format);
  if (!level || !format) {
    std::fprintf(stderr, "nvab-service: --log-level or --log-format: no such word; see --help\n");
    return kExitUsage;
  }
  log_start("nvab-service", *level, *format);
  return -1;
}

Result<Settings> load_settings(const Options& options) {
  SettingsLoader loader(std::span(&service_spec, 1));
  const std::string usual = std::string(build_info().sysconf_dir) + "/nvab-service.conf";
  if (!options.config.empty()) {
    loader.read_file(options.config);
  } else if (exists(usual)) {
    loader.read_file(usual);
  }
  loader.read_environment(environ);
  if (!options.listen.empty()) {
    loader.set("service", "", "listen", join(options.listen, ","), "--listen");
  }
  if (!options.state.empty()) loader.set("service", "", "state", options.state, "--state");
  return loader.finish();
}

// As many files as connections need, where the machine lets us.
void raise_file_limit(std::size_t connections) {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = connections * 2 + kOtherFiles;
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(limit.rlim_max, wanted);
  ::setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < wanted) {
    log_warning("the limit of open files lets only " + std::to_string(limit.rlim_cur) +
                " be open; set LimitNOFILE to " + std::to_string(wanted));
  }
}

// The listening servers, all on one service.
class Doors {
 public:
  explicit Doors(Service& service) : service_(service) {}
  Result<void> open();
  void stop_accepting() {
    for (const auto& httpd : open_) httpd->stop_accepting();
  }
  void close() {
    open_.clear();
    for (const std::string& path : paths_) ::unlink(path.c_str());
  }

 private:
  Result<void> open_one(const std::string& address, Door door);

  Service& service_;
  std::vector<std::unique_ptr<Httpd>> open_;
  std::vector<std::string> paths_;
};

Result<void> Doors::open_one(const std::string& text, Door door) {
  const ServiceSettings& settings = service_.settings();
  const auto address = parse_listen(text);
  if (!address) return tl::unexpected(address.error());
  auto listener = listen_on(*address, settings.socket_mode);
  if (!listener) return tl::unexpected(listener.error());
  const std::string bound = bound_to(*listener);
  HttpdOptions options;
  options.door = address->is_unix() && door == Door::network ? Door::local : door;
  options.threads = door == Door::admin ? 1 : settings.threads;
  options.header_bytes = settings.max_header;
  // The table ends what is too slow, with an answer; the library, which has none, comes after it.
  options.silence = std::max(settings.connections.idle, settings.connections.request) + kAfterTable;
  // The table closes what is too many; the library needs room for those that are closing.
  options.connections = settings.connections.connections * 2 + options.threads;
  if (!address->is_unix()) options.tls = settings.tls;
  auto httpd = Httpd::start(std::move(*listener), options, service_.connections(),
                            service_.bodies(), service_);
  if (!httpd) return tl::unexpected(httpd.error());
  open_.push_back(std::move(*httpd));
  if (address->is_unix()) paths_.push_back(address->path);
  log_info((door == Door::admin ? "listening for the administrator on " : "listening on ") + bound);
  return {};
}

Result<void> Doors::open() {
  for (const std::string& address : service_.settings().listen) {
    if (auto done = open_one(address, Door::network); !done) return done;
  }
  if (service_.settings().admin_socket.empty()) return {};
  return open_one("unix:" + service_.settings().admin_socket, Door::admin);
}

void reload(Service& service) {
  notify_reloading();
  if (service.reload()) log_info("the rules are loaded again");
  notify_systemd("READY=1");
}

// Until a signal says to end. True when that was asked for, false when the start failed.
void serve(Service& service, const sigset_t& signals) {
  const timespec second = {1, 0};
  for (;;) {
    const int signal = ::sigtimedwait(&signals, nullptr, &second);
    if (signal == SIGTERM || signal == SIGINT) return;
    if (signal == SIGHUP) reload(service);
    service.tick();
    notify_systemd("WATCHDOG=1");
  }
}

// Requests that came are answered, but not waited for without end.
void finish(Service& service, Doors& doors) {
  notify_systemd("STOPPING=1");
  log_info("stopping");
  doors.stop_accepting();
  service.stop();
  const auto end = std::chrono::steady_clock::now() + service.settings().stop_timeout;
  while (service.connections().busy() > 0 && std::chrono::steady_clock::now() < end) {
    service.connections().close_waiting();
    service.tick();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (const std::size_t cut = service.connections().busy(); cut > 0) {
    log_warning(std::to_string(cut) + " requests did not end in time and are cut");
  }
  doors.close();
}

int run(ServiceSettings settings) {
  // Threads inherit the mask: signals are taken in one place only.
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  raise_file_limit(settings.connections.connections);
  const auto fail_with = [](const Error& error) {
    log_error(error.message);
    return kExitFailed;
  };
  auto service = Service::create(std::move(settings));
  if (!service) return fail_with(service.error());
  Doors doors(**service);
  if (auto opened = doors.open(); !opened) return fail_with(opened.error());
  // Health is answered while a long journal is being read.
  std::atomic<bool> has_failed{false};
  std::thread starter([&] {
    if (const auto started = (*service)->start(); !started) {
      log_error(started.error().message);
      has_failed = true;
      ::kill(::getpid(), SIGTERM);
      return;
    }
    notify_systemd("READY=1");
    log_info("ready");
  });
  serve(**service, signals);
  finish(**service, doors);
  starter.join();
  log_info("stopped");
  return has_failed ? kExitFailed : 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (const int code = parse_options(argc, argv, &options); code >= 0) return code;
  const auto complain = [](const Error& error) {
    std::fprintf(stderr, "%s\n", error.message.c_str());
    return kExitConfiguration;
  };
  const auto loaded = load_settings(options);
  if (!loaded) return complain(loaded.error());
  for (const std::string& warning : loaded->warnings()) log_warning(warning);
  if (options.show_config) {
    std::fputs(loaded->show(true).c_str(), stdout);
    return 0;
  }
  auto settings = read_service_settings(loaded->section("service"));
  if (!settings) return complain(settings.error());
  if (options.check_config) {
    // Rules, too: a service that was told to reload must find them good.
    const auto rules = Rulesets::load(settings->rulesets);
    if (!rules) return complain(rules.error());
    std::puts("ok");
    return 0;
  }
  return run(std::move(*settings));
}
