// SPDX-License-Identifier: Apache-2.0
// How fast a log is scanned for all built-in rules, beside what people would use instead, all on
// the same file in the same run, taking turns: a plain read of the file, ripgrep, grep, Python.
// BENCH_MIB=512 sets the log's size, BENCH_RUNS=5 the rounds. Needs thrice the size in $TMPDIR.
#include <fcntl.h>
#include <fmt/core.h>
#include <isa-l/igzip_lib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>

#include "common/base/decode.hh"
#include "common/base/file.hh"
#include "common/base/text.hh"
#include "common/engine/builtin_packs.hh"
#include "common/engine/ruleset.hh"
#include "tests/support/measure.hh"
#include "tests/support/training_log.hh"

namespace {

namespace fs = std::filesystem;
using namespace nvab;
using namespace nvab::test;

// A slow peer gets as much of the log as it reads in this time, from the first size on.
constexpr double kLongEnough = 2;
constexpr std::uint64_t kFirstPiece = 64ULL << 10;
constexpr int kSlowRounds = 3;
// grep -E may never come to an end with so many patterns.
constexpr const char* kPatience = "60";
constexpr int kTimedOut = 124;  // says timeout(1)
constexpr unsigned kManyFiles = 1000;

constexpr const char* kPython = R"(
import re, sys
patterns = []
for line in open(sys.argv[1], encoding="latin-1"):
    try: patterns.append(re.compile(line.rstrip("\n")))
    except re.error: pass
hits = 0
for line in open(sys.argv[2], errors="replace"):
    for pattern in patterns:
        if pattern.search(line): hits += 1
)";

std::string setting(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "bench_scan: %s\n", why.c_str());
  std::exit(1);
}

// The lines that rules say they match, as they stand in a program's log.
std::vector<std::string> failure_lines() {
  std::vector<std::string> lines;
  for (const BuiltinPack& builtin : builtin_packs()) {
    const auto pack = parse_pack(std::string(builtin.name) + ".toml", builtin.text);
    if (!pack) give_up(pack.error().message);
    for (const Rule& rule : pack->rules) {
      const bool reads_logs =
          std::find(rule.sources.begin(), rule.sources.end(), Source::applog) != rule.sources.end();
      if (!reads_logs || rule.role == Role::progress) continue;
      for (const RuleTest& test : rule.tests) {
        if (test.want_match && test.line.find('\n') == std::string::npos) {
          lines.push_back(test.line);
        }
      }
    }
  }
  return lines;
}

// Group names and atomic groups are ours; the others' engines want plain groups.
std::string plain_groups(const std::string& pattern) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    out += pattern[i];
    if (pattern[i] == '\\' && i + 1 < pattern.size()) {
      out += pattern[++i];
      continue;
    }
    if (pattern.compare(i, 3, "(?<") != 0 || i + 3 >= pattern.size()) continue;
    if (pattern[i + 3] == '=' || pattern[i + 3] == '!') continue;
    out += "?:";
    i = pattern.find('>', i);
  }
  return out;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// POSIX extended: no \d, \s, \w as grep spells them in brackets, no non-capturing groups.
std::string posix_pattern(const std::string& pattern) {
  const std::string out = replaced(replaced(pattern, "(?:", "("), "\\d", "[0-9]");
  return replaced(out, "\\s", "[[:space:]]");
}

// Another program on a log, or on a piece of it.
struct Peer {
  std::string row, log;
  std::vector<std::string> command;  // without the file
  std::string piece = {};
  double start_up = 0;  // seconds with an empty file
};

struct Patterns {
  std::vector<std::string> ripgrep, ripgrep_pcre, grep, literals;
  std::size_t all = 0, refused = 0;
};

class Bench {
 public:
  int run();

 private:
  void make_logs();
  void make_log(const std::string& name, std::uint64_t bytes, unsigned failing);
  void make_small_files();
  void make_patterns();
  bool takes(const std::vector<std::string>& command) const;
  void write_list(const std::string& name, const std::vector<std::string>& lines) const;

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::uint64_t size(const std::string& name) const { return fs::file_size(path(name)); }
  void scan(const std::string& row, const std::string& log, std::uint64_t bytes);
  void add_peers();
  bool find_piece(Peer* peer) const;
  ProgramRun run_peer(const Peer& peer, const std::string& file) const;
  void measure(const Peer& peer);
  void read_sum(const std::string& log);
  void inflate();
  void unpack_zstd();
  void round(int number);
  void print() const;
  void print_row(const std::string& name, const std::string& beside) const;

  std::string folder_, nvab_run_;
  std::uint64_t bytes_ = 0;
  int rounds_ = 0;
  Patterns patterns_;
  std::vector<Peer> peers_;
  Samples rates_;  // GB of plain text a second
  Samples peaks_;  // MB
};

