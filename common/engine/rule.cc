// SPDX-License-Identifier: Apache-2.0
// The words of a rule, as packs, explanations and verdicts write them.
#include "common/engine/rule.hh"

namespace nvab {

std::string_view to_string(Role role) {
  switch (role) {
    case Role::root:
      return "root";
    case Role::cascade:
      return "cascade";
    case Role::confirmation:
      return "confirmation";
    case Role::teardown:
      return "teardown";
    case Role::progress:
      return "progress";
    case Role::placement:
      return "placement";
    case Role::benign:
      return "benign";
  }
  return "";
}

std::string_view to_string(Blame blame) {
  switch (blame) {
    case Blame::none:
      return "none";
    case Blame::node:
      return "node";
    case Blame::gpu:
      return "gpu";
    case Blame::nic:
      return "nic";
    case Blame::peer:
      return "peer";
  }
  return "";
}

std::string_view to_string(Reach reach) {
  switch (reach) {
    case Reach::same_rank:
      return "same_rank";
    case Reach::same_gpu:
      return "same_gpu";
    case Reach::same_node:
      return "same_node";
    case Reach::job:
      return "job";
  }
  return "";
}

std::string_view to_string(MetricTest test) {
  switch (test) {
    case MetricTest::changes_to:
      return "changes_to";
    case MetricTest::increases:
      return "increases";
    case MetricTest::above:
      return "above";
    case MetricTest::below:
      return "below";
    case MetricTest::has_bits:
      return "has_bits";
  }
  return "";
}

}  // namespace nvab
