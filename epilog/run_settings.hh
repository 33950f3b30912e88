// SPDX-License-Identifier: Apache-2.0
// The section [run]: what concerns a run as a whole.
#pragma once

#include "common/base/settings.hh"

namespace nvab {

extern const ComponentSpec run_spec;

}  // namespace nvab