void Bench::make_log(const std::string& name, std::uint64_t bytes, unsigned failing) {
  std::ofstream file(path(name), std::ios::binary);
  const std::vector<std::string> failures = failure_lines();
  TrainingLog log;
  log.bytes = bytes;
  log.failing_per_million = failing;
  log.failures = failures;
  write_training_log(log, [&](std::string_view piece) {
    file.write(piece.data(), static_cast<std::streamsize>(piece.size()));
    return file.good();
  });
  file.close();
  if (!file) give_up("writing " + path(name) + ": no room? Set TMPDIR or BENCH_MIB");
}

// The same text again, cut into many files.
void Bench::make_small_files() {
  const auto text = read_file(path("train.log"), bytes_ * 2);
  if (!text) give_up(text.error().message);
  fs::create_directory(path("many"));
  const std::size_t share = text->size() / kManyFiles;
  std::size_t at = 0;
  for (unsigned i = 0; i < kManyFiles; ++i) {
    std::size_t end = i + 1 == kManyFiles ? text->size() : text->find('\n', at + share) + 1;
    if (end == 0) end = text->size();
    std::ofstream(path(fmt::format("many/rank_{}.log", i)), std::ios::binary)
        .write(text->data() + at, static_cast<std::streamsize>(end - at));
    at = end;
  }
}

