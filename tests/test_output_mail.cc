// SPDX-License-Identifier: Apache-2.0
// Mails: whatever a job or its owner is called, headers and recipients are those that were
// configured. The sendmail here keeps its arguments and its input in files.
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "common/base/file.hh"
#include "common/base/text.hh"
#include "epilog/connector.hh"
#include "epilog/output/mail_message.hh"
#include "epilog/output/result_template.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

constexpr std::string_view kSendmail = R"(#!/bin/sh
here=$(dirname "$0")
printf '%s\n' "$@" >"$here/arguments"
[ ! -e "$here/hang" ] || exec sleep 60
[ ! -e "$here/refuse" ] || { echo "no such host" >&2; exit 75; }
cat >"$here/message"
)";

using Values = std::vector<std::pair<std::string, std::string>>;

struct MailSystem {
  std::string path = "/tmp/nvab-output-mail." + std::to_string(::getpid());
  Host host;

  MailSystem() {
    std::filesystem::remove_all(path);
    assert_true(make_folders(path).has_value());
    assert_true(write_file(path + "/sendmail", kSendmail, 0755).has_value());
  }
  ~MailSystem() { std::filesystem::remove_all(path); }

  Result<std::unique_ptr<Output>> open(Values values) {
    values.emplace_back("sendmail", path + "/sendmail");
    for (const OutputComponent* component : output_components()) {
      if (component->spec.name != "mail") continue;
      const auto settings = ComponentSettings::of(component->spec, "", values);
      if (!settings) return tl::unexpected<Error>(settings.error());
      return component->open(*settings, host);
    }
    return (fail)(Error::Code::not_found, "no such component");
  }
  std::string refused(Values values) {
    const auto opened = open(std::move(values));
    assert_false(opened.has_value());
    return opened.error().message;
  }
  std::string file(const std::string& name) const {
    return read_file(path + "/" + name, 1'000'000).value_or("none");
  }
  // Without the body.
  std::string headers() const {
    const std::string text = file("message");
    return text.substr(0, text.find("\n\n") + 1);
  }
};

AttributionResult failed_job() {
  AttributionResult result;
  result.context.scheduler = "slurm";
  result.context.cluster = "c1";
  result.context.job_id = "77";
  result.context.name = "train";
  result.context.user = "ada";
  result.terminal_state = TerminalState::failed;
  result.sub_domain = SubDomain::user_code;
  result.domain = Domain::workload;
  return result;
}

std::string line_of(const std::string& text, const std::string& begin) {
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with(begin)) return std::string(line);
  }
  return "";
}

void a_failure_is_mailed_with_its_card(void**) {
  MailSystem mail;
  const auto output =
      mail.open({{"to", "ops@example.org,{user}@example.org"}, {"from", "nvab@example.org"}});
  if (!output) fail_msg("%s", output.error().message.c_str());
  assert_true((*output)->wants(failed_job()));
  assert_true((*output)->write(failed_job()).has_value());
  assert_string_equal(mail.file("arguments").c_str(),
                      "-i\n-f\nnvab@example.org\n--\nops@example.org\nada@example.org\n");
  const std::string headers = mail.headers();
  assert_string_equal(line_of(headers, "Subject").c_str(), "Subject: job 77 failed: user_code");
  assert_string_equal(line_of(headers, "From").c_str(), "From: nvab@example.org");
  assert_non_null(std::strstr(headers.c_str(), "To: ops@example.org,\n ada@example.org\n"));
  assert_non_null(std::strstr(headers.c_str(), "\nDate: "));
  assert_non_null(std::strstr(mail.file("message").c_str(), "job 77"));
}

void only_what_was_asked_for_is_mailed(void**) {
  MailSystem mail;
  const auto wants = [&](const std::string& when, const AttributionResult& result) {
    const auto output = mail.open({{"to", "ops"}, {"when", when}});
    assert_true(output.has_value());
    return (*output)->wants(result);
  };
  AttributionResult result = failed_job();
  assert_true(wants("failures", result) && wants("all", result));
  assert_false(wants("infrastructure", result) || wants("drain", result));
  assert_false(wants("requested", result));
  result.context.files.is_requested = true;
  assert_true(wants("requested", result));
  result.domain = Domain::infrastructure;
  assert_true(wants("infrastructure", result));
  result.verdict.advice.drain = {{"n1", "nvab:…", 0.9}};
  assert_true(wants("drain", result));
  result = failed_job();
  result.terminal_state = TerminalState::completed;
  assert_false(wants("failures", result));
  assert_true(wants("all", result));
  result.terminal_state = TerminalState::cancelled;
  result.sub_domain = SubDomain::user_cancel;
  assert_false(wants("failures", result));
  result = failed_job();
  result.provisional = true;
  assert_false(wants("all", result));
}

