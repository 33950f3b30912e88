// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target over stored inputs where there is no libFuzzer: fuzz_NAME [-v] PATH...
// A path is a file or a folder. A few inputs that break careless parsers always run.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

// The exact size on the heap, so that a read past the end is seen by AddressSanitizer.
void run_one(const std::string& input) {
  const std::vector<std::uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

bool run_file(const fs::path& path, bool verbose) {
  if (verbose) std::fprintf(stderr, "%s\n", path.c_str());
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (!file) {
    std::fprintf(stderr, "cannot open the stored input %s: %s\n", path.c_str(),
                 std::strerror(errno));
    return false;
  }
  std::string input;
  char chunk[1 << 16];
  for (std::size_t n; (n = std::fread(chunk, 1, sizeof chunk, file)) > 0;) input.append(chunk, n);
  std::fclose(file);
  run_one(input);
  return true;
}

std::vector<fs::path> files_below(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(path, error)) {
    if (entry.is_regular_file(error)) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

void run_built_in() {
  run_one("");
  run_one(std::string(1, '\0'));
  run_one("\n");
  run_one(std::string(70000, '\0'));
  run_one(std::string(70000, '\xff'));
  run_one(std::string(70000, '['));
  run_one(std::string(70000, '"'));
  run_one("\xf0\x9f\x92");  // cut inside a UTF-8 sequence
}

}  // namespace

int main(int argc, char** argv) {
  bool verbose = false;
  bool ok = true;
  std::size_t count = 0;
  run_built_in();
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "-v") == 0) {
      verbose = true;
      continue;
    }
    for (const fs::path& path : files_below(argv[i])) {
      ok = run_file(path, verbose) && ok;
      ++count;
    }
  }
  std::printf("replayed %zu stored inputs\n", count);
  return ok ? 0 : 1;
}