void Bench::make_logs() {
  make_log("train.log", bytes_, 100);
  make_log("storm.log", bytes_ / 4, 200'000);
  make_log("tenth.log", bytes_ / 10, 100);
  make_small_files();
  if (run_program({"gzip", "-6c", path("tenth.log")}, path("tenth.log.gz")).exit_code != 0 ||
      run_program({"zstd", "-q3c", path("tenth.log")}, path("tenth.log.zst")).exit_code != 0) {
    give_up("gzip and zstd are needed (Debian: gzip, zstd)");
  }
}

bool Bench::takes(const std::vector<std::string>& command) const {
  const int code = run_program(command).exit_code;
  return code == 0 || code == 1;  // found, or not found
}

void Bench::write_list(const std::string& name, const std::vector<std::string>& lines) const {
  std::ofstream file(path(name), std::ios::binary);
  for (const std::string& line : lines) file << line << '\n';
}

void Bench::make_patterns() {
  const auto rules = Ruleset::load("default", "");
  if (!rules) give_up(rules.error().message);
  for (const Rule& rule : (*rules)->rules()) {
    if (rule.metric || rule.role == Role::progress) continue;
    for (const Literal& literal : (*rules)->literals(rule)) {
      patterns_.literals.push_back(literal.text);
    }
    ++patterns_.all;
    std::string pattern = plain_groups(rule.match);
    if (rule.caseless) pattern = "(?i:" + pattern + ")";
    if (takes({"rg", "-q", "-e", pattern, "/dev/null"})) {
      patterns_.ripgrep.push_back(pattern);
    } else if (pattern.find("\\n") == std::string::npos &&
               takes({"rg", "-q", "-P", "-e", pattern, "/dev/null"})) {
      patterns_.ripgrep_pcre.push_back(pattern);
    } else {
      ++patterns_.refused;
    }
    const std::string posix = posix_pattern(pattern);
    if (posix.find("(?") == std::string::npos && posix.find("\\n") == std::string::npos &&
        takes({"grep", "-q", "-E", "-e", posix, "/dev/null"})) {
      patterns_.grep.push_back(posix);
    }
  }
  write_list("rg.list", patterns_.ripgrep);
  write_list("rg_pcre.list", patterns_.ripgrep_pcre);
  write_list("grep.list", patterns_.grep);
  write_list("literals.list", patterns_.literals);
  std::vector<std::string> all = patterns_.ripgrep;
  all.insert(all.end(), patterns_.ripgrep_pcre.begin(), patterns_.ripgrep_pcre.end());
  write_list("python.list", all);
  std::ofstream(path("scan.py")) << kPython;
}

void Bench::scan(const std::string& row, const std::string& log, std::uint64_t bytes) {
  const ProgramRun run = run_program(
      {nvab_run_, "--connector", "eca", "static", "job_id", "1", "--connector", "eca", "static",
       "state", "FAILED", "--connector", "log", "file.app", "paths", path(log), "--format", "json"},
      path("out.json"));
  if (run.exit_code != 0) give_up("nvab-run failed on " + path(log));
  rates_.add(row, static_cast<double>(bytes) / run.seconds / 1e9);
  peaks_.add(row, static_cast<double>(run.peak_kib) / 1000);
}

ProgramRun Bench::run_peer(const Peer& peer, const std::string& file) const {
  std::vector<std::string> command = {"timeout", kPatience};
  command.insert(command.end(), peer.command.begin(), peer.command.end());
  command.push_back(file);
  return run_program(command);
}

// The part of the log on which it takes long enough; false when it takes too long on any.
bool Bench::find_piece(Peer* peer) const {
  const ProgramRun empty = run_peer(*peer, "/dev/null");
  if (empty.exit_code == kTimedOut) return false;
  peer->start_up = empty.seconds;
  const std::uint64_t all = size(peer->log);
  std::ifstream log(path(peer->log), std::ios::binary);
  for (std::uint64_t bytes = kFirstPiece;; bytes *= 4) {
    peer->piece = path(peer->row.substr(0, peer->row.find(',')) + "." + peer->log);
    std::string text(std::min(bytes, all), '\0');
    log.seekg(0);
    log.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.erase(text.rfind('\n') + 1);
    std::ofstream(peer->piece, std::ios::binary) << text;
    const ProgramRun run = run_peer(*peer, peer->piece);
    if (run.exit_code == kTimedOut) return bytes > kFirstPiece;
    if (run.seconds - peer->start_up >= kLongEnough || bytes >= all) return true;
  }
}

void Bench::measure(const Peer& peer) {
  const ProgramRun run = run_peer(peer, peer.piece);
  if (run.exit_code != 0 && run.exit_code != 1) give_up(peer.row + " failed on " + peer.piece);
  const double seconds = std::max(run.seconds - peer.start_up, 1e-6);
  rates_.add(peer.row, static_cast<double>(fs::file_size(peer.piece)) / seconds / 1e9);
  peaks_.add(peer.row, static_cast<double>(run.peak_kib) / 1000);
}

void Bench::add_peers() {
  const std::vector<std::string> rg = {"rg", "-c", "--regex-size-limit",
                                       "1G", "-f", path("rg.list")};
  const Peer peers[] = {
      {"wc -l", "train.log", {"wc", "-l"}},
      {"ripgrep, the rules it takes", "train.log", rg},
      {"ripgrep on failures, same rules", "storm.log", rg},
      {"ripgrep -P, the other rules", "train.log", {"rg", "-c", "-P", "-f", path("rg_pcre.list")}},
      {"grep -F, all literals", "train.log", {"grep", "-c", "-F", "-f", path("literals.list")}},
      {"grep -E, the rules it takes", "train.log", {"grep", "-c", "-E", "-f", path("grep.list")}},
      {"Python re, each rule on each line",
       "train.log",
       {"python3", path("scan.py"), path("python.list")}}};
  for (const Peer& peer : peers) {
    peers_.push_back(peer);
    if (find_piece(&peers_.back())) continue;
    std::printf("%s: nothing within %s s\n", peer.row.c_str(), kPatience);
    peers_.pop_back();
  }
}

// The limit: each byte of the file, mapped anew, read once.
void Bench::read_sum(const std::string& log) {
  const Fd file(::open(path(log).c_str(), O_RDONLY | O_CLOEXEC));
  const std::size_t bytes = size(log);
  volatile std::uint64_t result = 0;
  const double seconds = seconds_of([&] {
    void* mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (mapped == MAP_FAILED) give_up("mapping " + path(log));
    std::uint64_t sums[4] = {};
    const auto* words = static_cast<const std::uint64_t*>(mapped);
    for (std::size_t i = 0; i + 4 <= bytes / sizeof *words; i += 4) {
      for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += words[i + lane];
    }
    result = sums[0] + sums[1] + sums[2] + sums[3];
    ::munmap(mapped, bytes);
  });
  rates_.add("read-only sum, mmap, first touch", static_cast<double>(bytes) / seconds / 1e9);
}

// Both decoders in blocks from the page cache, what they make thrown away.
void Bench::inflate() {
  std::vector<unsigned char> in(kReadBlock), out(kReadBlock);
  const Fd file(::open(path("tenth.log.gz").c_str(), O_RDONLY | O_CLOEXEC));
  const double seconds = seconds_of([&] {
    auto state = std::make_unique<inflate_state>();
    isal_inflate_init(state.get());
    state->crc_flag = ISAL_GZIP;
    for (ssize_t got; (got = ::read(file.get(), in.data(), in.size())) > 0;) {
      state->next_in = in.data();
      state->avail_in = static_cast<std::uint32_t>(got);
      do {
        state->next_out = out.data();
        state->avail_out = static_cast<std::uint32_t>(out.size());
        if (isal_inflate(state.get()) != ISAL_DECOMP_OK) give_up("isa-l refuses its input");
      } while (state->avail_out == 0);
    }
  });
  rates_.add("isa-l alone, gzip", static_cast<double>(size("tenth.log")) / seconds / 1e9);
}

void Bench::unpack_zstd() {
  std::vector<char> in(kReadBlock), out(kReadBlock);
  const Fd file(::open(path("tenth.log.zst").c_str(), O_RDONLY | O_CLOEXEC));
  const double seconds = seconds_of([&] {
    const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                       &ZSTD_freeDCtx);
    for (ssize_t got; (got = ::read(file.get(), in.data(), in.size())) > 0;) {
      ZSTD_inBuffer input{in.data(), static_cast<std::size_t>(got), 0};
      while (input.pos < input.size) {
        ZSTD_outBuffer output{out.data(), out.size(), 0};
        if (ZSTD_isError(ZSTD_decompressStream(context.get(), &output, &input))) {
          give_up("libzstd refuses its input");
        }
      }
    }
  });
  rates_.add("libzstd alone, zstd", static_cast<double>(size("tenth.log")) / seconds / 1e9);
}