void a_hostile_job_makes_no_header_and_no_recipient(void**) {
  MailSystem mail;
  const char* body = "{name}\n.\nFrom me\n{name}";
  assert_true(write_file(mail.path + "/body", body).has_value());
  const auto output = mail.open({{"to", "ops@example.org"},
                                 {"subject", "{name} of {user}"},
                                 {"body_file", mail.path + "/body"}});
  assert_true(output.has_value());
  AttributionResult result = failed_job();
  result.context.name = "x\r\nBcc: eve@evil.org\r\n\r\nbody\x1b[31m\x01 -f root; `id`";
  result.context.user = "eve\nCc: all@example.org";
  result.context.cluster = "c\nX-Evil: 1";
  assert_true((*output)->write(result).has_value());
  const std::string headers = mail.headers();
  for (const std::string_view line : split(headers, '\n')) {
    const std::string_view name = line.substr(0, line.find(':'));
    for (const char* evil : {"Bcc", "Cc", "X-Evil"}) assert_false(name == evil);
  }
  assert_string_equal(
      line_of(headers, "Subject").c_str(),
      "Subject: x Bcc: eve@evil.org  body -f root; `id` of eve Cc: all@example.org");
  assert_string_equal(mail.file("arguments").c_str(), "-i\n--\nops@example.org\n");
  // A dot alone, and what mail folders part mails by, are no lines of the message.
  assert_null(std::strstr(mail.file("message").c_str(), "\n.\n"));
  assert_null(std::strstr(mail.file("message").c_str(), "\nFrom me"));
  assert_null(std::strchr(mail.file("message").c_str(), '\x1b'));
}

void a_hostile_user_is_nobodys_address(void**) {
  MailSystem mail;
  const auto output = mail.open({{"to", "{user}@example.org"}});
  assert_true(output.has_value());
  for (const char* user :
       {"-oQ/tmp", "a,b", "a b", "a\nb", "", "|sh", "a@evil.org", "\"a\"", "é"}) {
    AttributionResult result = failed_job();
    result.context.user = user;
    const auto done = (*output)->write(result);
    assert_false(done.has_value());
    assert_int_equal(done.error().code, Error::Code::unsupported);
  }
  assert_string_equal(mail.file("arguments").c_str(), "none");
}

void text_of_any_kind_arrives(void**) {
  MailMessage message;
  message.to = {"ops"};
  message.subject = "jöb " + std::string(60, 'x') + " =?utf-8?Q?faked?= end";
  message.body = "größe=1 \n" + std::string(300, 'y');
  message.date = *parse_rfc3339("2026-03-01T10:00:05Z");
  const std::string text = mail_text(message);
  assert_non_null(std::strstr(text.c_str(), "\nDate: Sun, 1 Mar 2026 10:00:05 +0000\n"));
  assert_non_null(std::strstr(text.c_str(), "\nSubject: =?utf-8?Q?j=C3=B6b=20xx"));
  assert_null(std::strstr(text.c_str(), "faked?="));
  assert_non_null(std::strstr(text.c_str(), "gr=C3=B6=C3=9Fe=3D1=20\n"));
  for (const std::string_view line : split(text, '\n')) assert_true(line.size() <= 90);
}

void trouble_of_the_mail_system_is_told(void**) {
  MailSystem mail;
  const auto output = mail.open({{"to", "ops"}, {"timeout_seconds", "300ms"}});
  assert_true(output.has_value());
  assert_true(write_file(mail.path + "/refuse", "x").has_value());
  const auto refused = (*output)->write(failed_job());
  assert_false(refused.has_value());
  assert_int_equal(refused.error().code, Error::Code::unavailable);
  assert_non_null(std::strstr(refused.error().message.c_str(), "exit code 75: no such host"));
  assert_true(write_file(mail.path + "/hang", "x").has_value());
  const auto hung = (*output)->write(failed_job());
  assert_false(hung.has_value());
  assert_int_equal(hung.error().code, Error::Code::timeout);
}

void settings_that_cannot_work_are_refused(void**) {
  MailSystem mail;
  assert_non_null(std::strstr(mail.refused({}).c_str(), "it has no recipient"));
  assert_non_null(std::strstr(mail.refused({{"to", "a b"}}).c_str(), "is no mail address"));
  assert_non_null(std::strstr(mail.refused({{"to", "-t"}}).c_str(), "is no mail address"));
  assert_non_null(std::strstr(mail.refused({{"to", "x"}, {"from", "a\nb"}}).c_str(), "from"));
  const std::string wrong = mail.refused({{"to", "x"}, {"subject", "{jobb}"}});
  assert_non_null(std::strstr(wrong.c_str(), "subject: {jobb} is no placeholder"));
  std::filesystem::remove(mail.path + "/sendmail");
  assert_non_null(std::strstr(mail.refused({{"to", "x"}}).c_str(), "cannot be run here"));
}

void templates_know_text_from_json(void**) {
  AttributionResult result = failed_job();
  result.context.name = "a\"b\\\n";
  result.verdict.root_cause.confidence = 0.5;
  const auto body = ResultTemplate::parse(
      R"({"name": "job {name}!", "plain": {name}, "rank": {rank}, "sure": {confidence}, "\"": "{job}", "o": {}})");
  if (!body) fail_msg("%s", body.error().message.c_str());
  assert_string_equal(
      body->json(result).c_str(),
      R"({"name": "job a\"b\\\n!", "plain": "a\"b\\\n", "rank": null, "sure": 0.5, "\"": "77", "o": {}})");
  const auto whole = ResultTemplate::parse("{\"r\": {result}}");
  assert_true(Json::parse(whole->json(result)).has_value());
  const auto text = ResultTemplate::parse("{job} {state} {rank}{ {Job} {");
  assert_string_equal(text->text(result).c_str(), "77 failed { {Job} {");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_failure_is_mailed_with_its_card),
      cmocka_unit_test(only_what_was_asked_for_is_mailed),
      cmocka_unit_test(a_hostile_job_makes_no_header_and_no_recipient),
      cmocka_unit_test(a_hostile_user_is_nobodys_address),
      cmocka_unit_test(text_of_any_kind_arrives),
      cmocka_unit_test(trouble_of_the_mail_system_is_told),
      cmocka_unit_test(settings_that_cannot_work_are_refused),
      cmocka_unit_test(templates_know_text_from_json),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
