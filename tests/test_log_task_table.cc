// SPDX-License-Identifier: Apache-2.0
// Lines of the task record become one TaskExit a task, and go back to lines.
#include <algorithm>
#include <cstring>

#include "epilog/log/line_splitter.hh"
#include "epilog/log/task_table.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

constexpr std::string_view kHead = R"({"v":1,"kind":")";
std::string line(const std::string& kind, const std::string& rest, const std::string& job = "77") {
  return std::string(kHead) + kind + R"(","job_id":)" + job +
         R"(,"step_id":"0","node":"a2","node_id":1,"restart_count":0,"uid":4242,)" + rest + "}\n";
}

const std::string kStep = line("step", R"("time":"2026-04-01T08:00:00.000000Z","step_gpus":"2,3",
  "gpu_devices":[{"minor":2,"pci":"0000:41:00.0","uuid":"GPU-a"},
                 {"minor":3,"pci":"0000:61:00.0","uuid":"GPU-b"}])");
const std::string kStart = line("task_start", R"("time":"2026-04-01T08:00:01.000000Z","task_id":5,
  "local_id":1,"pid":900,"step_gpus":"2,3","cuda_visible_devices":"1",
  "stdout":{"type":"file","path":"/out/5.log","dev":1,"ino":2})");
const std::string kEnd = line("task_end", R"("time":"2026-04-01T08:10:00.250000Z","task_id":5,
  "local_id":1,"pid":900,"signal":9,"core":false,"oom_kill":{"job":1,"step":1})");

ExecutionContext job(const std::string& id) {
  ExecutionContext context;
  context.job_id = id;
  return context;
}

std::string one_line(std::string text) {
  for (char& c : text) c = c == '\n' ? ' ' : c;
  return text;
}

void the_lines_of_a_task_become_one_exit(void**) {
  const ExecutionContext context = job("77");
  TaskTable table(context);
  for (const std::string& text : {kEnd, kStart, kStep}) table.add_line(one_line(text));
  assert_int_equal(table.malformed(), 0);
  const auto tasks = table.tasks();
  assert_int_equal(tasks.size(), 1);
  const TaskExit& task = tasks[0];
  assert_string_equal(task.node.c_str(), "a2");
  assert_string_equal(task.step.c_str(), "0");
  assert_int_equal(*task.task, 5);
  assert_int_equal(*task.signal, 9);
  assert_false(task.exit_code.has_value());
  assert_int_equal(*task.oom_kills, 1);
  assert_string_equal(task.stdout_path.c_str(), "/out/5.log");
  assert_string_equal(format_rfc3339(*task.end).c_str(), "2026-04-01T08:10:00.250Z");
}

void it_is_kept_where_output_went(void**) {
  const ExecutionContext context = job("77");
  TaskTable table(context);
  table.add_line(one_line(kStart));
  table.add_line(one_line(line("step", R"("time":"2026-04-01T08:00:00.000000Z","boot_id":"b-1")")));
  const auto streams = table.streams();
  assert_int_equal(streams.size(), 1);
  assert_true(streams[0].kind == TaskStream::Kind::file);
  assert_string_equal(streams[0].path.c_str(), "/out/5.log");
  assert_int_equal(streams[0].ino, 2);
  assert_int_equal(streams[0].task, 5);
  assert_string_equal(streams[0].boot_id.c_str(), "b-1");
}

void of_one_step_only_its_tasks_count(void**) {
  for (const auto& [id, count] : {std::pair("77.0", 1), std::pair("77.1", 0)}) {
    const ExecutionContext context = job(id);
    TaskTable table(context);
    table.add_line(one_line(kStart));
    assert_int_equal(table.tasks().size(), count);
  }
}

