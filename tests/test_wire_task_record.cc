// SPDX-License-Identifier: Apache-2.0
// The task record: what is written can be read, and what is not a record is refused with a
// sentence.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <memory>
#include <string>

#include "common/wire/task_record.h"
#include "tests/cmocka.hh"

namespace {

std::string line_of(const nvab_task_record& record) {
  auto data = std::make_unique<char[]>(NVAB_TASK_LINE_MAX);
  return std::string(data.get(), nvab_task_format(&record, data.get(), NVAB_TASK_LINE_MAX));
}

// The message of what is wrong, "" where nothing is.
std::string refusal(const std::string& line, nvab_task_error* error = nullptr) {
  nvab_task_record record;
  nvab_task_error own = {};
  if (error == nullptr) error = &own;
  const nvab_task_status got = nvab_task_parse(line.data(), line.size(), &record, error);
  return got == nvab_task_ok ? "" : error->message;
}

void fill_identity(nvab_task_record* record, nvab_task_kind kind) {
  nvab_task_begin(record, kind);
  nvab_task_set_text(record, nvab_task_cluster, "alpha");
  nvab_task_set(record, nvab_task_job_id, 4711);
  nvab_task_set(record, nvab_task_step_id, 0);
  nvab_task_set_text(record, nvab_task_node, "rack2-node7");
  nvab_task_set(record, nvab_task_node_id, 1);
  nvab_task_set(record, nvab_task_restart_count, 2);
  nvab_task_set(record, nvab_task_uid, 1000);
  nvab_task_set(record, nvab_task_time, 951827696123456);
  nvab_task_set(record, nvab_task_mono_us, 12345678901);
}

const std::string kIdentity =
    R"("cluster":"alpha","job_id":4711,"step_id":"0","node":"rack2-node7","node_id":1,)"
    R"("restart_count":2,"uid":1000,"time":"2000-02-29T12:34:56.123456Z","mono_us":12345678901)";

// The smallest line that is a record.
std::string end_line(const std::string& more) {
  return R"({"v":1,"kind":"task_end","job_id":7,"step_id":"0","node":"n","restart_count":0,)"
         R"("time":"2000-02-29T12:34:56Z","task_id":3,)" +
         more + "}";
}

void a_step_is_written_as_the_format_says(void**) {
  nvab_task_record record;
  fill_identity(&record, nvab_task_kind_step);
  nvab_task_set(&record, nvab_task_array_job_id, 4700);
  nvab_task_set(&record, nvab_task_array_task_id, 0);
  nvab_task_set_text(&record, nvab_task_mode, "on");
  nvab_task_set(&record, nvab_task_nodes, 2);
  record.gpu_device_count = 2;
  record.gpu_devices[0] = {3, "0000:61:00.0", "GPU-5ab1"};
  record.gpu_devices[1] = {4, "", ""};
  nvab_task_mark(&record, nvab_task_gpu_devices);
  assert_string_equal(
      line_of(record).c_str(),
      (R"({"v":1,"kind":"step","cluster":"alpha","job_id":4711,"array_job_id":4700,)"
       R"("array_task_id":0,"step_id":"0","node":"rack2-node7","node_id":1,"restart_count":2,)"
       R"("uid":1000,"time":"2000-02-29T12:34:56.123456Z","mono_us":12345678901,"mode":"on",)"
       R"("nodes":2,"gpu_devices":[{"minor":3,"pci":"0000:61:00.0","uuid":"GPU-5ab1"},)"
       R"({"minor":4}]})"
       "\n"));
}

void an_end_is_written_as_the_format_says(void**) {
  nvab_task_record record;
  fill_identity(&record, nvab_task_kind_task_end);
  nvab_task_set(&record, nvab_task_task_id, 2);
  nvab_task_set(&record, nvab_task_local_id, 0);
  nvab_task_set(&record, nvab_task_pid, 991);
  nvab_task_set(&record, nvab_task_signal, 6);
  nvab_task_set(&record, nvab_task_core, 1);
  nvab_task_set_text(&record, nvab_task_time_source, "pidfd");
  record.oom_kill[nvab_oom_job] = 1;
  record.oom_kill[nvab_oom_step] = NVAB_OOM_UNKNOWN;
  record.oom_kill[nvab_oom_task] = 0;
  nvab_task_mark(&record, nvab_task_oom_kill);
  assert_string_equal(line_of(record).c_str(),
                      (R"({"v":1,"kind":"task_end",)" + kIdentity +
                       R"(,"task_id":2,"local_id":0,"pid":991,"signal":6,"core":true,)"
                       R"("time_source":"pidfd","oom_kill":{"job":1,"task":0}})"
                       "\n")
                          .c_str());
}

void what_is_written_is_read_back(void**) {
  nvab_task_record record, got;
  nvab_task_stream stream = {};
  fill_identity(&record, nvab_task_kind_task_start);
  nvab_task_set(&record, nvab_task_het_job_id, 4710);
  nvab_task_set(&record, nvab_task_het_offset, 1);
  nvab_task_set(&record, nvab_task_task_id, 5);
  nvab_task_set_text(&record, nvab_task_job_gpus, "0,1");
  nvab_task_set_text(&record, nvab_task_cuda_visible_devices, "");
  nvab_task_set_text(&record, nvab_task_cgroup, "/slurm/uid_1000/job_4711/step_0/task_1");
  nvab_task_set_text(&record, nvab_task_cwd, "/home/\"quoted\"\\back");
  strcpy(stream.path, "/home/caf\xC3\xA9/out.log");
  stream.type = nvab_stream_file;
  stream.dev = 66306;
  stream.ino = UINT64_MAX;
  nvab_task_set_stream(&record, nvab_task_stdout, &stream);
  stream = {};
  stream.type = nvab_stream_pipe;
  nvab_task_set_stream(&record, nvab_task_stderr, &stream);

  const std::string line = line_of(record);
  assert_int_equal(nvab_task_parse(line.data(), line.size(), &got, nullptr), nvab_task_ok);
  assert_string_equal(line_of(got).c_str(), line.c_str());
  assert_true(got.present == record.present);
  assert_int_equal(got.kind, nvab_task_kind_task_start);
  assert_int_equal(got.job_id, 4711);
  assert_int_equal(got.restart_count, 2);
  assert_true(got.wall_us == 951827696123456);
  assert_int_equal(got.het_offset, 1);
  assert_true(nvab_task_has(&got, nvab_task_cuda_visible_devices));
  assert_string_equal(got.cuda_visible_devices, "");
  assert_false(nvab_task_has(&got, nvab_task_step_gpus));
  assert_string_equal(got.stdout_to.path, "/home/caf\xC3\xA9/out.log");
  assert_true(got.stdout_to.ino == UINT64_MAX);
  assert_int_equal(got.stderr_to.type, nvab_stream_pipe);
  assert_string_equal(got.stderr_to.path, "");
}

void step_ids_have_names(void**) {
  char text[NVAB_STEP_TEXT_SIZE];
  uint32_t id = 0;
  assert_string_equal(nvab_step_text(NVAB_STEP_BATCH, text), "batch");
  assert_string_equal(nvab_step_text(NVAB_STEP_EXTERN, text), "extern");
  assert_string_equal(nvab_step_text(NVAB_STEP_INTERACTIVE, text), "interactive");
  assert_string_equal(nvab_step_text(4294967289u, text), "4294967289");
  assert_true(nvab_step_number("interactive", &id));
  assert_true(id == NVAB_STEP_INTERACTIVE);
  assert_true(nvab_step_number("12", &id));
  assert_int_equal(id, 12);
  for (const char* bad : {"", "x", "-1", "1 ", " 1", "01", "4294967296", "Batch"}) {
    assert_false(nvab_step_number(bad, &id));
  }
}

void a_text_unfit_for_a_line_is_left_out_and_named(void**) {
  nvab_task_record record, got;
  nvab_task_stream stream = {};
  fill_identity(&record, nvab_task_kind_task_start);
  nvab_task_set(&record, nvab_task_task_id, 0);
  assert_false(nvab_task_set_text(&record, nvab_task_job_gpus, std::string(256, '1').c_str()));
  assert_true(nvab_task_set_text(&record, nvab_task_step_gpus, std::string(255, '1').c_str()));
  assert_false(nvab_task_set_text(&record, nvab_task_cuda_visible_devices, "0\n{\"v\":1}"));
  assert_false(nvab_task_set_text(&record, nvab_task_cwd, "/home/\xE9t\xE9"));
  strcpy(stream.path, "/home/\xFF");
  stream.ino = 12;
  assert_false(nvab_task_set_stream(&record, nvab_task_stderr, &stream));
  const std::string line = line_of(record);
  assert_non_null(
      strstr(line.c_str(), R"("cut":["job_gpus","cuda_visible_devices","cwd","stderr"])"));
  assert_non_null(strstr(line.c_str(), R"("stderr":{"type":"file","dev":0,"ino":12})"));
  assert_int_equal(nvab_task_parse(line.data(), line.size(), &got, nullptr), nvab_task_ok);
  assert_true(got.cut == record.cut);
  assert_true((got.cut & (UINT64_C(1) << nvab_task_cwd)) != 0);
}

void the_longest_record_fits_a_line(void**) {
  nvab_task_record record;
  nvab_task_stream stream = {};
  const std::string path(NVAB_TASK_PATH_SIZE - 1, '"');
  strcpy(stream.path, path.c_str());
  fill_identity(&record, nvab_task_kind_task_start);
  nvab_task_set_text(&record, nvab_task_cluster, std::string(63, '\\').c_str());
  nvab_task_set_text(&record, nvab_task_node, std::string(255, '\\').c_str());
  nvab_task_set_text(&record, nvab_task_job_gpus, std::string(255, '"').c_str());
  nvab_task_set_text(&record, nvab_task_step_gpus, std::string(255, '"').c_str());
  for (auto field : {nvab_task_cuda_visible_devices, nvab_task_cgroup, nvab_task_cwd}) {
    assert_true(
        nvab_task_set_text(&record, field, std::string(NVAB_TASK_GPUS_SIZE - 1, '"').c_str()));
  }
  assert_true(nvab_task_set_stream(&record, nvab_task_stdout, &stream));
  assert_true(nvab_task_set_stream(&record, nvab_task_stderr, &stream));
  assert_true(line_of(record).size() > 20000);

  fill_identity(&record, nvab_task_kind_step);
  for (auto& device : record.gpu_devices) {
    device = {UINT32_MAX, {}, {}};
    memset(device.pci, '"', sizeof device.pci - 1);
    memset(device.uuid, '"', sizeof device.uuid - 1);
  }
  record.gpu_device_count = NVAB_TASK_DEVICES_MAX;
  nvab_task_mark(&record, nvab_task_gpu_devices);
  assert_true(line_of(record).size() > 8000);
}

void a_value_of_the_wrong_type_or_size_is_not_set(void**) {
  nvab_task_record record;
  nvab_task_begin(&record, nvab_task_kind_task_end);
  assert_false(nvab_task_set(&record, nvab_task_exit_code, 256));
  assert_false(nvab_task_set(&record, nvab_task_job_id, UINT64_C(1) << 32));
  assert_false(nvab_task_set(&record, nvab_task_core, 2));
  assert_false(nvab_task_set(&record, nvab_task_node, 1));
  assert_false(nvab_task_set_text(&record, nvab_task_job_id, "1"));
  assert_true(nvab_task_set_text(&record, nvab_task_cluster, nullptr));
  assert_true(record.present == 0);
}

void records_are_appended_whole(void**) {
  char path[] = "/tmp/nvab-test-record-XXXXXX";
  const int fd = mkstemp(path);
  nvab_task_record record;
  assert_true(fd >= 0);
  fill_identity(&record, nvab_task_kind_step);
  assert_int_equal(nvab_task_write(fd, &record), 0);
  assert_int_equal(nvab_task_write(fd, &record), 0);
  std::string got(4096, '\0');
  got.resize(static_cast<size_t>(pread(fd, got.data(), got.size(), 0)));
  assert_string_equal(got.c_str(), (line_of(record) + line_of(record)).c_str());

  // A file that may grow by 20 bytes only stands for a disk that fills up.
  const auto size = static_cast<rlim_t>(got.size());
  rlimit old = {}, limit = {size + 20, RLIM_INFINITY};
  signal(SIGXFSZ, SIG_IGN);
  getrlimit(RLIMIT_FSIZE, &old);
  limit.rlim_max = old.rlim_max;
  setrlimit(RLIMIT_FSIZE, &limit);
  const int short_write = nvab_task_write(fd, &record);
  const int no_write = nvab_task_write(fd, &record);
  setrlimit(RLIMIT_FSIZE, &old);
  assert_int_equal(short_write, EFBIG);
  assert_int_equal(no_write, EFBIG);
  assert_int_equal(nvab_task_write(-1, &record), EBADF);
  close(fd);
  unlink(path);
}

void a_file_is_named_after_job_step_node_and_time(void**) {
  nvab_task_record record;
  char name[NVAB_TASK_FILE_NAME_SIZE];
  fill_identity(&record, nvab_task_kind_step);
  nvab_task_set(&record, nvab_task_step_id, NVAB_STEP_BATCH);
  const size_t length = nvab_task_file_name(&record, name);
  assert_int_equal(length, strlen(name));
  assert_string_equal(name, "4711.batch.rack2-node7.951827696123456.ndjson");
  nvab_task_set_text(&record, nvab_task_node, "../e v\"il");
  nvab_task_file_name(&record, name);
  assert_string_equal(name, "4711.batch..._e_v_il.951827696123456.ndjson");
  nvab_task_set_text(&record, nvab_task_node, std::string(255, 'n').c_str());
  assert_true(nvab_task_file_name(&record, name) < NVAB_TASK_FILE_NAME_SIZE);
}

void a_record_may_come_in_any_order_with_names_of_the_future(void**) {
  nvab_task_record got;
  const std::string line =
      R"( {"task_id":3,"exit_code":3,"new":{"a":[1,2,{"b":null}]},"kind":"task_end","node":"n",)"
      R"("a_name_that_is_much_longer_than_every_one_of_those_that_this_version_knows_of":[],)"
      R"("time":"2000-02-29T12:34:56Z","step_id":"batch","uid":null,"restart_count":0,)"
      R"("oom_kill":{"job":2,"pod":9},"cut":["cwd","new"],"job_id":7,"v":1} )"
      "\n";
  assert_string_equal(refusal(line).c_str(), "");
  nvab_task_parse(line.data(), line.size(), &got, nullptr);
  assert_int_equal(got.exit_code, 3);
  assert_true(got.step_id == NVAB_STEP_BATCH);
  assert_false(nvab_task_has(&got, nvab_task_uid));
  assert_true(got.oom_kill[nvab_oom_job] == 2);
  assert_true(got.oom_kill[nvab_oom_step] == NVAB_OOM_UNKNOWN);
  assert_true(got.cut == UINT64_C(1) << nvab_task_cwd);
}

void a_line_that_is_not_a_record_is_refused_with_a_sentence(void**) {
  const struct {
    std::string line;
    const char* field;
    const char* problem;
  } cases[] = {
      {"", "", "an object was expected"},
      {"[]", "", "an object was expected"},
      {"{}", "", "there is no version (v)"},
      {R"({"v":1})", "", "there is no kind"},
      {R"({"v":1,"kind":"tusk"})", "", "the word is none of those allowed here"},
      {R"({"v":1,"v":1})", "", "a name comes twice"},
      {end_line(R"("job_id":7)"), "field job_id, ", "a name comes twice"},
      {end_line(R"("exit_code":256)"), "field exit_code, ", "a number is too large"},
      {end_line(R"("exit_code":"3")"), "field exit_code, ", "a whole number was expected"},
      {end_line(R"("exit_code":3,)"), "", "a string was expected"},
      {end_line(R"("exit_code":3 "core":true)"), "", "a comma or the end of the list was expected"},
      {end_line(R"("exit_code":3)") + "{", "", "something follows the object"},
      {end_line(R"("uid":1)"), "", "a task ends either by exit_code or by signal"},
      {end_line(R"("exit_code":3,"signal":9)"), "", "a task ends either by exit_code or by signal"},
      {end_line(R"("exit_code":3,"core":true)"), "", "only a signal dumps core"},
      {end_line(R"("exit_code":3,"mode":"on")"), "field mode, ",
       "the field does not belong on a line of this kind"},
      {R"({"v":1,"kind":"step_end","job_id":7,"step_id":"0","node":"n","restart_count":0})",
       "field time, ", "the field is missing"},
  };
  for (const auto& c : cases) {
    nvab_task_error error = {};
    const std::string got = refusal(c.line, &error);
    const std::string want = std::string("reading a task record: ") + c.field + "byte " +
                             std::to_string(error.offset) + ": " + c.problem;
    assert_string_equal(got.c_str(), want.c_str());
    assert_int_equal(error.status, nvab_task_malformed);
  }
  nvab_task_error error = {};
  refusal(R"({"v":1,"v":1})", &error);
  assert_int_equal(error.offset, 11);
}

void lines_of_another_version_and_endless_lines_are_told_apart(void**) {
  nvab_task_error error = {};
  std::string line = end_line(R"("exit_code":{"new":"meaning"})");
  line.replace(line.find("\"v\":1"), 5, "\"v\":2");
  assert_non_null(strstr(refusal(line, &error).c_str(), "a newer nvab wrote it"));
  assert_int_equal(error.status, nvab_task_wrong_version);
  refusal(std::string(NVAB_TASK_LINE_MAX + 1, ' '), &error);
  assert_int_equal(error.status, nvab_task_too_long);
  refusal(std::string(NVAB_TASK_LINE_MAX, ' '), &error);
  assert_int_equal(error.status, nvab_task_malformed);
}

void every_cut_and_every_changed_byte_of_a_line_is_survived(void**) {
  nvab_task_record record;
  fill_identity(&record, nvab_task_kind_step);
  record.gpu_device_count = 1;
  record.gpu_devices[0] = {3, "0000:61:00.0", "GPU-5ab1"};
  nvab_task_mark(&record, nvab_task_gpu_devices);
  nvab_task_set_text(&record, nvab_task_slurm_version, "22.05.8\xC3\xA9\"");
  const std::string line = line_of(record);
  const std::string whole = line.substr(0, line.size() - 1);
  for (size_t i = 0; i < whole.size(); i++) {
    // Its own allocation, so that a sanitizer sees a read past the end.
    const auto part = std::make_unique<char[]>(i + 1);
    memcpy(part.get(), whole.data(), i);
    assert_int_not_equal(nvab_task_parse(part.get(), i, &record, nullptr), nvab_task_ok);
    for (int c = 0; c < 256; c += 3) {
      std::string changed = whole;
      changed[i] = static_cast<char>(c);
      nvab_task_error error = {};
      const auto status = nvab_task_parse(changed.data(), changed.size(), &record, &error);
      assert_true(status == nvab_task_ok || strlen(error.message) > 20);
    }
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_step_is_written_as_the_format_says),
      cmocka_unit_test(an_end_is_written_as_the_format_says),
      cmocka_unit_test(what_is_written_is_read_back),
      cmocka_unit_test(step_ids_have_names),
      cmocka_unit_test(a_text_unfit_for_a_line_is_left_out_and_named),
      cmocka_unit_test(the_longest_record_fits_a_line),
      cmocka_unit_test(a_value_of_the_wrong_type_or_size_is_not_set),
      cmocka_unit_test(records_are_appended_whole),
      cmocka_unit_test(a_file_is_named_after_job_step_node_and_time),
      cmocka_unit_test(a_record_may_come_in_any_order_with_names_of_the_future),
      cmocka_unit_test(a_line_that_is_not_a_record_is_refused_with_a_sentence),
      cmocka_unit_test(lines_of_another_version_and_endless_lines_are_told_apart),
      cmocka_unit_test(every_cut_and_every_changed_byte_of_a_line_is_survived),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
