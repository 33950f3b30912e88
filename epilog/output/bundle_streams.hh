// SPDX-License-Identifier: Apache-2.0
// The log streams of a bundle that is being saved: one plain file and one index a stream.
#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "common/base/result.hh"
#include "common/model/observation.hh"

namespace nvab {

class BundleStreams {
 public:
  explicit BundleStreams(std::string folder) : folder_(std::move(folder)) {}

  // Appends the entries and coverage of one observation. The first error is kept and returned by
  // finish(); after it nothing is written.
  void add(const Observation& observation);
  Result<void> finish();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  using File = std::unique_ptr<std::FILE, Close>;
  using Key = std::pair<Source, std::string>;  // source and stream

  // Makes the stream's files the open ones; one stream is open at a time, and streams come one
  // after the other.
  bool open(const Key& key);
  const std::string& name_of(const Key& key);
  void put(std::FILE* file, const std::string& text);
  void close();

  std::string folder_;
  std::map<Key, std::string> names_;
  std::set<std::pair<Source, std::string>> taken_;
  Key current_;
  File plain_, index_;
  Result<void> status_;
};

// A file name for what a stream is called: its last part, without what is not plain in a name.
std::string stream_file_name(std::string_view stream);

}  // namespace nvab
