// SPDX-License-Identifier: Apache-2.0
// Settings: three surfaces, instances, provenance, and messages that name the place.
#include "common/base/settings.hh"

#include <cstring>

#include "common/base/file.hh"
#include "common/base/text.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

constexpr ParamSpec kRunParams[] = {
    {.name = "service_url", .help = "the service to use"},
    {.name = "timeout_seconds",
     .type = ParamType::integer,
     .fallback = "30",
     .help = "h",
     .low = 1,
     .high = 3600},
    {.name = "strict", .type = ParamType::boolean, .help = "h"},
    {.name = "deadline", .type = ParamType::duration, .fallback = "5m", .help = "h"},
    {.name = "max_log", .type = ParamType::bytes, .fallback = "1G", .help = "h"},
};
constexpr ParamSpec kSlurmParams[] = {
    {.name = "ids", .type = ParamType::list, .help = "jobs to attribute"},
};
constexpr ParamSpec kLokiParams[] = {
    {.name = "url", .help = "where it listens"},
    {.name = "source", .help = "h", .choices = "applog|syslog"},
    {.name = "file", .type = ParamType::path, .help = "h"},
    {.name = "token_file", .type = ParamType::path, .help = "h"},
    {.name = "labels", .type = ParamType::list, .help = "h"},
    {.name = "limit", .type = ParamType::integer, .fallback = "1000", .help = "lines a page"},
};
constexpr ParamSpec kTokenParams[] = {
    {.name = "token", .help = "the token itself", .secret = true},
    {.name = "token_file", .type = ParamType::path, .help = "a file that holds it"},
};
constexpr ComponentSpec kSpecs[] = {
    {"run", "", "what concerns the run", kRunParams},
    {"eca", "slurm", "jobs of Slurm", kSlurmParams},
    {"log", "file", "files", kLokiParams},
    {"log", "loki", "Grafana Loki", kLokiParams},
    {"log", "loki_extra", "a name that begins like another", kLokiParams},
    {"auth", "token", "bearer tokens", kTokenParams},
};

struct Given {
  std::string toml = {};
  std::string ini = {};
  std::vector<const char*> environment = {};
};

Result<Settings> load(const Given& given) {
  SettingsLoader loader(kSpecs);
  if (!given.toml.empty()) loader.read_text("a.toml", given.toml);
  if (!given.ini.empty()) loader.read_text("a.conf", given.ini);
  std::vector<const char*> environment = given.environment;
  environment.push_back(nullptr);
  loader.read_environment(environment.data());
  return loader.finish();
}

Settings must_load(const Given& given) {
  auto settings = load(given);
  if (!settings) fail_msg("%s", settings.error().message.c_str());
  return std::move(*settings);
}

std::string problem_of(const Given& given) {
  const auto settings = load(given);
  return settings ? "no problem" : settings.error().message;
}

std::string names(const std::vector<const ComponentSettings*>& list) {
  std::string out;
  for (const ComponentSettings* settings : list) out += settings->full_name() + " ";
  return out;
}

}  // namespace

static void without_any_surface_all_is_default_and_nothing_takes_part(void**) {
  const Settings settings = must_load({});
  const ComponentSettings& run = settings.section("run");
  assert_int_equal(run.integer("timeout_seconds"), 30);
  assert_int_equal(run.duration("deadline").count(), 300'000'000);
  assert_int_equal(run.bytes("max_log"), 1UL << 30);
  assert_false(run.flag("strict"));
  assert_true(run.text("service_url").empty());
  assert_false(run.is_set("timeout_seconds"));
  assert_string_equal(run.value("timeout_seconds").origin.c_str(), "default");
  assert_true(settings.active("log").empty());
  assert_false(settings.is_configured("log"));
  assert_int_equal(settings.component("log", "loki").integer("limit"), 1000);
}

