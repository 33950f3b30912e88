// SPDX-License-Identifier: Apache-2.0
// See redact.hh. One scanner cuts a text into tokens for both passes: paths, hostlists, words.
#include "epilog/output/redact.hh"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/hostlist.hh"
#include "common/base/text.hh"

namespace nvab {
namespace {

constexpr std::string_view kPublicHosts[] = {"localhost", "localhost6", "kernel", "gpu", "node"};
constexpr std::string_view kPublicUsers[] = {"root", "slurm", "nobody", "munge", "user"};

// Where software and the system lie: such paths say what runs, not who or on what.
constexpr std::string_view kSystemFolders[] = {"usr", "lib", "lib64", "bin",  "sbin",
                                               "etc", "dev", "proc",  "sys",  "boot",
                                               "run", "opt", "var",   "snap", "libexec"};

// Below these, names are those of public software.
constexpr std::string_view kSoftwareFolders[] = {
    "site-packages", "dist-packages", "lib", "lib64", "include", "bin", "libexec"};

// Words in paths that rules may go by and that give nobody away.
constexpr std::string_view kPublicWords[] = {
    "home",       "users",       "user",    "scratch",     "work",      "project",    "projects",
    "tmp",        "shm",         "data",    "dataset",     "datasets",  "log",        "logs",
    "out",        "output",      "outputs", "err",         "error",     "run",        "runs",
    "checkpoint", "checkpoints", "ckpt",    "ckpts",       "model",     "models",     "step",
    "epoch",      "global",      "iter",    "rank",        "task",      "slurm",      "job",
    "stdout",     "stderr",      "train",   "test",        "eval",      "src",        "python",
    "venv",       "env",         "envs",    "conda",       "miniconda", "cache",      "config",
    "lustre",     "gpfs",        "beegfs",  "nfs",         "mnt",       "fs",         "core",
    "dump",       "nccl",        "trace",   "main",        "container", "containers", "image",
    "images",     "app",         "applog",  "syslog",      "index",     "flight",     "recorder",
    "dmesg",      "messages",    "kern",    "local",       "share",     "json",       "ndjson",
    "triton",     "torch",       "hf",      "huggingface", "kubepods",  "kubelet",    "burstable",
    "besteffort", "guaranteed",  "slice",   "scope",       "cri",       "containerd", "crio",
    "docker",     "libpod",      "pod",     "pods",        "uid",       "system",     "slurmstepd",
    "batch",      "extern",      "cgroup",  "memory",
};

template <std::size_t N>
bool is_one_of(std::string_view word, const std::string_view (&list)[N]) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

bool is_alnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_joint(char c) { return c == '.' || c == '-' || c == '_'; }
bool is_word_char(char c) { return is_alnum(c) || is_joint(c); }
bool is_path_char(char c) {
  return is_word_char(c) || c == '/' || c == '+' || c == '@' || c == '%' || c == '~' || c == '=' ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::optional<std::array<int, 4>> parse_ipv4(std::string_view token) {
  const auto parts = split(token, '.');
  if (parts.size() != 4) return std::nullopt;
  std::array<int, 4> octets{};
  for (std::size_t i = 0; i < 4; ++i) {
    const auto value =
        is_number(parts[i]) && parts[i].size() <= 3 ? parse_int(parts[i]) : std::nullopt;
    if (!value || *value > 255) return std::nullopt;
    octets[i] = static_cast<int>(*value);
  }
  return octets;
}

// The token at the start of `text` that `is_part` makes up, without joints at its end.
template <typename IsPart>
std::string_view take_token(std::string_view text, IsPart is_part) {
  std::size_t end = 0;
  while (end < text.size() && is_part(text[end])) ++end;
  while (end > 0 && is_joint(text[end - 1])) --end;
  return text.substr(0, end);
}

int digits_for(std::size_t count) {
  return static_cast<int>(std::to_string(std::max<std::size_t>(count, 1)).size());
}

// "bmc", "ib0", "idrac", "hsn1": what stands beside a host's name in that of its other interfaces.
bool is_interface_word(std::string_view word) {
  constexpr std::size_t kMaxLetters = 7, kMaxDigits = 2;
  const std::size_t letters = std::min(word.find_first_of("0123456789"), word.size());
  const std::string_view digits = word.substr(letters);
  return letters > 0 && letters <= kMaxLetters && digits.size() <= kMaxDigits &&
         (digits.empty() || is_number(digits));
}

// "bmc-n2" and "n2-ib0" are names of n2 where n2 is known: renamed by that part, they still are.
bool is_name_of_another(const std::string& name, const std::map<std::string, std::string>& hosts) {
  for (std::size_t at = 1; at + 1 < name.size(); ++at) {
    if (!is_joint(name[at])) continue;
    const std::string before = name.substr(0, at), after = name.substr(at + 1);
    if (hosts.contains(before) && is_interface_word(after)) return true;
    if (hosts.contains(after) && is_interface_word(before)) return true;
  }
  return false;
}

// New names in the order of the old ones, all of one length.
void number(std::map<std::string, std::string>* names, std::string_view prefix) {
  std::vector<std::string> old;
  for (const auto& [name, renamed] : *names) old.push_back(name);
  std::sort(old.begin(), old.end(), host_less);
  const int digits = digits_for(old.size());
  std::size_t n = 0;
  for (const std::string& name : old) {
    (*names)[name] = fmt::format("{}{:0{}}", prefix, ++n, digits);
  }
}

}  // namespace

void Redactor::learn_host(std::string_view name) {
  const std::string whole = lower(name);
  if (parse_ipv4(whole)) {
    addresses_.emplace(whole, "");
    return;
  }
  const std::size_t dot = whole.find('.');
  const std::string host = whole.substr(0, dot);
  if (host.size() < 2 || is_number(host) || is_one_of(host, kPublicHosts)) return;
  hosts_.emplace(host, "");
  if (dot != std::string::npos && dot + 1 < whole.size())
    domains_.emplace(whole.substr(dot + 1), "");
}

void Redactor::learn_user(std::string_view name) {
  if (name.size() >= 2 && !is_number(name) && !is_one_of(name, kPublicUsers)) {
    users_.emplace(name, "");
  }
}

void Redactor::learn(std::string_view text) { (void)scan(text, Pass::learn); }

void Redactor::learn(const Json& json) {
  if (const auto text = json.as_string()) learn(*text);
  if (json.is_array()) {
    for (const Json& element : json.elements()) learn(element);
  }
  json.each([&](std::string_view, const Json& value) { learn(value); });
}

void Redactor::seal() {
  const std::map<std::string, std::string> all = hosts_;
  std::erase_if(hosts_, [&](const auto& host) { return is_name_of_another(host.first, all); });
  number(&hosts_, "host");
  number(&users_, "user");
  number(&words_, "w");
  number(&domains_, "site");
  std::uint32_t n = 0;
  for (auto& [old, renamed] : addresses_) {
    // 198.18.0.0/15 is set aside for tests of networks.
    ++n;
    renamed = fmt::format("198.{}.{}.{}", 18 + (n >> 16 & 1), n >> 8 & 255, n & 255);
  }
}

std::string Redactor::address(std::string_view token) const {
  const auto found = addresses_.find(std::string(token));
  return found == addresses_.end() || found->second.empty() ? std::string(token) : found->second;
}

// "n2-bmc", "n2.hpc.example.org", "slurmd_n2": names are looked for between joints, longest first.
std::string Redactor::word(std::string_view token) const {
  std::string out;
  for (std::size_t at = 0; at < token.size();) {
    std::size_t used = 0;
    for (std::size_t end = token.size(); end > at && used == 0; --end) {
      if (end < token.size() && !is_joint(token[end])) continue;
      const std::string part(token.substr(at, end - at));
      const std::string low = lower(part);
      const auto host = hosts_.find(low);
      const auto user = users_.find(part);
      const auto domain = at > 0 && token[at - 1] == '.' ? domains_.find(low) : domains_.end();
      if (host != hosts_.end()) {
        out += host->second;
      } else if (user != users_.end()) {
        out += user->second;
      } else if (domain != domains_.end()) {
        out += domain->second + ".example";
      } else {
        continue;
      }
      used = part.size();
    }
    if (used == 0) {
      while (at + used < token.size() && !is_joint(token[at + used])) ++used;
      out += token.substr(at, used);
    }
    at += used;
    while (at < token.size() && is_joint(token[at])) out += token[at++];
  }
  return out;
}

// "gn[1-3,7]" where its hosts are known; else as it is.
std::string Redactor::hostlist(std::string_view token) const {
  const auto expanded = expand_hostlist(token);
  if (!expanded) return std::string(token);
  std::vector<std::string> renamed;
  for (const std::string& name : *expanded) {
    const auto found = hosts_.find(lower(name));
    if (found == hosts_.end()) return std::string(token);
    renamed.push_back(found->second);
  }
  return fold_hostlist(renamed);
}

std::string Redactor::component(std::string_view part, Pass pass) const {
  std::string out;
  for (std::size_t at = 0; at < part.size();) {
    std::size_t end = at;
    while (end < part.size() && !is_joint(part[end])) ++end;
    const std::string piece(part.substr(at, end - at));
    // An ending such as ".py" or ".out" is part of what a file is.
    const bool is_ending = at > 0 && part[at - 1] == '.' && end == part.size() && piece.size() <= 7;
    const bool is_public = piece.empty() || is_number(piece) || is_ending ||
                           is_one_of(lower(piece), kPublicWords) ||
                           piece.find_first_not_of("=%+~@") == std::string::npos;
    if (is_public) {
      out += piece;
    } else if (pass == Pass::learn) {
      words_.emplace(piece, "");
    } else {
      const auto found = words_.find(piece);
      out += found == words_.end() ? piece : found->second;
    }
    at = end;
    if (at < part.size()) out += part[at++];
  }
  return out;
}

std::string Redactor::path(std::string_view token, Pass pass) const {
  const auto parts = split(token, '/');
  std::string out;
  bool is_software = parts.size() > 1 && is_one_of(parts[1], kSystemFolders);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += '/';
    const std::string renamed = word(parts[i]);
    const bool is_known = renamed != parts[i];  // a host or a user
    is_software = is_software || is_one_of(parts[i], kSoftwareFolders);
    out += is_known || is_software ? renamed : component(parts[i], pass);
  }
  return out;
}

std::string Redactor::scan(std::string_view text, Pass pass) const {
  std::string out;
  char previous = ' ';
  while (!text.empty()) {
    std::size_t used = 1;
    const bool may_begin = !is_alnum(previous) && previous != '_';
    if (text[0] == '/' && (may_begin && previous != '/') && text.size() > 1 &&
        is_path_char(text[1]) && text[1] != '/') {
      const std::string_view token = take_token(text, is_path_char);
      out += path(token, pass);
      used = token.size();
    } else if (may_begin && is_alnum(text[0])) {
      std::string_view token = take_token(text, is_word_char);
      const std::size_t bracket = token.size();
      const std::size_t close = text.find(']');
      if (bracket < text.size() && text[bracket] == '[' && close != std::string_view::npos) {
        const std::string_view list = text.substr(0, close + 1);
        const std::string renamed = hostlist(list);
        out += renamed == list ? word(token) : renamed;
        used = renamed == list ? token.size() : list.size();
      } else if (parse_ipv4(token)) {
        const bool is_public = token.starts_with("127.") || token == "0.0.0.0";
        if (pass == Pass::learn && !is_public) addresses_.emplace(token, "");
        out += address(token);
        used = token.size();
      } else {
        out += word(token);
        used = token.size();
      }
    } else {
      out += text[0];
    }
    used = std::max<std::size_t>(used, 1);
    previous = text[used - 1];
    text.remove_prefix(used);
  }
  return out;
}

std::string Redactor::apply(std::string_view text) const { return scan(text, Pass::apply); }

Json Redactor::apply(const Json& json) const {
  if (const auto text = json.as_string()) return Json::of(apply(*text));
  if (json.is_array()) {
    Json out = Json::array();
    for (const Json& element : json.elements()) out.push(apply(element));
    return out;
  }
  if (!json.is_object()) return json;
  Json out = Json::object();
  json.each([&](std::string_view key, const Json& value) {
    const auto host = hosts_.find(std::string(key));
    // A job's `gpus` has hosts for names; no member of any format of ours is a known host else.
    const bool is_host = host != hosts_.end() && value.is_array();
    out.set(is_host ? std::string_view(host->second) : key, apply(value));
  });
  return out;
}

}  // namespace nvab