void Bench::round(int number) {
  read_sum("train.log");
  scan("nvab-run, one log", "train.log", size("train.log"));
  scan("nvab-run, a tenth of it", "tenth.log", size("tenth.log"));
  scan("nvab-run, 1000 files", "many", size("train.log"));
  scan("nvab-run, every fifth line fails", "storm.log", size("storm.log"));
  inflate();
  scan("nvab-run, gzip", "tenth.log.gz", size("tenth.log"));
  unpack_zstd();
  scan("nvab-run, zstd", "tenth.log.zst", size("tenth.log"));
  if (number >= kSlowRounds) return;
  for (const Peer& peer : peers_) measure(peer);
}

void Bench::print_row(const std::string& name, const std::string& beside) const {
  const std::vector<double>& values = rates_.of(name);
  const double rate = rates_.median_of(name);
  const double other = rates_.median_of(beside);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double ratio = other > 0 ? rate / other : 0;
  const double sum = rates_.median_of("read-only sum, mmap, first touch");
  std::printf("%-36s %10.5f  [%.5f..%.5f] %7.2f %% %8.1f  %9.2f x %s\n", name.c_str(), rate, *low,
              *high, 100 * rate / sum, peaks_.median_of(name), ratio, beside.c_str());
}

void Bench::print() const {
  std::printf(
      "%zu rules with a pattern: ripgrep takes %zu, its -P %zu more, %zu span lines; grep "
      "-E takes %zu\n",
      patterns_.all, patterns_.ripgrep.size(), patterns_.ripgrep_pcre.size(), patterns_.refused,
      patterns_.grep.size());
  std::printf("%-36s %10s  %-20s %9s %8s  beside\n", "", "GB/s", "[least..most]", "of sum", "MB");
  const std::string one = "nvab-run, one log", rg = "ripgrep, the rules it takes";
  const std::map<std::string, std::string> beside = {{one, rg},
                                                     {"nvab-run, a tenth of it", one},
                                                     {"nvab-run, 1000 files", one},
                                                     {"nvab-run, every fifth line fails", one},
                                                     {"nvab-run, gzip", "isa-l alone, gzip"},
                                                     {"nvab-run, zstd", "libzstd alone, zstd"},
                                                     {"ripgrep on failures, same rules", rg}};
  for (const std::string& name : rates_.names()) {
    const auto found = beside.find(name);
    print_row(name, found != beside.end() ? found->second : one);
  }
  // One line a figure: benchmark, row, median, least, most, peak in MB.
  for (const std::string& name : rates_.names()) {
    const std::vector<double>& values = rates_.of(name);
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    std::printf("BENCH\tscan\t%s\tGB/s\t%.6f\t%.6f\t%.6f\t%.1f\n", name.c_str(),
                rates_.median_of(name), *low, *high, peaks_.median_of(name));
  }
}

int Bench::run() {
  nvab_run_ = setting("BUILDDIR", ".") + "/obj/nvab-run";
  bytes_ = std::strtoull(setting("BENCH_MIB", "512").c_str(), nullptr, 10) << 20;
  rounds_ = std::atoi(setting("BENCH_RUNS", "5").c_str());
  std::string place = setting("TMPDIR", "/tmp") + "/nvab-bench-XXXXXX";
  if (::mkdtemp(place.data()) == nullptr) give_up("making a folder in " + place);
  folder_ = place;
  make_patterns();
  make_logs();
  add_peers();
  scan("warm", "train.log", bytes_);
  rates_ = {};
  peaks_ = {};
  for (int number = 0; number < rounds_; ++number) round(number);
  print();
  fs::remove_all(folder_);
  return 0;
}

}  // namespace

int main() { return Bench().run(); }