static void a_higher_surface_wins_whatever_the_order(void**) {
  const char* const environment[] = {"NVAB_RUN_TIMEOUT_SECONDS=20", "NVAB_RUN_DEADLINE=20s",
                                     "OTHER=1", nullptr};
  SettingsLoader loader(kSpecs);
  loader.set("run", "", "timeout_seconds", "40", "--timeout");
  loader.read_environment(environment);
  loader.read_text("a.toml", "[run]\ntimeout_seconds = 10\ndeadline = '10s'\nstrict = true\n");
  loader.imply("run", "", "strict", "false");
  loader.imply("run", "", "max_log", "2G");
  const auto settings = loader.finish();
  assert_true(settings.has_value());
  const ComponentSettings& run = settings->section("run");
  assert_int_equal(run.integer("timeout_seconds"), 40);
  assert_string_equal(run.value("timeout_seconds").origin.c_str(), "--timeout");
  assert_int_equal(run.duration("deadline").count(), 20'000'000);
  assert_string_equal(run.value("deadline").origin.c_str(), "NVAB_RUN_DEADLINE");
  assert_true(run.flag("strict"));
  assert_string_equal(run.value("strict").origin.c_str(), "a.toml:4");
  assert_int_equal(run.bytes("max_log"), 2UL << 30);
}

static void the_same_tree_is_read_from_toml_and_ini(void**) {
  const Settings from_toml =
      must_load({.toml = "[eca.slurm]\nids = [\"1\", 5, \"7_[1,2]\"]\n[log.loki]\nurl = 'u'\n"
                         "[log.loki.app]\nsource = 'applog'\n"});
  const Settings from_ini =
      must_load({.ini = "[eca.slurm]\nids = 1, 5, 7_[1,2]\n[log.loki]\nurl = u\n"
                        "[log.loki.app]\nsource = applog\n"});
  for (const Settings* settings : {&from_toml, &from_ini}) {
    const auto& ids = settings->component("eca", "slurm").list("ids");
    assert_string_equal(join(ids, " ").c_str(), "1 5 7_[1,2]");
    assert_string_equal(names(settings->active("log")).c_str(), "log.loki.app ");
    assert_string_equal(settings->active("log")[0]->text("url").c_str(), "u");
  }
  assert_string_equal(from_ini.component("eca", "slurm").value("ids").origin.c_str(), "a.conf:2");
}

static void instances_inherit_and_take_part_instead_of_their_component(void**) {
  const Settings settings = must_load(
      {.toml = "[log.loki]\nurl = 'http://a'\nlimit = 5\n[log.loki.sys]\nsource = 'syslog'\n"
               "[log.loki.app]\nsource = 'applog'\nlimit = 7\n[log.loki.old]\nenabled = false\n"
               "[log.file]\n"});
  assert_string_equal(names(settings.active("log")).c_str(), "log.file log.loki.app log.loki.sys ");
  const auto active = settings.active("log");
  assert_string_equal(active[1]->text("url").c_str(), "http://a");
  assert_int_equal(active[1]->integer("limit"), 7);
  assert_int_equal(active[2]->integer("limit"), 5);
  assert_string_equal(active[2]->text("source").c_str(), "syslog");
  assert_ptr_equal(settings.instance("log", "sys"), active[2]);
  assert_null(settings.instance("log", "none"));
  assert_null(settings.instance("eca", "sys"));
}

static void a_component_takes_part_when_any_surface_names_it(void**) {
  assert_string_equal(names(must_load({.ini = "[log.file]\n"}).active("log")).c_str(), "log.file ");
  assert_string_equal(names(must_load({.toml = "[log.file]\n"}).active("log")).c_str(),
                      "log.file ");
  assert_string_equal(
      names(must_load({.environment = {"NVAB_LOG_FILE_URL=u"}}).active("log")).c_str(),
      "log.file ");
  const Settings off = must_load({.toml = "[log.file]\nurl = 'u'\nenabled = false\n"});
  assert_true(off.active("log").empty());
  assert_true(off.is_configured("log"));
  SettingsLoader loader(kSpecs);
  loader.imply("eca", "slurm");
  assert_string_equal(names(loader.finish()->active("eca")).c_str(), "eca.slurm ");
}

