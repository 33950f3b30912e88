// SPDX-License-Identifier: Apache-2.0
// The tables of components: sound, complete, and every component opens from its settings.
#include <cstring>
#include <set>

#include "epilog/connector.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

void the_tables_are_sound(void**) { assert_string_equal(check_specs(all_specs()).c_str(), ""); }

void every_component_stands_once_in_the_tables_with_help(void**) {
  std::set<std::string> names;
  std::size_t components = 0;
  for (const ComponentSpec& spec : all_specs()) {
    assert_true(names.insert(std::string(spec.framework) + "." + std::string(spec.name)).second);
    assert_false(spec.help.empty());
    for (const ParamSpec& param : spec.params) assert_false(param.help.empty());
    if (!spec.name.empty()) ++components;
  }
  assert_int_equal(components, eca_components().size() + collector_components().size() +
                                   output_components().size() + auth_components().size());
}

void a_component_is_found_by_its_spec(void**) {
  for (const CollectorComponent* component : collector_components()) {
    assert_ptr_equal(find_component(collector_components(), component->spec), component);
  }
  assert_null(find_component(collector_components(), eca_components()[0]->spec));
}

template <typename Interface>
const Component<Interface>& component(std::span<const Component<Interface>* const> components,
                                      std::string_view framework, std::string_view name) {
  const Component<Interface>* found =
      find_component(components, ComponentSpec{framework, name, {}, {}});
  if (found == nullptr) fail_msg("no component %s", std::string(name).c_str());
  return *found;
}

ComponentSettings settings_of(const ComponentSpec& spec,
                              const std::vector<std::pair<std::string, std::string>>& values) {
  auto settings = ComponentSettings::of(spec, "x", values);
  if (!settings) fail_msg("%s", settings.error().message.c_str());
  return std::move(*settings);
}

void collectors_want_paths_and_open_with_them(void**) {
  Host host;
  for (const CollectorComponent* component : collector_components()) {
    // Task records lie in the plugin's spool where no paths are given, the journal where it is.
    if (component->spec.find("paths") == nullptr || component->spec.name == "task_exits") continue;
    if (component->spec.name == "journald") continue;
    const auto without = component->open(settings_of(component->spec, {}), host);
    assert_false(without.has_value());
    assert_int_equal(without.error().code, Error::Code::malformed);
    const auto with = component->open(settings_of(component->spec, {{"paths", "/x"}}), host);
    assert_true(with.has_value());
  }
}

void the_source_of_logs_is_what_the_settings_say(void**) {
  Host host;
  for (const char* word : {"applog", "syslog"}) {
    const CollectorComponent& file = component(collector_components(), "log", "file");
    const auto opened =
        file.open(settings_of(file.spec, {{"paths", "/x"}, {"source", word}}), host);
    assert_true((*opened)->source() == *source_from(word));
  }
}

Result<std::vector<ExecutionContext>> discover(
    const std::vector<std::pair<std::string, std::string>>& values) {
  Host host;
  const EcaComponent& by_hand = component(eca_components(), "eca", "static");
  auto opened = by_hand.open(settings_of(by_hand.spec, values), host);
  if (!opened) return tl::unexpected<Error>(opened.error());
  return (*opened)->discover();
}

void a_job_by_hand_has_its_fields(void**) {
  const auto jobs = discover({{"job_id", "12_3"},
                              {"nodes", "n[2,1],m1"},
                              {"exit_code", "9:0"},
                              {"start_time", "2026-01-02T03:04:05Z"},
                              {"time_limit_s", "60"}});
  assert_int_equal(jobs->size(), 1);
  const ExecutionContext& job = jobs->front();
  assert_string_equal(job.scheduler.c_str(), "static");
  assert_string_equal(job.job_id.c_str(), "12_3");
  assert_int_equal(job.nodes.size(), 3);
  assert_string_equal(job.nodes[0].c_str(), "m1");
  assert_int_equal(job.exit_code->code, 9);
  assert_int_equal(*job.time_limit_s, 60);
  assert_true(job.start_time.has_value());
}

void fields_win_over_the_file(void**) {
  const std::string file = test::source_path("tests/scenarios/demo/job.json");
  const auto jobs = discover({{"file", file}, {"state", "CANCELLED"}});
  assert_string_equal(jobs->front().state.c_str(), "CANCELLED");
  assert_string_equal(jobs->front().job_id.c_str(), "41872");
}

void a_wrong_field_or_file_is_named(void**) {
  const auto wrong = discover({{"exit_code", "many"}});
  assert_false(wrong.has_value());
  assert_non_null(std::strstr(wrong.error().message.c_str(), "exit_code"));
  const auto missing = discover({{"file", "/nowhere/job.json"}});
  assert_false(missing.has_value());
  assert_non_null(std::strstr(missing.error().message.c_str(), "/nowhere/job.json"));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(the_tables_are_sound),
      cmocka_unit_test(every_component_stands_once_in_the_tables_with_help),
      cmocka_unit_test(a_component_is_found_by_its_spec),
      cmocka_unit_test(collectors_want_paths_and_open_with_them),
      cmocka_unit_test(the_source_of_logs_is_what_the_settings_say),
      cmocka_unit_test(a_job_by_hand_has_its_fields),
      cmocka_unit_test(fields_win_over_the_file),
      cmocka_unit_test(a_wrong_field_or_file_is_named),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