void visible_devices_count_among_those_that_were_given(void**) {
  const ExecutionContext context = job("77");
  TaskTable table(context);
  for (const std::string& text : {kStep, kStart, kEnd}) table.add_line(one_line(text));
  const auto tasks = table.tasks();
  assert_int_equal(tasks[0].gpu_ids.size(), 1);
  assert_string_equal(tasks[0].gpu_ids[0].c_str(), "3");  // the second of "2,3"
  assert_string_equal(tasks[0].gpu_pci[0].c_str(), "0000:61:00.0");
}

void other_jobs_and_broken_lines_are_counted(void**) {
  const ExecutionContext context = job("78");
  TaskTable table(context);
  table.add_line(one_line(kEnd));
  table.add_line("{\"v\":1");
  table.add_line("   ");
  assert_true(table.tasks().empty());
  assert_int_equal(table.other_jobs(), 1);
  assert_int_equal(table.malformed(), 1);
  assert_int_equal(table.lines(), 2);
}

void an_array_task_is_found_by_its_array_id(void**) {
  const std::string member = one_line(
      line("task_end", R"("array_job_id":70,"array_task_id":7,"time":"2026-04-01T08:10:00.000000Z",
                          "task_id":0,"exit_code":1)"));
  const ExecutionContext ours = job("70_7"), another = job("70_8");
  TaskTable ours_table(ours), another_table(another);
  ours_table.add_line(member);
  another_table.add_line(member);
  assert_int_equal(ours_table.tasks().size(), 1);
  assert_int_equal(another_table.tasks().size(), 0);
}

void another_attempt_is_left_out_by_its_time(void**) {
  ExecutionContext context = job("77");
  context.start_time = parse_rfc3339("2026-04-01T09:00:00Z");
  TaskTable table(context);
  table.add_line(one_line(kEnd));
  assert_true(table.tasks().empty());
}

void the_next_attempt_may_follow_within_seconds(void**) {
  const auto end_of_run = [](int restart, const char* time) {
    std::string text =
        line("task_end", "\"time\":\"" + std::string(time) + R"(","task_id":0,"exit_code":1)");
    const std::string zero = R"("restart_count":0)";
    return text.replace(text.find(zero), zero.size(),
                        R"("restart_count":)" + std::to_string(restart));
  };
  const std::string first = end_of_run(0, "2026-04-01T09:10:00.200000Z");
  const std::string second = end_of_run(1, "2026-04-01T09:10:30.200000Z");
  ExecutionContext context = job("77");
  context.start_time = parse_rfc3339("2026-04-01T09:00:00Z");
  context.end_time = parse_rfc3339("2026-04-01T09:10:00Z");
  TaskTable of_first(context);
  for (const std::string& text : {first, second}) of_first.add_line(text);
  assert_int_equal(of_first.tasks().size(), 1);
  assert_int_equal(*of_first.tasks()[0].restart_count, 0);
  context.start_time = parse_rfc3339("2026-04-01T09:10:05Z");
  context.end_time = parse_rfc3339("2026-04-01T09:10:30Z");
  // Also where accounting has lost the first run, and counts this one as the first.
  for (const int attempt : {1, 0}) {
    context.attempt = attempt;
    TaskTable of_second(context);
    for (const std::string& text : {first, second}) of_second.add_line(text);
    const auto tasks = of_second.tasks();
    assert_true(std::any_of(tasks.begin(), tasks.end(),
                            [](const TaskExit& task) { return task.restart_count == 1; }));
    assert_int_equal(tasks.size(), attempt == 1 ? 1 : 2);
  }
}

void tasks_go_to_lines_and_back(void**) {
  const ExecutionContext context = job("77");
  TaskTable table(context);
  for (const std::string& text : {kStep, kStart, kEnd}) table.add_line(one_line(text));
  const auto tasks = table.tasks();
  const std::string lines = task_lines(context, tasks);
  TaskTable again(context);
  LineSplitter splitter(1 << 16);
  splitter.feed(lines, [&](std::string_view text) { again.add_line(text); });
  assert_int_equal(again.malformed(), 0);
  const auto back = again.tasks();
  assert_int_equal(back.size(), 1);
  Observation before, after;
  before.source = after.source = Source::task_exits;
  before.task_exits = tasks;
  after.task_exits = back;
  assert_string_equal(to_json(after).dump().c_str(), to_json(before).dump().c_str());
}

void lines_are_whole_at_every_chunk_size_and_long_ones_are_skipped(void**) {
  const std::string text = "one\n\n" + std::string(50, 'x') + "\nlast";
  for (std::size_t chunk = 1; chunk < text.size(); ++chunk) {
    std::string seen;
    LineSplitter splitter(20);
    const auto keep = [&](std::string_view part) { seen += std::string(part) + "|"; };
    for (std::size_t at = 0; at < text.size(); at += chunk) {
      splitter.feed(std::string_view(text).substr(at, chunk), keep);
    }
    splitter.finish(keep);
    assert_string_equal(seen.c_str(), "one||last|");
    assert_int_equal(splitter.skipped(), 1);
  }
}

// The job of the records: nodes, user and times as the scheduler has them.
ExecutionContext known_job() {
  ExecutionContext context = job("77");
  context.uid = 4242;
  context.nodes = {"a2.example.org", "a3.example.org"};
  context.start_time = parse_rfc3339("2026-04-01T08:00:00Z");
  context.end_time = parse_rfc3339("2026-04-01T08:10:01Z");
  return context;
}

// How many tasks are left, and how many records were found impossible.
void expect(const ExecutionContext& context, const std::string& text, std::size_t tasks,
            std::uint64_t impossible) {
  TaskTable table(context);
  table.add_line(one_line(text));
  assert_int_equal(table.tasks().size(), tasks);
  assert_int_equal(table.impossible(), impossible);
}

void what_cannot_be_of_this_job_is_left_out_and_counted(void**) {
  const ExecutionContext context = known_job();
  expect(context, kEnd, 1, 0);
  const auto changed = [](std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
  };
  expect(context, changed(kEnd, "\"uid\":4242", "\"uid\":1001"), 0, 1);
  // What is known of the nodes may be less than there were.
  expect(context, changed(kEnd, "\"node\":\"a2\"", "\"node\":\"b7\""), 1, 0);
  expect(context, changed(kEnd, "08:10:00.250000", "11:10:00.250000"), 0, 1);
  expect(context, changed(kStart, "08:00:01.000000", "03:00:01.000000"), 0, 1);
  expect(context, changed(kEnd, "\"job_id\":77", "\"job_id\":78"), 0, 0);
}

void an_end_before_its_start_did_not_happen(void**) {
  const ExecutionContext context = known_job();
  TaskTable table(context);
  std::string start = kStart;
  start.replace(start.find("08:00:01"), 8, "08:10:30");
  for (const std::string& text : {start, kEnd}) table.add_line(one_line(text));
  assert_int_equal(table.tasks().size(), 1);
  assert_false(table.tasks()[0].end.has_value());
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(the_lines_of_a_task_become_one_exit),
      cmocka_unit_test(what_cannot_be_of_this_job_is_left_out_and_counted),
      cmocka_unit_test(an_end_before_its_start_did_not_happen),
      cmocka_unit_test(it_is_kept_where_output_went),
      cmocka_unit_test(of_one_step_only_its_tasks_count),
      cmocka_unit_test(visible_devices_count_among_those_that_were_given),
      cmocka_unit_test(other_jobs_and_broken_lines_are_counted),
      cmocka_unit_test(an_array_task_is_found_by_its_array_id),
      cmocka_unit_test(another_attempt_is_left_out_by_its_time),
      cmocka_unit_test(the_next_attempt_may_follow_within_seconds),
      cmocka_unit_test(tasks_go_to_lines_and_back),
      cmocka_unit_test(lines_are_whole_at_every_chunk_size_and_long_ones_are_skipped),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
