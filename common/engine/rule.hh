// SPDX-License-Identifier: Apache-2.0
// A rule as written in a pack (nvab-rules(5)), checked but not compiled. Rules are data: what a
// line, a metric, a scheduler fact or a task's end means, whom it blames and what it explains.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hh"
#include "common/base/time.hh"
#include "common/model/observation.hh"
#include "common/model/taxonomy.hh"

namespace nvab {

enum class Role {
  root,          // can be why the job ended
  cascade,       // follows from something else; a last resort as root
  confirmation,  // says more about a root, never one by itself
  teardown,      // part of being ended
  progress,      // the job moved on (captures: step, total, checkpoint)
  placement,     // who is where (captures: node, rank, local_rank, gpu, pci, uuid, mig, pid, addr)
  benign,        // looks bad and is not; takes lines away from other rules
};

// Whom the event blames when it is the root. `peer`: the node that the captures `peer`/`nodes`
// name, not the one that wrote the line.
enum class Blame { none, node, gpu, nic, peer };

// Where the effects of an event may show.
enum class Reach { same_rank, same_gpu, same_node, job };

enum class MetricTest {
  changes_to,  // the value becomes one of `values` inside the window (sticky gauges)
  increases,   // a counter grows by at least `threshold` inside the window (resets handled)
  above,       // at or above `threshold` for at least `hold`
  below,       // at or below `threshold` for at least `hold`
  has_bits,    // at least one of the `bits` set for at least `hold` (a mask of reasons)
};

struct MetricMatch {
  std::vector<std::string> names;             // any of these; globs allowed
  std::map<std::string, std::string> labels;  // what the series' labels must be; globs
  MetricTest test = MetricTest::increases;
  std::vector<double> values;
  double threshold = 0;
  std::uint64_t bits = 0;
  Duration hold{0};
  bool operator==(const MetricMatch&) const = default;
};

struct RuleTest {
  std::string line;  // the message, or a whole raw line; may hold '\n' (a block)
  bool want_match = true;
  std::map<std::string, std::string> want;  // captures that must come out like this
  bool operator==(const RuleTest&) const = default;
};

struct Rule {
  std::string id;     // "gpu.xid.79": lower case words, '.', '_' and '-'
  std::string cause;  // "xid_79_fell_off_bus"; default: the id with '_' for '.'
  std::string title;  // "GPU fell off the PCIe bus"
  std::string pack;
  std::vector<Source> sources;  // default: applog and syslog
  std::vector<std::string>
      apps;            // program that must have written it ("kernel"); globs; default: any
  std::string match;   // PCRE2; or `metric`
  std::string unless;  // PCRE2: no event when this matches the same text
  bool caseless = false;
  std::optional<MetricMatch> metric;
  Role role = Role::root;
  std::string outcome;  // one of outcomes(); required for role root, optional for cascade
  // The outcome instead, when every node of a job of several shows the symptom ("software_mismatch"
  // for a driver that is too old everywhere), and when only some of them do. Empty: no difference.
  std::string everywhere, only_some;
  Blame blames = Blame::none;  // default: node when the outcome blames nodes
  // How surely this symptom alone, seen in a failed job near its end, is why it ended: 1..100.
  // 90: documented as fatal; 70: usually fatal; 50: often survived; 30: weak hint.
  int strength = 70;
  // A catch-all: gives way to any other rule that matches the same entry.
  bool generic = false;
  // Globs of rule ids whose events may follow from this one, and until the packs are merged "@name"
  // for a set of them.
  std::vector<std::string> explains;
  std::vector<std::string> ends;  // globs of rule ids whose trouble on the same unit is over by it
  Duration within{std::chrono::minutes(35)};  // how long after it: past NCCL's usual 10 and 30 min
  Reach reach = Reach::job;
  std::optional<Action> action;  // default: the outcome's
  bool drain = false;            // the node needs repair before anybody uses it again
  std::string advice;            // one sentence: what to do now
  // One or two sentences for the person; {node}, {rank}, {gpu} and capture names are filled in.
  std::string explanation;
  std::string provenance;  // where the meaning of the message is documented, since which version
  bool shadow = false;     // evaluated and reported, without effect
  std::vector<RuleTest> tests;
  std::string file;  // where it was written, for messages
  int line = 0;
  bool operator==(const Rule&) const = default;
};

// Lists of rule globs with a name, for `explains` and `ends`.
using RuleSets = std::map<std::string, std::vector<std::string>, std::less<>>;

struct Pack {
  std::string name, version;
  RuleSets sets;
  std::vector<Rule> rules;
  std::vector<std::string> disabled;  // ids that this pack switches off
};

// Reads one TOML pack. Errors name file, line and key, and the nearest known word.
Result<Pack> parse_pack(std::string_view file_name, std::string_view text);

std::string_view to_string(Role role);
std::string_view to_string(Blame blame);
std::string_view to_string(Reach reach);
std::string_view to_string(MetricTest test);

}  // namespace nvab
