// SPDX-License-Identifier: Apache-2.0
// spank.h as C++ has to include it. In Slurm 22.05 its hook prototypes stand outside its own
// extern "C": without ours they would be mangled, and Slurm would never find the hooks.
#pragma once

extern "C" {
#include <slurm/spank.h>
}
