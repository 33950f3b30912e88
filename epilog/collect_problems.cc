// SPDX-License-Identifier: Apache-2.0
// See collect_problems.hh.
#include "epilog/collect_problems.hh"

#include <fmt/core.h>

#include <utility>

namespace nvab {

void CollectProblems::add(const std::string& path, Error error) {
  ++count_;
  if (error.code == Error::Code::not_found) ++missing_;
  if (error.code == Error::Code::permission) ++denied_;
  if (error.code == Error::Code::timeout) ++late_;
  if (named_.size() < kMaxNamedProblems) named_.push_back({path, std::move(error)});
}

CollectOutcome CollectProblems::outcome(bool anything_read, const char* noun) const {
  CollectOutcome outcome;
  outcome.details = Json::object();
  if (count_ == 0) {
    outcome.status = anything_read ? ConnectorStatus::ok : ConnectorStatus::no_data;
    return outcome;
  }
  if (late_ > 0) {
    outcome.status = ConnectorStatus::timed_out;
  } else if (missing_ == count_ && !anything_read) {
    outcome.status = ConnectorStatus::no_data;
  } else if (missing_ + denied_ == count_ && denied_ > 0) {
    outcome.status = ConnectorStatus::denied;
  } else {
    outcome.status = ConnectorStatus::error;
  }
  const Problem& first = named_.front();
  const bool says_which = first.error.message.find(first.path) != std::string::npos;
  outcome.reason = says_which ? first.error.message : first.path + ": " + first.error.message;
  if (count_ > 1) {
    outcome.reason += fmt::format(" (and {} more {}s with a problem)", count_ - 1, noun);
  }
  Json list = Json::array();
  for (const Problem& problem : named_) {
    Json item = Json::object();
    item.set("path", Json::of(problem.path));
    item.set("code", Json::of(to_string(problem.error.code)));
    item.set("reason", Json::of(problem.error.message));
    list.push(std::move(item));
  }
  outcome.details.set("problems", std::move(list));
  if (count_ > named_.size()) {
    outcome.details.set("problems_not_named",
                        Json::of(static_cast<std::int64_t>(count_ - named_.size())));
  }
  return outcome;
}

}  // namespace nvab
