// SPDX-License-Identifier: Apache-2.0
// Who wrote a line of a program's output: the prefixes of srun, torchrun, Open MPI, Ray, NCCL.
#include "common/engine/extract/head_parts.hh"

namespace nvab {
namespace {

constexpr std::size_t kRankDigits = 7;
constexpr std::size_t kPidDigits = 9;

// "word<digits>" or "word <digits>"; the number, and how much that took.
std::optional<int> worded_number(std::string_view text, std::string_view word,
                                 std::size_t* length) {
  if (!text.starts_with(word)) return std::nullopt;
  std::size_t at = word.size();
  if (at < text.size() && (text[at] == ' ' || text[at] == '=' || text[at] == ':')) ++at;
  if (at < text.size() && text[at - 1] == ':' && text[at] == ' ') ++at;
  std::size_t digits = 0;
  const auto number = leading_number(text.substr(at), kRankDigits, &digits);
  *length = at + digits;
  return number;
}

// After the closing bracket: an optional colon and one space.
void take_close(HeadReader* in, std::size_t length) {
  in->rest.remove_prefix(length);
  in->take(":");
  in->take(" ");
}

// "3: text" of `srun -l`, which right-aligns: " 3: text" beside "12: text".
bool take_task_label(HeadReader* in) {
  const std::size_t padding = std::min(in->rest.find_first_not_of(' '), in->rest.size());
  if (padding > kRankDigits) return false;
  const std::string_view label = in->rest.substr(padding);
  std::size_t length = 0;
  const auto task = leading_number(label, kRankDigits, &length);
  if (!task || label.size() <= length || label[length] != ':') return false;
  const std::string_view behind = label.substr(length + 1);
  if (!behind.empty() && behind.front() != ' ') return false;
  in->head.task = task;
  in->rest = behind.empty() ? behind : behind.substr(1);
  return true;
}

// "[1,3]<stderr>: text", "[prterun-host-77@1,3]<stdout>: text" of mpirun --tag-output.
bool take_mpi_tag(HeadReader* in) {
  std::string_view text = in->rest.substr(1);
  const std::size_t close = text.find(']');
  if (close == std::string_view::npos || close > 80) return false;
  std::string_view inside = text.substr(0, close);
  const std::size_t at = inside.rfind('@');
  if (at != std::string_view::npos) inside.remove_prefix(at + 1);
  const std::size_t comma = inside.find(',');
  std::size_t length = 0;
  if (comma == std::string_view::npos) return false;
  const auto rank = leading_number(inside.substr(comma + 1), kRankDigits, &length);
  text.remove_prefix(close + 1);
  if (!rank || comma + 1 + length != inside.size()) return false;
  if (!text.starts_with("<std") || text.size() < 9 || text.substr(7, 1) != ">") return false;
  in->head.rank = rank;
  in->rest = text;
  take_close(in, 8);
  return true;
}

// "[rank3]: text", "[rank 3] text", "[default0]:text", "[3]: text".
bool take_bracketed_rank(HeadReader* in, bool at_start) {
  const std::string_view inside = in->rest.substr(1);
  std::size_t length = 0;
  for (std::string_view word : {"rank", "RANK"}) {
    const auto rank = worded_number(inside, word, &length);
    if (!rank || !inside.substr(length).starts_with(']')) continue;
    in->head.rank = rank;
    take_close(in, length + 2);
    return true;
  }
  for (std::string_view word : {"default", "trainer", "worker", "local_rank"}) {
    const auto local = worded_number(inside, word, &length);
    if (!local || !inside.substr(length).starts_with("]:")) continue;
    in->head.local_rank = local;
    take_close(in, length + 2);
    return true;
  }
  const auto number = leading_number(inside, kRankDigits, &length);
  // "[0]:" alone is an item of torchrun's report.
  if (!at_start || !number || !inside.substr(length).starts_with("]: ")) return false;
  in->head.rank = number;
  take_close(in, length + 2);
  return true;
}

bool is_source_file(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return false;
  const std::string_view ending = name.substr(dot + 1);
  for (std::string_view known :
       {"py", "cc", "cpp", "c", "h", "hpp", "cu", "go", "rs", "cxx", "f90"}) {
    if (ending == known) return true;
  }
  return false;
}

// "[n3:4711] *** text" of Open MPI.
bool take_node_pid(HeadReader* in) {
  const std::string_view inside = in->rest.substr(1);
  const std::size_t colon = inside.find(':');
  if (colon == std::string_view::npos || colon > 80) return false;
  const std::string_view node = inside.substr(0, colon);
  std::size_t length = 0;
  const auto pid = leading_number(inside.substr(colon + 1), kPidDigits, &length);
  if (!pid || !is_host_name(node) || is_digit(node[0]) || is_source_file(node)) return false;
  if (!inside.substr(colon + 1 + length).starts_with("] ")) return false;
  in->head.node = node;
  in->head.pid = pid;
  in->rest = inside.substr(colon + length + 3);
  return true;
}

// "[titan] 2025-…": a name that only a stamp behind it proves to be part of the head.
bool take_named_logger(HeadReader* in) {
  const std::size_t close = in->rest.find("] ");
  if (close == std::string_view::npos || close > 40) return false;
  for (char c : in->rest.substr(1, close - 1)) {
    if (!is_letter(c) && c != '_' && c != '.' && c != '-') return false;
  }
  if (!any_stamp(in->rest.substr(close + 2))) return false;
  in->rest.remove_prefix(close + 2);
  return true;
}

// "n1:4711:4720 [3] NCCL WARN text", with a source file before NCCL or not. The device stays out:
// it counts what the process sees, which need not be the local rank.
bool take_nccl(HeadReader* in) {
  const std::string_view text = in->rest;
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon > 253) return false;
  std::size_t pid_length = 0, tid_length = 0, device_length = 0;
  const auto pid = leading_number(text.substr(colon + 1), kPidDigits, &pid_length);
  std::string_view behind = pid ? text.substr(colon + 1 + pid_length) : std::string_view();
  if (!behind.starts_with(':') || !is_host_name(text.substr(0, colon))) return false;
  if (!leading_number(behind.substr(1), kPidDigits, &tid_length)) return false;
  behind.remove_prefix(1 + tid_length);
  if (!behind.starts_with(" [")) return false;
  behind.remove_prefix(2);
  if (behind.starts_with('-')) behind.remove_prefix(1);  // "[-1]": no device yet
  if (!leading_number(behind, 4, &device_length)) return false;
  behind.remove_prefix(device_length);
  if (!behind.starts_with("] ") || behind.substr(0, 120).find("NCCL ") == std::string_view::npos) {
    return false;
  }
  in->head.node = text.substr(0, colon);
  in->head.pid = pid;
  in->rest = behind.substr(2);
  return true;
}

// vLLM's workers: "VllmWorker rank=3 pid=12", "Worker_TP3 pid=12". Where pipeline or data
// parallelism adds words ("Worker_PP0_TP3"), the number is not the rank.
void read_worker_name(std::string_view inside, LineHead* head) {
  constexpr std::string_view kTensorRank = "Worker_TP";
  std::size_t length = 0;
  const std::size_t word = inside.find(" rank=");
  if (word != std::string_view::npos) {
    head->rank = leading_number(inside.substr(word + 6), kRankDigits, &length);
  } else if (inside.starts_with(kTensorRank)) {
    const auto rank = leading_number(inside.substr(kTensorRank.size()), kRankDigits, &length);
    if (inside.substr(kTensorRank.size() + length).starts_with(' ')) head->rank = rank;
  }
}

// "(RayTrainWorker pid=12, ip=10.0.0.7) text", "(rank 3) text".
bool take_parenthesised(HeadReader* in) {
  const std::size_t close = in->rest.find(") ");
  if (close == std::string_view::npos || close > 120) return false;
  const std::string_view inside = in->rest.substr(1, close - 1);
  std::size_t length = 0;
  for (std::string_view word : {"rank", "Rank", "RANK"}) {
    const auto rank = worded_number(inside, word, &length);
    if (!rank || length != inside.size()) continue;
    in->head.rank = rank;
    in->rest.remove_prefix(close + 2);
    return true;
  }
  read_worker_name(inside, &in->head);
  const std::size_t key = inside.find("pid=");
  if (key == std::string_view::npos || (key > 0 && inside[key - 1] != ' ')) return false;
  const auto pid = leading_number(inside.substr(key + 4), kPidDigits, &length);
  if (!pid) return false;
  in->head.pid = pid;
  const std::size_t ip = inside.find("ip=", key);
  if (ip != std::string_view::npos) in->head.node = inside.substr(ip + 3);
  in->rest.remove_prefix(close + 2);
  return true;
}

// "rank 3: text", "rank3: text"; and PyTorch's and Cray MPI's "[Rank 3]", "Rank 3 [", which stay
// in the text because they belong to the message.
bool take_worded_rank(HeadReader* in) {
  std::size_t length = 0;
  for (std::string_view word : {"rank", "Rank", "RANK"}) {
    const auto rank = worded_number(in->rest, word, &length);
    if (!rank) continue;
    if (in->rest.substr(length).starts_with(": ")) {
      in->head.rank = rank;
      in->rest.remove_prefix(length + 2);
      return true;
    }
    if (in->rest.substr(length).starts_with(" [") && !in->head.rank) in->head.rank = rank;
  }
  return false;
}

void see_message_rank(HeadReader* in) {
  std::size_t length = 0;
  const auto rank = worded_number(in->rest.substr(1), "Rank ", &length);
  if (rank && in->rest.substr(1 + length).starts_with(']') && !in->head.rank) in->head.rank = rank;
}

// "2025-09-02T12:51:05.536952536Z stdout F text" of container runtimes.
bool take_cri(HeadReader* in) {
  const auto stamp = iso_stamp(in->rest);
  if (!stamp || stamp->kind != StampKind::zoned) return false;
  const std::string_view behind = in->rest.substr(stamp->length);
  if (!behind.starts_with(" stdout ") && !behind.starts_with(" stderr ")) return false;
  if (behind.size() < 9 || (behind[8] != 'F' && behind[8] != 'P')) return false;
  in->set_stamp(*stamp);
  in->head.container_stream = behind.substr(1, 6);
  in->head.is_partial = behind[8] == 'P';
  in->rest = behind.substr(9);
  in->take(" ");
  return true;
}

}  // namespace