static void a_surface_outranks_an_instance(void**) {
  SettingsLoader loader(kSpecs);
  loader.read_text("a.toml", "[log.loki.app]\nlimit = 7\n[log.loki.sys]\nlimit = 8\n");
  loader.set("log", "loki", "limit", "9", "--connector");
  loader.set("log", "loki.sys", "limit", "10", "--connector");
  const auto settings = loader.finish();
  assert_int_equal(settings->instance("log", "app")->integer("limit"), 9);
  assert_int_equal(settings->instance("log", "sys")->integer("limit"), 10);
}

static void the_last_of_two_on_the_command_line_counts(void**) {
  SettingsLoader loader(kSpecs);
  loader.set("run", "", "timeout_seconds", "5", "--timeout");
  loader.set("run", "", "timeout_seconds", "6", "--timeout");
  assert_int_equal(loader.finish()->section("run").integer("timeout_seconds"), 6);
}

static void the_environment_names_instances_and_parameters_come_first(void**) {
  const Settings settings =
      must_load({.toml = "[log.loki.my-app]\n",
                 .environment = {"NVAB_LOG_LOKI_APP_SOURCE=applog", "NVAB_LOG_LOKI_TOKEN_FILE=/t",
                                 "NVAB_LOG_LOKI_APP_TOKEN_FILE=/a", "NVAB_LOG_LOKI_MY_APP_LIMIT=3",
                                 "NVAB_LOG_LOKI_EXTRA_URL=e", "NVAB_LOG_LOKI_APP_ENABLED=true"}});
  assert_string_equal(names(settings.active("log")).c_str(),
                      "log.loki.app log.loki.my-app log.loki_extra ");
  const ComponentSettings* app = settings.instance("log", "app");
  assert_string_equal(app->text("source").c_str(), "applog");
  assert_string_equal(app->text("token_file").c_str(), "/a");
  // token_file, not an instance "token" with a parameter "file".
  assert_string_equal(settings.instance("log", "my-app")->text("token_file").c_str(), "/t");
  assert_int_equal(settings.instance("log", "my-app")->integer("limit"), 3);
  assert_string_equal(settings.component("log", "loki_extra").text("url").c_str(), "e");
}

static void a_variable_that_nothing_reads_is_told(void**) {
  const std::string problem = problem_of({.environment = {"NVAB_LOG_LOKI_URLL=u"}});
  assert_string_equal(problem.c_str(),
                      "NVAB_LOG_LOKI_URLL: no setting is called so; did you mean "
                      "'NVAB_LOG_LOKI_URL'?");
  const Settings settings = must_load({.environment = {"NVAB_RUM_STRICT=1"}});
  assert_int_equal(settings.warnings().size(), 1);
  assert_non_null(std::strstr(settings.warnings()[0].c_str(), "NVAB_RUM_STRICT"));
  assert_non_null(std::strstr(settings.warnings()[0].c_str(), "NVAB_RUN_STRICT"));
}

