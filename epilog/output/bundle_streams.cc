// SPDX-License-Identifier: Apache-2.0
// See bundle_streams.hh.
#include "epilog/output/bundle_streams.hh"

#include <algorithm>
#include <cerrno>

#include "common/base/file.hh"
#include "epilog/output/entry_lines.hh"

namespace nvab {
namespace {

// File names end at 255 bytes; ".ndjson" and a number come behind.
constexpr std::size_t kMaxName = 200;

}  // namespace

std::string stream_file_name(std::string_view stream) {
  std::string name(stream.substr(stream.rfind('/') + 1));
  for (const std::string_view packed : {".gz", ".zst"}) {
    if (name.ends_with(packed)) name.resize(name.size() - packed.size());
  }
  const auto is_plain = [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '_' || c == '-' || c == '+';
  };
  std::replace_if(
      name.begin(), name.end(), [&](char c) { return !is_plain(c); }, '_');
  if (name.size() > kMaxName) name.erase(0, name.size() - kMaxName);
  name.erase(0, name.find_first_not_of('.'));  // hidden files are not read
  return name.empty() ? "stream" : name;
}

const std::string& BundleStreams::name_of(const Key& key) {
  const auto known = names_.find(key);
  if (known != names_.end()) return known->second;
  const std::string wanted = stream_file_name(key.second);
  std::string name = wanted;
  for (int n = 2; !taken_.emplace(key.first, name).second; ++n) {
    name = std::to_string(n) + "-" + wanted;  // in front: the ending may say rank or kind
  }
  return names_.emplace(key, name).first->second;
}

bool BundleStreams::open(const Key& key) {
  if (!status_) return false;
  if (plain_ && current_ == key) return true;
  close();
  if (!status_) return false;
  const std::string& name = name_of(key);
  const std::string plain = folder_ + "/" + plain_path(key.first, name);
  const std::string index = folder_ + "/" + index_path(key.first, name);
  for (const std::string& path : {plain, index}) {
    if (auto made = make_folders(path.substr(0, path.rfind('/'))); !made) {
      status_ = made;
      return false;
    }
  }
  plain_.reset(std::fopen(plain.c_str(), "ae"));
  index_.reset(plain_ ? std::fopen(index.c_str(), "ae") : nullptr);
  if (!index_) {
    status_ = tl::unexpected<Error>(from_errno(errno, "writing " + plain));
    return false;
  }
  current_ = key;
  return true;
}

void BundleStreams::put(std::FILE* file, const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size() && status_) {
    status_ = tl::unexpected<Error>(from_errno(errno, "writing a bundle's log"));
  }
}

void BundleStreams::close() {
  for (File* file : {&plain_, &index_}) {
    if (!*file) continue;
    if (std::fclose(file->release()) != 0 && status_) {
      status_ = tl::unexpected<Error>(from_errno(errno, "writing a bundle's log"));
    }
  }
}

void BundleStreams::add(const Observation& observation) {
  for (const LogEntry& entry : observation.entries) {
    if (!open({observation.source, entry.origin.stream})) return;
    put(plain_.get(), plain_lines(entry, observation.source));
    put(index_.get(), index_line(entry) + "\n");
  }
  for (const StreamCoverage& stream : observation.coverage.streams) {
    if (!open({observation.source, stream.stream})) return;
    Observation about;
    about.source = observation.source;
    about.connector = observation.connector;
    about.coverage = observation.coverage;
    about.coverage.streams = {stream};
    // Bytes of the whole observation would be counted once a stream.
    about.coverage.bytes_scanned = about.coverage.bytes_replaced = 0;
    about.coverage.lines_scanned = stream.lines;
    Json line = Json::object();
    line.set("observation", to_json(about));
    put(index_.get(), line.dump() + "\n");
  }
}

Result<void> BundleStreams::finish() {
  close();
  return status_;
}

}  // namespace nvab
