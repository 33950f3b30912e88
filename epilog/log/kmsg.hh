// SPDX-License-Identifier: Apache-2.0
// The kernel's ring of messages, /dev/kmsg: numbered records with the kernel's clock. See
// Documentation/ABI/testing/dev-kmsg of the kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/deadline.hh"
#include "common/base/result.hh"
#include "common/base/time.hh"
#include "epilog/collector.hh"
#include "epilog/host.hh"

namespace nvab {

struct KernelRecord {
  std::uint64_t sequence = 0;
  Duration uptime{0};  // on the kernel's clock
  int severity = 6, facility = 0;
  std::string text;  // unescaped; any bytes
  // Whoever may write to /dev/kmsg can put lines there; the kernel gives those any facility but 0.
  bool is_of_kernel() const { return facility == 0; }
};

// "6,339,5140900,-,caller=T1;NVRM: …". Nothing for anything else, as for lines that begin with a
// blank (devices of the record before). Pure.
std::optional<KernelRecord> parse_kernel_record(std::string_view line);

// What turns the kernel's clock into time of day. That clock stands while the machine sleeps.
struct KernelClock {
  Time now{};
  Duration monotonic{0};  // the kernel's clock at `now`
  Duration slept{0};      // since boot
  static KernelClock here();
};

// When each record was written: for all before the last sleep the sleeps behind it are taken off,
// each as long as the kernel says ("Timekeeping suspended for 12.345 seconds"); a single sleep
// about which it is silent is as long as the clock says. In the order of `records`. Pure.
std::vector<Time> times_of(const std::vector<KernelRecord>& records, const KernelClock& clock);

struct KernelRing {
  std::vector<KernelRecord> records;
  std::uint64_t lost = 0;  // numbers missing between the records
  bool truncated = false;  // more than kMaxKernelBytes
};
// Kernels keep 16 MB at most by their usual settings.
inline constexpr std::size_t kMaxKernelBytes = 32 * 1024 * 1024;

// Reads what is there and never waits for more. `path` may also be a file that holds such records.
// Errors: not_found, permission, timeout.
Result<KernelRing> read_kernel_ring(const std::string& path, Deadline deadline);

struct KmsgOptions {
  std::string connector = "log.kmsg";
  std::string path = "/dev/kmsg";
  Duration before{0}, after{0};           // of the job
  std::optional<KernelClock> clock = {};  // else this machine's when it is read
};

std::unique_ptr<Collector> make_log_kmsg(KmsgOptions options, Host& host);

}  // namespace nvab
