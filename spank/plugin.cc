// SPDX-License-Identifier: Apache-2.0
// Everything that Slurm can see of us. Each hook is one line behind guard(), which lets nothing
// escape into the host process: an error here must never cost a job or a node.
#include <cstdlib>
#include <exception>

#include "spank/recorder.hh"
#include "spank/settings.hh"
#include "spank/slurm.hh"

// The macro SPANK_PLUGIN defines constants, and in C++ a constant is private to its file: Slurm
// would say that the plugin's symbols are missing. Declared so, they are not.
extern "C" const char plugin_name[] = "attribution";
extern "C" const char plugin_type[] = "spank";
// Slurm compares major and minor with its own: one build for each release of Slurm.
extern "C" const unsigned int plugin_version = SLURM_VERSION_NUMBER;
extern "C" const unsigned int spank_plugin_version = 1;

namespace nvab {
namespace {

// How Slurm hands an option on by the environment, and the name that people can remember.
constexpr char kSlurmVariable[] = "SLURM_SPANK__SLURM_SPANK_OPTION_attribution_attribution";
constexpr char kOurVariable[] = "NVAB_ATTRIBUTION";

// All of the plugin's state. Nothing here has a constructor that runs: Slurm opens, closes and
// opens the plugin again before it uses it.
struct Plugin {
  Settings settings;
  Mode mode = Mode::automatic;
  Recorder recorder;
};
constinit Plugin g;

template <typename Body>
int guard(const char* hook, Body&& body) noexcept {
  try {
    body();
  } catch (const std::exception& e) {
    slurm_info("attribution: %s: %s", hook, e.what());
  } catch (...) {
    slurm_info("attribution: %s: unknown exception", hook);
  }
  return 0;
}

bool is_submission() noexcept {
  const spank_context_t context = spank_context();
  return context == S_CTX_LOCAL || context == S_CTX_ALLOCATOR;
}

// Called once where a job is submitted; in slurmstepd up to twice, and then there is nobody left
// to be told of a wrong value.
int take_option(int, const char* value, int remote) noexcept {
  if (read_mode(value, &g.mode) || remote != 0) return 0;
  slurm_error("attribution: --attribution=%.40s: say on, off or auto", value ? value : "");
  return -1;
}

// Slurm's own strings, but its type wants them writable.
char option_name[] = "attribution";
char option_argument[] = "on|off|auto";
char option_usage[] =
    "say why the job ended: on (also beside its output), off, or auto (as the site decides)";
spank_option option = {option_name, option_argument, option_usage, 1, 0, take_option};

void load(spank_t spank, int count, char** arguments) {
  const char* wrong = read_settings(count, arguments, &g.settings);
  const spank_context_t context = spank_context();
  // A user can do nothing about plugstack.conf; whoever looks after slurmd can.
  if (wrong != nullptr && !is_submission()) {
    slurm_info(
        "attribution: init: plugstack.conf: '%s' is none of spool=/DIR default=on|off|auto "
        "syslog=/SOCKET; ignored",
        wrong);
  }
  g.mode = g.settings.mode;
  if (context == S_CTX_SLURMD || context == S_CTX_JOB_SCRIPT) return;
  const char* asked = is_submission() ? getenv(kOurVariable) : nullptr;
  if (asked != nullptr) setenv(kSlurmVariable, asked, 0);
  const spank_err_t error = spank_option_register(spank, &option);
  if (error != ESPANK_SUCCESS) {
    slurm_info("attribution: init: registering --attribution: %s", spank_strerror(error));
  }
}

void start(spank_t spank) {
  if (is_submission()) {
    // Shown to Epilog and EpilogSlurmctld as SPANK_ATTRIBUTION.
    spank_job_control_setenv(spank, "ATTRIBUTION", mode_word(g.mode), 1);
  } else if (spank_context() == S_CTX_REMOTE && g.mode != Mode::off) {
    g.recorder.begin_step(spank, g.settings, g.mode);
  }
}

}  // namespace
}  // namespace nvab

extern "C" {

int slurm_spank_init(spank_t spank, int count, char** arguments) {
  return nvab::guard("init", [&] { nvab::load(spank, count, arguments); });
}

int slurm_spank_init_post_opt(spank_t spank, int, char**) {
  return nvab::guard("init_post_opt", [&] { nvab::start(spank); });
}

int slurm_spank_task_init(spank_t spank, int, char**) {
  return nvab::guard("task_init", [&] { nvab::g.recorder.begin_task(spank); });
}

int slurm_spank_task_post_fork(spank_t spank, int, char**) {
  return nvab::guard("task_post_fork", [&] { nvab::g.recorder.watch_task(spank); });
}

int slurm_spank_task_exit(spank_t spank, int, char**) {
  return nvab::guard("task_exit", [&] { nvab::g.recorder.end_task(spank); });
}

int slurm_spank_exit(spank_t, int, char**) {
  return nvab::guard("exit", [&] { nvab::g.recorder.end_step(); });
}
}
