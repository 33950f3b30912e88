// SPDX-License-Identifier: Apache-2.0
// What --doctor looks at on this machine: the spool of task records, the queue, the service that
// judges.
#pragma once

#include <string>

#include "common/base/deadline.hh"
#include "common/base/settings.hh"
#include "epilog/probe.hh"

namespace nvab {

ProbeFindings probe_spool(const std::string& folder);
ProbeFindings probe_queue(const std::string& folder);
// Of [run] service_url; nothing where it is not set.
ProbeFindings probe_service(const ComponentSettings& run, Deadline deadline);

// Whether files can be made in a folder: makes one without a name, which leaves nothing behind.
bool is_writable(const std::string& folder);

}  // namespace nvab