bool take_host_label(HeadReader* in) {
  const std::size_t colon = in->rest.find(':');
  if (colon == std::string_view::npos || !is_host_name(in->rest.substr(0, colon))) return false;
  const std::string_view behind = in->rest.substr(colon + 1);
  if (!behind.empty() && behind.front() != ' ') return false;
  in->head.node = in->rest.substr(0, colon);
  in->rest = behind.empty() ? behind : behind.substr(1);
  return true;
}

bool take_launcher_prefix(HeadReader* in, bool at_start, HeadOptions options) {
  if (in->rest.size() < 3) return at_start && options.task_labels && take_task_label(in);
  const char first = in->rest.front();
  if (first == '[') {
    if (take_mpi_tag(in) || take_bracketed_rank(in, at_start)) return true;
    if (at_start && (take_node_pid(in) || take_named_logger(in))) return true;
    see_message_rank(in);
    return false;
  }
  if (first == '(') return take_parenthesised(in);
  if (is_digit(first)) {
    if (at_start && take_cri(in)) return true;
    if (at_start && options.task_labels && !in->head.task && take_task_label(in)) return true;
  }
  if (first == 'r' || first == 'R') {
    if (take_worded_rank(in)) return true;
  }
  return take_nccl(in);
}

}  // namespace nvab
