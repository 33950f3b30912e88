// SPDX-License-Identifier: Apache-2.0
// Large JSON that is never in memory as a whole: values are handed on while the text arrives, by
// RapidJSON. For moderate documents use common/base/json.
#pragma once

#include <functional>
#include <string_view>

#include "common/base/result.hh"

namespace nvab {

// What a document is made of, in its order; views live as long as the call. False ends the reading.
class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
  virtual bool key(std::string_view name) = 0;
  virtual bool text(std::string_view value) = 0;
  virtual bool number(double value) = 0;
  virtual bool other() = 0;  // true, false, null
  virtual bool begin(bool is_object) = 0;
  virtual bool end(bool is_object) = 0;
};

// Reads one document. `next` gives the next piece of its bytes, valid until it is called again;
// empty at the end. Strings come as valid UTF-8. True: whole; false: `events` ended it. Errors:
// malformed (not JSON, cut short, nested deeper than kMaxJsonDepth), with the offset.
Result<bool> read_json(const std::function<std::string_view()>& next, JsonEvents& events);

}  // namespace nvab