static void what_is_wrong_is_told_with_file_line_and_the_nearest_name(void**) {
  struct Row {
    const char* toml;
    const char* message;
  };
  const Row rows[] = {
      {"\n[lgo.file]\n", "a.toml:2: there is no section [lgo]; did you mean 'log'?"},
      {"[log.lok]\n", "a.toml:1: [log] has no component 'lok'; did you mean 'loki'?"},
      {"[log.loki]\nurll = 'x'\n",
       "a.toml:2: [log.loki] has no parameter 'urll'; did you mean 'url'?"},
      {"[log.loki.app]\nenable = true\n",
       "a.toml:2: [log.loki.app] has no parameter 'enable'; did you mean 'enabled'?"},
      {"[run]\nenabled = false\n", "a.toml:2: [run] has no parameter 'enabled'"},
      {"[run]\ntimeout_seconds = 'soon'\n",
       "a.toml:2: [run] timeout_seconds 'soon' wants a whole number"},
      {"[run]\ntimeout_seconds = 0\n", "a.toml:2: [run] timeout_seconds '0' wants at least 1"},
      {"[run]\ntimeout_seconds = 4000\n",
       "a.toml:2: [run] timeout_seconds '4000' wants at most 3600"},
      {"[run]\ntimeout_seconds = 1.5\n", "a.toml:2: [run] timeout_seconds is of type int"},
      {"[run]\ntimeout_seconds = [1]\n", "a.toml:2: [run] timeout_seconds is of type int"},
      {"[run]\nstrict = 'perhaps'\n", "a.toml:2: [run] strict 'perhaps' wants true or false"},
      {"[run]\ndeadline = '5 min'\n", "a.toml:2: [run] deadline '5 min' wants a duration"},
      {"[run]\nmax_log = 'big'\n", "a.toml:2: [run] max_log 'big' wants a size"},
      {"[run]\nservice_url = \"a\\nb\"\n", "[run] service_url 'a b' holds a control character"},
      {"[run]\nservice_url = true\n", "a.toml:2: [run] service_url is of type string"},
      {"[log.loki]\nsource = 'sylog'\n",
       "a.toml:2: [log.loki] source 'sylog' wants one of: applog, syslog"},
      {"[log.loki]\nlabels = [['a']]\n", "a.toml:2: [log.loki] labels is of type list"},
      {"strict = true\n", "a.toml:1: 'strict' stands outside of any section"},
      {"[log]\n", "a.toml:1: [log] wants a component, such as [log.file]"},
      {"[log]\nurl = 'x'\n", "a.toml:2: 'url' wants a component"},
      {"[log.loki.source]\n", "'source' is a parameter of [log.loki]"},
      {"[log.loki.App]\n", "'App' is no name of an instance"},
      {"[log.loki.app.deep]\n", "a.toml:1: [log.loki.app] has no parameter 'deep'"},
      {"[run.x]\n", "a.toml:1: [run] has no parameter 'x'"},
      {"[run]\nx = \n", "a.toml:2:"},
      {"\n[\x01]\n", "a.toml:2:"},      // toml++ 3.3 asserts here
      {"\n\u00FC = 1\n", "a.toml:2:"},  // and takes this for impossible
      {"[auth.token.a]\ntoken = 7.5\n", "[auth.token.a] token is of type string"},
  };
  for (const Row& row : rows) {
    const std::string problem = problem_of({.toml = row.toml});
    if (!std::strstr(problem.c_str(), row.message)) {
      fail_msg("%s gave\n  %s\nnot\n  %s", row.toml, problem.c_str(), row.message);
    }
  }
}

static void ini_is_checked_alike(void**) {
  assert_string_equal(problem_of({.ini = "[log.loki]\nurll = x\n"}).c_str(),
                      "a.conf:2: [log.loki] has no parameter 'urll'; did you mean 'url'?");
  assert_string_equal(problem_of({.ini = "[log.loki]\nurl = \xFFx\n"}).c_str(),
                      "a.conf:2: [log.loki] url '\uFFFDx' is not UTF-8");
  assert_string_equal(problem_of({.ini = "[log.loki.a.b]\nurl = x\n"}).c_str(),
                      "a.conf:1: [log.loki.a.b] has too many parts");
  assert_string_equal(problem_of({.ini = "[run.x]\na = b\n"}).c_str(),
                      "a.conf:1: [run] has no components, so [run.x] is nothing");
  assert_string_equal(problem_of({.ini = "[log]\nurl = b\n"}).c_str(),
                      "a.conf:1: [log] wants a component, such as [log.file]");
}

