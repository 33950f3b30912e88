// SPDX-License-Identifier: Apache-2.0
// See local_nodes.hh.
#include "epilog/log/local_nodes.hh"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "common/base/file.hh"
#include "common/base/text.hh"
#include "epilog/log/spool.hh"

namespace nvab {
namespace {

std::string host_name() {
  std::array<char, 256> name = {};
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  return name.data();
}

std::string_view short_name(std::string_view host) { return host.substr(0, host.find('.')); }

bool same_host(std::string_view a, std::string_view b) {
  // Two full names must agree in full; a short one agrees with any domain.
  const bool both_full = a.find('.') != a.npos && b.find('.') != b.npos;
  return both_full ? lower(a) == lower(b) : lower(short_name(a)) == lower(short_name(b));
}

}  // namespace

std::vector<std::string> local_nodes(const ExecutionContext& context, const Host& host) {
  std::vector<std::string> nodes;
  if (!host.node.empty()) {
    if (context.has_node(host.node)) nodes.push_back(host.node);
    return nodes;
  }
  const std::string name = host_name();
  for (const std::string& node : context.nodes) {
    if (same_host(node, name)) nodes.push_back(node);
  }
  constexpr std::size_t kMaxBootId = 100;
  const auto boot = read_file(host.root + "/proc/sys/kernel/random/boot_id", kMaxBootId);
  const auto paths = spool_files(host.spool, context);
  if (!boot || !paths) return nodes;
  TaskTable table(context);
  for (const std::string& path : *paths) (void)read_task_file(path, host.deadline, &table);
  for (const TaskStream& stream : table.streams()) {
    const bool is_new = std::find(nodes.begin(), nodes.end(), stream.node) == nodes.end();
    if (stream.boot_id == trim(*boot) && is_new && context.has_node(stream.node)) {
      nodes.push_back(stream.node);
    }
  }
  return nodes;
}

std::string sole_node(const std::vector<std::string>& nodes) {
  return nodes.size() == 1 ? nodes.front() : std::string();
}

std::string_view node_called(const ExecutionContext& context, std::string_view name) {
  if (name.empty()) return {};
  if (context.has_node(name)) return name;
  for (const std::string& node : context.nodes) {
    if (same_host(node, name)) return node;
  }
  return {};
}

}  // namespace nvab
