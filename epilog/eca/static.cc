// SPDX-License-Identifier: Apache-2.0
// See static.hh. Fields are put into the same JSON and read by the same reader as the file.
#include "epilog/eca/static.hh"

#include <utility>

#include "common/base/file.hh"
#include "epilog/connector.hh"

namespace nvab {
namespace {

constexpr ParamSpec kParams[] = {
    {.name = "file", .type = ParamType::path, .help = "A job.json; fields given beside it win"},
    {.name = "scheduler", .help = "slurm, kueue or static"},
    {.name = "cluster", .help = "Name of the cluster"},
    {.name = "job_id", .help = "Id of the job"},
    {.name = "attempt", .type = ParamType::integer, .help = "0 for the first run of the job"},
    {.name = "name", .help = "Name of the job"},
    {.name = "user", .help = "Its owner"},
    {.name = "account", .help = "Account it is charged to"},
    {.name = "partition", .help = "Partition or queue"},
    {.name = "state", .help = "The scheduler's word: COMPLETED, FAILED, TIMEOUT, CANCELLED, ..."},
    {.name = "exit_code", .help = "As sacct prints it: code:signal"},
    {.name = "derived_exit_code", .help = "The same of the steps"},
    {.name = "reason", .help = "The scheduler's reason"},
    {.name = "submit_time", .help = "When it was submitted (RFC 3339)"},
    {.name = "start_time", .help = "When it started (RFC 3339)"},
    {.name = "end_time", .help = "When it ended (RFC 3339)"},
    {.name = "time_limit_s", .type = ParamType::integer, .help = "Its time limit in seconds"},
    {.name = "nodes", .type = ParamType::list, .help = "Its nodes; hostlists such as n[1-4]"},
    {.name = "ntasks", .type = ParamType::integer, .help = "Number of its tasks"},
    {.name = "gpus_per_node", .type = ParamType::integer, .help = "GPUs it had on each node"},
    {.name = "uid", .type = ParamType::integer, .help = "User id of its owner"},
    {.name = "cancelled_by", .help = "Who cancelled it, where somebody did"},
};

Result<Json> read_json(const std::string& path) {
  auto text = read_file(path, kMaxContextBytes);
  if (!text) return tl::unexpected<Error>(text.error());
  auto json = Json::parse(*text);
  if (!json) return fail(path, json.error());
  if (!json->is_object()) {
    return fail(Error::Code::malformed, path + ": a job is a JSON object");
  }
  return json;
}

class StaticContext final : public ContextSource {
 public:
  explicit StaticContext(ExecutionContext context) : context_(std::move(context)) {}
  Result<std::vector<ExecutionContext>> discover() override {
    return std::vector<ExecutionContext>{context_};
  }

 private:
  ExecutionContext context_;
};

void put_fields(const ComponentSettings& settings, Json* job) {
  for (const ParamSpec& param : kParams) {
    if (param.name == "file" || !settings.is_set(param.name)) continue;
    switch (param.type) {
      case ParamType::integer:
        job->set(param.name, Json::of(static_cast<std::int64_t>(settings.integer(param.name))));
        break;
      case ParamType::list:
        job->set(param.name, json_strings(settings.list(param.name)));
        break;
      default:
        job->set(param.name, Json::of(settings.text(param.name)));
    }
  }
}

Result<std::unique_ptr<ContextSource>> open_static(const ComponentSettings& settings, Host&) {
  Json job = Json::object();
  if (settings.is_set("file")) {
    auto read = read_json(settings.text("file"));
    if (!read) return tl::unexpected<Error>(read.error());
    job = std::move(*read);
  }
  put_fields(settings, &job);
  if (!job.has("scheduler")) job.set("scheduler", Json::of("static"));
  auto context = context_from_json(job);
  if (!context) return tl::unexpected<Error>(context.error());
  return std::make_unique<StaticContext>(std::move(*context));
}

}  // namespace

Result<ExecutionContext> read_job_file(const std::string& path) {
  auto json = read_json(path);
  if (!json) return tl::unexpected<Error>(json.error());
  auto context = context_from_json(*json);
  if (!context) return fail(path, context.error());
  return context;
}

extern const EcaComponent eca_static;
constinit const EcaComponent eca_static = {
    .spec = {.framework = "eca",
             .name = "static",
             .help = "One job described by a job.json or by single fields",
             .params = kParams},
    .query = nullptr,
    .open = open_static,
};

}  // namespace nvab