static void all_problems_are_told_at_once_but_not_thousands(void**) {
  const std::string two = problem_of({.toml = "[log.loki]\na1 = 1\nb1 = 2\n"});
  assert_non_null(std::strstr(two.c_str(), "a.toml:2: "));
  assert_non_null(std::strstr(two.c_str(), "\na.toml:3: "));
  std::string many = "[log.loki]\n";
  for (int i = 0; i < 1000; ++i) many += "wrong" + std::to_string(i) + " = 1\n";
  assert_non_null(std::strstr(problem_of({.toml = many}).c_str(), "\nand 980 more"));
}

static void a_secret_is_refused_on_the_command_line_and_never_shown(void**) {
  SettingsLoader loader(kSpecs);
  loader.set("auth", "token.site", "token", "hunter2", "--connector");
  const auto refused = loader.finish();
  assert_false(refused.has_value());
  assert_non_null(std::strstr(refused.error().message.c_str(), "never taken from the command"));
  assert_null(std::strstr(refused.error().message.c_str(), "hunter2"));
  const Settings settings = must_load({.environment = {"NVAB_AUTH_TOKEN_SITE_TOKEN=hunter2"}});
  assert_string_equal(settings.instance("auth", "site")->text("token").c_str(), "hunter2");
  assert_null(std::strstr(settings.show().c_str(), "hunter2"));
  assert_non_null(std::strstr(settings.show().c_str(), "token = \"(secret)\""));
  const std::string problem = problem_of({.environment = {"NVAB_AUTH_TOKEN_TOKEN=hunter\n2"}});
  assert_null(std::strstr(problem.c_str(), "hunter"));
}

static void what_is_shown_names_each_origin_and_reads_back(void**) {
  const Settings settings =
      must_load({.toml = "[log.loki]\nurl = 'http://\"a\"'\n[log.loki.app]\nlabels = ['x', 'y,z']\n"
                         "[run]\nstrict = true\n",
                 .environment = {"NVAB_LOG_LOKI_APP_LIMIT=+05"}});
  const std::string shown = settings.show();
  assert_non_null(std::strstr(shown.c_str(), "[log.loki.app]\n"));
  assert_non_null(std::strstr(shown.c_str(), "# a.toml:2\n"));
  assert_non_null(std::strstr(shown.c_str(), "# NVAB_LOG_LOKI_APP_LIMIT\n"));
  assert_non_null(std::strstr(shown.c_str(), "# default\n"));
  assert_null(std::strstr(shown.c_str(), "[eca.slurm]"));
  assert_non_null(std::strstr(settings.show(true).c_str(), "[eca.slurm]"));
  const Settings again = must_load({.toml = shown});
  const ComponentSettings* app = again.instance("log", "app");
  assert_string_equal(app->text("url").c_str(), "http://\"a\"");
  assert_int_equal(app->list("labels").size(), 2);
  assert_string_equal(app->list("labels")[1].c_str(), "y,z");
  assert_int_equal(app->integer("limit"), 5);
  assert_true(again.section("run").flag("strict"));
}

static void a_file_is_read_by_its_name_or_its_absence_told(void**) {
  SettingsLoader missing(kSpecs);
  missing.read_file("/nonexistent/x.toml");
  const auto result = missing.finish();
  assert_false(result.has_value());
  assert_true(result.error().code == Error::Code::not_found);
  assert_non_null(std::strstr(result.error().message.c_str(), "/nonexistent/x.toml"));
  char name[] = "/tmp/nvab_test_settings.XXXXXX.ini";
  const int fd = mkstemps(name, 4);
  assert_true(fd >= 0);
  const Fd owner(fd);
  assert_true(write_file(name, "[run]\nstrict = yes\n").has_value());
  SettingsLoader loader(kSpecs);
  loader.read_file(name);
  const auto settings = loader.finish();
  std::remove(name);
  assert_true(settings.has_value() && settings->section("run").flag("strict"));
}

