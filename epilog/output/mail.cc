// SPDX-License-Identifier: Apache-2.0
// The component output.mail: the verdict as a mail, through the machine's own sendmail, which reads
// the message from its standard input and gets the recipients as arguments.
#include <fmt/core.h>
#include <unistd.h>

#include <utility>

#include "common/base/subprocess.hh"
#include "common/base/text.hh"
#include "epilog/connector.hh"
#include "epilog/output/mail_message.hh"
#include "epilog/output/result_filter.hh"
#include "epilog/output/result_template.hh"

namespace nvab {
namespace {

constexpr std::size_t kMaxRecipients = 100;

constexpr ParamSpec kParams[] = {
    {.name = "to",
     .type = ParamType::list,
     .help = "Recipients; may hold placeholders, such as {user}@example.org"},
    {.name = "from", .help = "Sender; default: whom sendmail takes"},
    {.name = "subject",
     .fallback = "job {job} {state}: {sub_domain}",
     .help = "Subject, with placeholders"},
    {.name = "body", .fallback = "{card}", .help = "Text, with placeholders"},
    {.name = "body_file", .type = ParamType::path, .help = "File with the text, instead"},
    {.name = "when", .fallback = "failures", .help = "Which results", .choices = kResultFilters},
    {.name = "sendmail",
     .type = ParamType::path,
     .fallback = "/usr/sbin/sendmail",
     .help = "The program that sends it"},
    {.name = "timeout_seconds",
     .type = ParamType::duration,
     .fallback = "30",
     .help = "Time that sending one has"},
};

struct Options {
  std::vector<ResultTemplate> to;
  std::string from;
  ResultTemplate subject, body;
  ResultFilter when = ResultFilter::failures;
  std::string sendmail;
  Duration timeout{};
};

class Mail final : public Output {
 public:
  explicit Mail(Options options) : options_(std::move(options)) {}
  bool wants(const AttributionResult& result) const override {
    return passes(options_.when, result);
  }
  Result<void> write(const AttributionResult& result) override;

 private:
  Result<std::vector<std::string>> recipients(const AttributionResult& result) const;

  Options options_;
};

// What a job's fields make of an address is checked again: a user can be called anything.
Result<std::vector<std::string>> Mail::recipients(const AttributionResult& result) const {
  std::vector<std::string> to;
  for (const ResultTemplate& recipient : options_.to) {
    std::string address = recipient.text(result);
    if (!is_mail_address(address)) {
      return fail(Error::Code::unsupported,
                  fmt::format("'{}' is no mail address", excerpt(sanitize(address), 80)));
    }
    to.push_back(std::move(address));
  }
  return to;
}

Result<void> Mail::write(const AttributionResult& result) {
  auto to = recipients(result);
  if (!to) return fail("sending mail", std::move(to.error()));
  MailMessage message;
  message.from = options_.from;
  message.to = *to;
  message.subject = options_.subject.text(result);
  message.body = sanitize(options_.body.text(result));
  message.date = std::chrono::floor<Duration>(std::chrono::system_clock::now());
  message.headers = {{"X-Nvab-Job", result.context.key()},
                     {"X-Nvab-Sub-Domain", std::string(to_string(result.sub_domain))}};
  Command command;
  // -i: a line with a dot alone does not end the message.
  command.argv = {options_.sendmail, "-i"};
  if (!options_.from.empty()) command.argv.insert(command.argv.end(), {"-f", options_.from});
  command.argv.push_back("--");
  command.argv.insert(command.argv.end(), to->begin(), to->end());
  command.input = mail_text(message);
  command.deadline = Deadline::after(options_.timeout);
  const auto end = run_command(command);
  if (!end) return fail("sending mail", end.error());
  if (!end->succeeded()) return fail("sending mail", command_failure(command, *end));
  return {};
}

Result<std::unique_ptr<Output>> open_mail(const ComponentSettings& settings, Host&) {
  Options options;
  for (const std::string& address : settings.list("to")) {
    auto recipient = ResultTemplate::parse(address);
    if (!recipient) return fail("to", std::move(recipient.error()));
    const bool is_fixed = address.find('{') == std::string::npos;
    if (is_fixed && !is_mail_address(address)) {
      return fail(Error::Code::malformed, fmt::format("to: '{}' is no mail address", address));
    }
    options.to.push_back(std::move(*recipient));
  }
  if (options.to.empty() || options.to.size() > kMaxRecipients) {
    return fail(Error::Code::malformed, options.to.empty()
                                            ? "it has no recipient; set to = [\"ops@example.org\"]"
                                            : "it has too many recipients; send to a mailing list");
  }
  options.from = settings.text("from");
  if (!options.from.empty() && !is_mail_address(options.from)) {
    return fail(Error::Code::malformed, fmt::format("from: '{}' is no mail address", options.from));
  }
  auto subject = ResultTemplate::parse(settings.text("subject"));
  if (!subject) return fail("subject", std::move(subject.error()));
  auto body = ResultTemplate::read(settings.text("body"), settings.text("body_file"));
  if (!body) return fail("body", std::move(body.error()));
  options.subject = std::move(*subject);
  options.body = std::move(*body);
  options.when = result_filter_from(settings.text("when"));
  options.sendmail = settings.text("sendmail");
  options.timeout = settings.duration("timeout_seconds");
  if (::access(options.sendmail.c_str(), X_OK) != 0) {
    return fail(
        Error::Code::not_found,
        fmt::format("{} cannot be run here: install a mail system (Debian: postfix, msmtp-mta "
                    "or nullmailer), or set sendmail",
                    options.sendmail));
  }
  return std::make_unique<Mail>(std::move(options));
}

}  // namespace

extern const OutputComponent output_mail;
constinit const OutputComponent output_mail = {
    .spec = {.framework = "output",
             .name = "mail",
             .help = "A mail for each result, through sendmail",
             .params = kParams},
    .query = nullptr,
    .open = open_mail,
};

}  // namespace nvab
