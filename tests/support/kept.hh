// SPDX-License-Identifier: Apache-2.0
// Keeps what a collector delivers, and a folder for a test's files that goes away with it.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "epilog/collector.hh"

namespace nvab::test {

struct Kept final : ObservationSink {
  std::vector<Observation> all;
  void deliver(Observation&& observation) override { all.push_back(std::move(observation)); }

  std::vector<LogEntry> entries() const {
    std::vector<LogEntry> entries;
    for (const Observation& o : all)
      entries.insert(entries.end(), o.entries.begin(), o.entries.end());
    return entries;
  }
  std::vector<MetricSample> samples() const {
    std::vector<MetricSample> samples;
    for (const Observation& o : all)
      samples.insert(samples.end(), o.samples.begin(), o.samples.end());
    return samples;
  }
  // The first entry that holds `text`, or null.
  const LogEntry* find(std::string_view text) const {
    for (const Observation& o : all) {
      for (const LogEntry& entry : o.entries) {
        if (entry.message.find(text) != std::string::npos) return &entry;
      }
    }
    return nullptr;
  }
};

struct TempFolder {
  std::string path;
  explicit TempFolder(const std::string& name)
      : path(std::filesystem::absolute(name + "." + std::to_string(::getpid())).string()) {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
  }
  ~TempFolder() { std::filesystem::remove_all(path); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::string operator/(const std::string& name) const { return path + "/" + name; }
};

}  // namespace nvab::test
