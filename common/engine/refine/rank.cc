// SPDX-License-Identifier: Apache-2.0
// Hypotheses from what no other event explains, and their confidence. The method (nvab-rules(5),
// "Confidence"): the rule's strength is the prior; each independent source that agrees removes 40 %
// of the doubt, each explained effect kind up to three 20 %; distance from the end without effects
// in between subtracts; a competitor of another sub-domain subtracts the more the closer it is. A
// total order decides ties.
#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "common/engine/refine/refine.hh"

namespace nvab {
namespace {

// Symptoms of one fault on one node come within this of each other.
constexpr Duration kSameFault = std::chrono::seconds(90);

std::string blamed_unit(const Event& event) {
  switch (event.rule->blames) {
    case Blame::none:
      return "rule/" + event.rule->id;
    case Blame::peer:
      return "peer";
    case Blame::node:
    case Blame::nic:
    case Blame::gpu:
      return "node/" + event.place.node;
  }
  return {};
}

bool near_in_time(const Event& a, const Event& b) {
  if (!a.time || !b.time) return true;
  const Duration apart = *a.time > *b.time ? *a.time - *b.time : *b.time - *a.time;
  return apart <= kSameFault;
}

bool belongs(const Analysis& a, const Hypothesis& hypothesis, const Event& event) {
  const Event& root = a.events[static_cast<std::size_t>(hypothesis.root)];
  if (hypothesis.outcome != event.rule->outcome) return false;
  if (blamed_unit(root) != blamed_unit(event)) return false;
  return event.rule->blames == Blame::none || near_in_time(root, event);
}

void add_culprits(Hypothesis* hypothesis, const Event& event) {
  const Place& place = event.place;
  const auto add = [](auto* list, auto value) {
    if (std::find(list->begin(), list->end(), value) == list->end()) list->push_back(value);
  };
  if (place.rank) add(&hypothesis->ranks, *place.rank);
  if (event.rule->blames == Blame::peer) {
    for (const std::string& peer : place.peers) add(&hypothesis->nodes, peer);
    if (place.peers.empty() && !place.node.empty()) add(&hypothesis->nodes, place.node);
    return;
  }
  if (event.rule->blames == Blame::none || place.node.empty()) return;
  add(&hypothesis->nodes, place.node);
  if (event.rule->blames == Blame::gpu &&
      (place.gpu || !place.pci.empty() || !place.uuid.empty())) {
    add(&hypothesis->gpus, GpuRef{place.node, place.gpu, place.pci, place.uuid});
  }
  if (event.rule->blames == Blame::nic && !place.nic.empty()) {
    add(&hypothesis->nics, NicRef{place.node, place.nic, place.port});
  }
}

void gather(Analysis& a, Role role) {
  for (std::size_t i = 0; i < a.events.size(); ++i) {
    const Event& event = a.events[i];
    if (!event.counts() || event.rule->role != role || event.cause >= 0) continue;
    if (event.rule->outcome.empty()) continue;
    Hypothesis* home = nullptr;
    for (Hypothesis& hypothesis : a.hypotheses) {
      if (belongs(a, hypothesis, event)) home = &hypothesis;
    }
    if (home == nullptr) {
      a.hypotheses.push_back({});
      home = &a.hypotheses.back();
      home->root = static_cast<int>(i);
      home->outcome = event.rule->outcome;
    }
    home->events.push_back(static_cast<int>(i));
    home->drain |= event.rule->drain;
    add_culprits(home, event);
  }
}

// Direct and indirect effects, and confirmations: all that the hypothesis accounts for.
void add_support(Analysis& a, std::vector<int>* home) {
  for (std::size_t i = 0; i < a.events.size(); ++i) {
    int at = a.events[i].cause;
    while (at >= 0 && (*home)[static_cast<std::size_t>(at)] < 0) {
      at = a.events[static_cast<std::size_t>(at)].cause;
    }
    if (at < 0 || (*home)[i] >= 0) continue;
    (*home)[i] = (*home)[static_cast<std::size_t>(at)];
    a.hypotheses[static_cast<std::size_t>((*home)[i])].events.push_back(static_cast<int>(i));
  }
}

bool confirms(const Event& root, const Event& witness) {
  const bool related = names_rule(root.rule->explains, witness.rule->id) ||
                       names_rule(witness.rule->explains, root.rule->id);
  if (!related) return false;
  if (!root.place.node.empty() && !witness.place.node.empty()) {
    return root.place.node == witness.place.node || witness.rule->reach == Reach::job;
  }
  return true;
}

void add_confirmations(Analysis& a) {
  for (std::size_t i = 0; i < a.events.size(); ++i) {
    const Event& event = a.events[i];
    if (!event.counts() || event.rule->role != Role::confirmation) continue;
    for (Hypothesis& hypothesis : a.hypotheses) {
      if (!confirms(a.events[static_cast<std::size_t>(hypothesis.root)], event)) continue;
      hypothesis.events.push_back(static_cast<int>(i));
    }
  }
}

// A source of evidence is independent of another when another program in another place wrote it.
std::size_t independent_sources(const Analysis& a, const Hypothesis& hypothesis) {
  std::set<Source> sources;
  for (const int index : hypothesis.events) {
    const Event& event = a.events[static_cast<std::size_t>(index)];
    if (event.rule->role != Role::cascade && !is_launcher_word(event)) sources.insert(event.source);
  }
  return std::max<std::size_t>(1, sources.size());
}

std::size_t effect_kinds(const Analysis& a, const Hypothesis& hypothesis) {
  std::set<std::string_view> kinds;
  for (const int index : hypothesis.events) {
    const Event& event = a.events[static_cast<std::size_t>(index)];
    if (event.cause >= 0) kinds.insert(event.rule->id);
  }
  return kinds.size();
}

// How much of the confidence is left for a symptom long before the end that led to nothing seen.
// Where dated progress is known, its last line says when the job stopped, and whatever it lived
// through is marked already.
double left_by_distance(const Analysis& a, const Hypothesis& hypothesis, std::size_t effects) {
  constexpr double kNearMinutes = 5, kPerDoubling = 0.08, kLeast = 0.6;
  const Event& root = a.events[static_cast<std::size_t>(hypothesis.root)];
  if (effects > 0 || a.progress.last_time || !a.context.end_time) return 1.0;
  if (!root.time || root.time_quality != TimeQuality::exact) return 1.0;
  const Time latest =
      a.events[static_cast<std::size_t>(hypothesis.events.back())].time.value_or(*root.time);
  const double minutes = to_seconds(*a.context.end_time - latest) / 60;
  if (minutes <= kNearMinutes) return 1.0;
  return std::max(kLeast, 1.0 - kPerDoubling * std::log2(minutes / kNearMinutes));
}

// A MIG instance on a shared GPU that nothing ties to the job, and that the job's own output does
// not complain about, is as likely another user's.
bool may_be_a_neighbours(const Analysis& a, const Hypothesis& hypothesis) {
  const Place& place = a.events[static_cast<std::size_t>(hypothesis.root)].place;
  if (place.mig.empty() || independent_sources(a, hypothesis) > 1) return false;
  const GpuRef gpu{place.node, place.gpu, place.pci, place.uuid};
  return !a.placement.owns_mig(gpu, place.mig);
}

// Trouble of the machine that jobs often survive, and that nothing in this one is seen to follow
// from. A job that hung to its time limit shows no more than that.
bool is_a_hiccup_so_far(const Analysis& a, const Hypothesis& hypothesis, const Rule& rule,
                        std::size_t effects) {
  constexpr int kOftenSurvived = 75;
  return a.is_state("FAILED") && effects == 0 && rule.strength < kOftenSurvived &&
         domain_of(sub_domain_of(hypothesis.outcome)) == Domain::infrastructure;
}

// Of like faults of the machine at different times the job lived through all but the last before it
// failed; what it lived through only dated progress can mark.
void prefer_the_last_of_like_faults(Analysis& a) {
  constexpr Duration kApart = std::chrono::minutes(5);
  const Hypothesis& best = a.hypotheses.front();
  const std::optional<Time> end = a.context.end_time;
  if (domain_of(sub_domain_of(best.outcome)) != Domain::infrastructure || a.progress.last_time ||
      !end)
    return;
  std::optional<Time> time = a.events[static_cast<std::size_t>(best.root)].time;
  std::size_t last = 0;
  for (std::size_t i = 1; i < a.hypotheses.size() && time; ++i) {
    const Event& other = a.events[static_cast<std::size_t>(a.hypotheses[i].root)];
    const bool alike = other.rule == a.events[static_cast<std::size_t>(best.root)].rule;
    if (!alike || !other.time || *other.time > *end || *other.time < *time + kApart) continue;
    time = other.time;
    last = i;
  }
  a.hypotheses[last].weigh(std::max(a.hypotheses[last].confidence, best.confidence),
                           "as likely as the earlier ones, which the job lived through");
  const auto front = a.hypotheses.begin();
  std::rotate(front, front + static_cast<long>(last), front + static_cast<long>(last) + 1);
}

// Of hypotheses about as likely as the best one, the one that surely came first goes to the front:
// what fails later in a job that is already failing is seldom why.
void prefer_the_first(Analysis& a) {
  constexpr double kAboutAsLikely = 0.12;
  std::size_t first = 0;
  for (std::size_t i = 1; i < a.hypotheses.size(); ++i) {
    if (a.hypotheses[i].confidence < a.hypotheses[0].confidence - kAboutAsLikely) break;
    const Event& candidate = a.events[static_cast<std::size_t>(a.hypotheses[i].root)];
    const Event& best = a.events[static_cast<std::size_t>(a.hypotheses[first].root)];
    if (surely_after(best, candidate)) first = i;
  }
  const auto front = a.hypotheses.begin();
  std::rotate(front, front + static_cast<long>(first), front + static_cast<long>(first) + 1);
}

// The prior: the strongest of the rules whose events are this root.
const Rule& strongest_rule(const Analysis& a, const Hypothesis& hypothesis) {
  const Rule* strongest = a.events[static_cast<std::size_t>(hypothesis.root)].rule;
  const Role role = strongest->role;
  for (const int index : hypothesis.events) {
    const Event& event = a.events[static_cast<std::size_t>(index)];
    const bool is_root = event.cause < 0 && event.rule->role == role;
    if (is_root && event.rule->strength > strongest->strength) strongest = event.rule;
  }
  return *strongest;
}

void weigh_evidence(const Analysis& a, Hypothesis* h) {
  const Rule& root = *a.events[static_cast<std::size_t>(h->root)].rule;
  const Rule& prior = strongest_rule(a, *h);
  const std::size_t more = std::min<std::size_t>(2, independent_sources(a, *h) - 1);
  const std::size_t effects = effect_kinds(a, *h);
  const auto leave_doubt = [&](double share, std::string_view why) {
    h->weigh(1.0 - (1.0 - h->confidence) * share, why);
  };
  h->weigh(prior.strength / 100.0, "strength of " + prior.id);
  leave_doubt(std::pow(0.6, static_cast<double>(more)), "other sources tell the same");
  leave_doubt(std::pow(0.8, static_cast<double>(std::min<std::size_t>(3, effects))),
              "what follows from it was seen");
  h->weigh(h->confidence * left_by_distance(a, *h, effects),
           "long before the end, and nothing followed");
  if (root.generic) h->weigh(h->confidence * 0.95, "the message does not say much");
  if (may_be_a_neighbours(a, *h)) {
    h->weigh(h->confidence * 0.33, "the MIG instance may be another job's");
  }
  if (is_a_hiccup_so_far(a, *h, root, effects)) {
    h->weigh(h->confidence * 0.65, "jobs often live through it, and nothing followed");
  }
}

}  // namespace

SubDomain sub_domain_of(std::string_view outcome) {
  const OutcomeRow* row = find_outcome(outcome);
  return row == nullptr ? SubDomain::unknown : row->sub_domain;
}

void build_hypotheses(Analysis& a) {
  gather(a, Role::root);
  if (a.hypotheses.empty()) gather(a, Role::cascade);
  std::vector<int> home(a.events.size(), -1);
  for (std::size_t h = 0; h < a.hypotheses.size(); ++h) {
    for (const int index : a.hypotheses[h].events)
      home[static_cast<std::size_t>(index)] = static_cast<int>(h);
  }
  add_support(a, &home);
  add_confirmations(a);
}

void rank_hypotheses(Analysis& a) {
  for (Hypothesis& hypothesis : a.hypotheses) {
    std::sort(hypothesis.events.begin(), hypothesis.events.end());
    weigh_evidence(a, &hypothesis);
  }
  std::sort(a.hypotheses.begin(), a.hypotheses.end(), [](const Hypothesis& l, const Hypothesis& r) {
    return std::make_tuple(-l.confidence, l.root) < std::make_tuple(-r.confidence, r.root);
  });
  if (a.hypotheses.empty()) return;
  prefer_the_first(a);
  prefer_the_last_of_like_faults(a);
}

}  // namespace nvab