static void a_component_can_be_configured_by_hand(void**) {
  const auto settings =
      ComponentSettings::of(kSpecs[3], "sys", {{"source", "syslog"}, {"labels", "a,b"}});
  assert_true(settings.has_value());
  assert_string_equal(settings->full_name().c_str(), "log.loki.sys");
  assert_int_equal(settings->list("labels").size(), 2);
  assert_true(settings->enabled());
  assert_false(ComponentSettings::of(kSpecs[3], "", {{"sauce", "x"}}).has_value());
  assert_false(ComponentSettings::of(kSpecs[3], "", {{"source", "x"}}).has_value());
}

static void our_own_tables_are_checked(void**) {
  assert_string_equal(check_specs(kSpecs).c_str(), "");
  static constexpr ParamSpec kBad[] = {
      {.name = "a", .type = ParamType::integer, .fallback = "x", .help = "h"},
      {.name = "a", .help = "h"},
      {.name = "Bad", .help = "h"},
      {.name = "enabled", .help = "h"},
      {.name = "silent"},
  };
  static constexpr ComponentSpec kBadSpecs[] = {
      {"log", "x", "", kBad}, {"log", "x", "", {}}, {"log", "", "", {}}};
  const std::string problems = check_specs(kBadSpecs);
  for (const char* wanted :
       {"log.x a has a default that wants a whole number", "log.x a is declared twice",
        "log.x Bad is no name", "log.x enabled is declared for", "log.x silent has no help",
        "log.x  is declared twice", "log is a section and a framework"}) {
    if (!std::strstr(problems.c_str(), wanted)) fail_msg("%s\nin\n%s", wanted, problems.c_str());
  }
}

static void sizes_are_read_with_their_units(void**) {
  assert_int_equal(*parse_bytes("0"), 0);
  assert_int_equal(*parse_bytes("123"), 123);
  assert_int_equal(*parse_bytes("64K"), 65536);
  assert_int_equal(*parse_bytes("10MiB"), 10'485'760);
  assert_int_equal(*parse_bytes("1GB"), 1'073'741'824);
  assert_int_equal(*parse_bytes("1.5K"), 1536);
  assert_int_equal(*parse_bytes("12B"), 12);
  for (const char* bad : {"", "K", "iB", "1iB", "-1", "1k", "1 K", "1.5", "9E", "1KK", "1e3K"}) {
    if (parse_bytes(bad)) fail_msg("'%s' was read", bad);
  }
}

static void a_parameter_describes_itself(void**) {
  assert_string_equal(describe(kLokiParams[5]).c_str(),
                      "limit                    int       lines a page (default: 1000)");
  assert_non_null(std::strstr(describe(kTokenParams[0]).c_str(), "secret"));
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(without_any_surface_all_is_default_and_nothing_takes_part),
      cmocka_unit_test(a_higher_surface_wins_whatever_the_order),
      cmocka_unit_test(the_same_tree_is_read_from_toml_and_ini),
      cmocka_unit_test(instances_inherit_and_take_part_instead_of_their_component),
      cmocka_unit_test(a_component_takes_part_when_any_surface_names_it),
      cmocka_unit_test(a_surface_outranks_an_instance),
      cmocka_unit_test(the_last_of_two_on_the_command_line_counts),
      cmocka_unit_test(the_environment_names_instances_and_parameters_come_first),
      cmocka_unit_test(a_variable_that_nothing_reads_is_told),
      cmocka_unit_test(what_is_wrong_is_told_with_file_line_and_the_nearest_name),
      cmocka_unit_test(ini_is_checked_alike),
      cmocka_unit_test(all_problems_are_told_at_once_but_not_thousands),
      cmocka_unit_test(a_secret_is_refused_on_the_command_line_and_never_shown),
      cmocka_unit_test(what_is_shown_names_each_origin_and_reads_back),
      cmocka_unit_test(a_file_is_read_by_its_name_or_its_absence_told),
      cmocka_unit_test(a_component_can_be_configured_by_hand),
      cmocka_unit_test(our_own_tables_are_checked),
      cmocka_unit_test(sizes_are_read_with_their_units),
      cmocka_unit_test(a_parameter_describes_itself),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
