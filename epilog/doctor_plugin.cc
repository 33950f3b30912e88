// SPDX-License-Identifier: Apache-2.0
// Where the plugin is, and for which Slurm it was built; see doctor_slurm.hh. It is not loaded: it
// needs functions that only slurmstepd and srun have.
#include <elf.h>

#include <cstring>

#include "common/base/file.hh"
#include "common/base/text.hh"
#include "epilog/doctor_slurm.hh"

namespace nvab {
namespace {

constexpr int kMaxIncludeDepth = 4;
constexpr std::size_t kMaxConfigBytes = 1024 * 1024;
constexpr std::string_view kPlugin = "attribution.so";

// A structure of the file's; false: it does not lie in it.
template <typename T>
bool take(std::string_view bytes, std::uint64_t at, T* out) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return false;
  std::memcpy(out, bytes.data() + at, sizeof(T));
  return true;
}

// Where in the file the byte lies that is loaded to `address`.
std::optional<std::uint64_t> offset_of(std::string_view elf, const Elf64_Ehdr& head,
                                       std::uint64_t address) {
  for (int i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr part;
    if (!take(elf, head.e_phoff + static_cast<std::uint64_t>(i) * sizeof(part), &part)) break;
    if (part.p_type == PT_LOAD && address >= part.p_vaddr &&
        address - part.p_vaddr < part.p_filesz) {
      return part.p_offset + (address - part.p_vaddr);
    }
  }
  return std::nullopt;
}

bool is_called(std::string_view elf, std::uint64_t at, std::string_view name) {
  return at < elf.size() && elf.substr(at).starts_with(name) && at + name.size() < elf.size() &&
         elf[at + name.size()] == '\0';
}

// The value of a symbol of the table, an address.
std::optional<std::uint64_t> symbol_in(std::string_view elf, const Elf64_Shdr& table,
                                       const Elf64_Shdr& names, std::string_view name) {
  for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    if (!take(elf, table.sh_offset + at, &symbol)) break;
    if (symbol.st_shndx != SHN_UNDEF && is_called(elf, names.sh_offset + symbol.st_name, name)) {
      return symbol.st_value;
    }
  }
  return std::nullopt;
}

std::string find_in(const std::string& path, const std::string& plugin_folder, int depth) {
  const auto text = read_file(path, kMaxConfigBytes);
  if (!text || depth > kMaxIncludeDepth) return {};
  for (const std::string_view raw : split(*text, '\n')) {
    std::string line(trim(raw.substr(0, raw.find('#'))));
    for (char& c : line) c = c == '\t' ? ' ' : c;
    const std::size_t space = line.find(' ');
    if (space == std::string::npos) continue;
    const std::string word = line.substr(0, space);
    std::string value(trim(std::string_view(line).substr(space)));
    value.erase(std::min(value.find(' '), value.size()));
    if (word == "include") {
      if (!value.starts_with('/')) value.insert(0, path.substr(0, path.rfind('/') + 1));
      const auto files = glob_files(value);
      if (!files) continue;
      for (const std::string& file : *files) {
        if (auto found = find_in(file, plugin_folder, depth + 1); !found.empty()) return found;
      }
    } else if (value == kPlugin || value.ends_with("/" + std::string(kPlugin))) {
      return value.starts_with('/') ? value : plugin_folder + "/" + value;
    }
  }
  return {};
}

}  // namespace

std::optional<std::uint32_t> plugin_version(std::string_view elf) {
  Elf64_Ehdr head;
  if (!take(elf, 0, &head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_shentsize != sizeof(Elf64_Shdr)) {
    return std::nullopt;
  }
  const auto section = [&](std::uint64_t index, Elf64_Shdr* out) {
    return index < head.e_shnum && take(elf, head.e_shoff + index * sizeof(*out), out);
  };
  for (int i = 0; i < head.e_shnum; ++i) {
    Elf64_Shdr table, names;
    if (!section(static_cast<std::uint64_t>(i), &table) || table.sh_type != SHT_DYNSYM) continue;
    if (!section(table.sh_link, &names)) continue;
    const auto address = symbol_in(elf, table, names, "plugin_version");
    const auto at = address ? offset_of(elf, head, *address) : std::nullopt;
    std::uint32_t version = 0;
    if (at && take(elf, *at, &version)) return version;
  }
  return std::nullopt;
}

std::string find_plugin(const std::string& plugstack, const std::string& plugin_folder) {
  return plugstack.empty() ? std::string() : find_in(plugstack, plugin_folder, 0);
}

}  // namespace nvab
