// SPDX-License-Identifier: Apache-2.0
// The OpenAPI 3.1 document, made from the routing table: what is not there cannot be described, and
// what is there cannot be forgotten.
#pragma once

#include <string>

#include "service/router.hh"

namespace nvab {

std::string openapi_json(const Router& router);

}  // namespace nvab
