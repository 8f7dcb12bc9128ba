#include "grader/sandbox/file_rules.hpp"

#include <elf.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kExecute = kRead | LANDLOCK_ACCESS_FS_EXECUTE;
constexpr std::uint64_t kDevice = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE;
// Newer than the headers of some distributions.
constexpr std::uint64_t kRefer = std::uint64_t{1} << 13;     // version 2
constexpr std::uint64_t kTruncate = std::uint64_t{1} << 14;  // version 3
constexpr std::uint64_t kVersion1 = (std::uint64_t{1} << 13) - 1;
constexpr std::uint64_t kOnFiles = LANDLOCK_ACCESS_FS_EXECUTE | kDevice | kTruncate;

std::uint64_t all_rights(long version) {
  return kVersion1 | (version >= 2 ? kRefer : 0) | (version >= 3 ? kTruncate : 0);
}

// The loader that a dynamic program names, which must be executable too.
fs::path loader_of(const fs::path& program) {
  std::ifstream stream(program, std::ios::binary);
  Elf64_Ehdr header{};
  if (!stream.read(reinterpret_cast<char*>(&header), sizeof header)) return {};
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return {};
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    stream.seekg(static_cast<std::streamoff>(header.e_phoff + i * sizeof segment));
    if (!stream.read(reinterpret_cast<char*>(&segment), sizeof segment)) return {};
    if (segment.p_type != PT_INTERP) continue;
    constexpr std::size_t kLongest = 4096;
    std::string name(std::min<std::size_t>(segment.p_filesz, kLongest), '\0');
    stream.seekg(static_cast<std::streamoff>(segment.p_offset));
    stream.read(name.data(), static_cast<std::streamsize>(name.size()));
    return name.c_str();  // without the zero at its end
  }
  return {};
}

bool is_inside(const fs::path& path, const fs::path& folder) {
  const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

}  // namespace

FileRules::FileRules(const fs::path& program, std::string folder, const fs::path& secret,
                     const std::vector<fs::path>& readable)
    : folder_(std::move(folder)) {
  add_system(secret);
  add_devices();
  std::error_code unknown;
  for (const fs::path& file : {program, fs::canonical(program, unknown),
                               fs::path(program.string() + "-emulated"), loader_of(program)}) {
    if (!file.empty()) add(file, kExecute);
  }
  // The emulation calls addr2line through a shell to find the line of a wrong access.
  for (const char* tool : {"/bin/sh", "/usr/bin/addr2line"}) add(tool, kExecute);
  for (const fs::path& path : readable) add(path, kExecute);
  if (const char* libraries = std::getenv("LD_LIBRARY_PATH")) {
    std::istringstream folders(libraries);
    for (std::string each; std::getline(folders, each, ':');) add(each, kRead);
  }
}

void FileRules::add(const fs::path& path, std::uint64_t access) {
  std::error_code missing;
  const fs::file_status status = fs::status(path, missing);
  if (missing || !fs::exists(status)) return;
  rules_.push_back({path.string(), fs::is_directory(status) ? access : access & kOnFiles});
}

void FileRules::add_system(const fs::path& secret) {
  constexpr std::array kPrivate = {"home", "root", "tmp",  "var",       "media",
                                   "mnt",  "srv",  "boot", "lost+found"};
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator("/", unreadable)) {
    const std::string name = entry.path().filename().string();
    if (std::find(kPrivate.begin(), kPrivate.end(), name) != kPrivate.end()) continue;
    if (!secret.empty() && is_inside(secret, entry.path())) continue;
    if (name == "proc") {
      add_machine();
    } else {
      add(entry.path(), kRead);
    }
  }
}

// Files of /proc about the machine. Files about other processes, such as the grader's arguments,
// stay closed even if the kernel grants no separate /proc.
void FileRules::add_machine() {
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator("/proc", unreadable)) {
    const std::string name = entry.path().filename().string();
    const bool is_process = std::isdigit(static_cast<unsigned char>(name.front())) != 0 ||
                            name == "self" || name == "thread-self";
    if (!is_process) add(entry.path(), kRead);
  }
}

// The files that NVIDIA's driver opens on a PC, in WSL and on a Jetson, and pseudo-devices such as
// /dev/null.
void FileRules::add_devices() {
  for (const char* name : {"/dev/null", "/dev/zero", "/dev/full"}) add(name, kDevice);
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator("/dev", unreadable)) {
    const std::string name = entry.path().filename().string();
    const bool is_gpu = name.rfind("nvidia", 0) == 0 || name.rfind("nvhost", 0) == 0 ||
                        name == "nvmap" || name == "dxg" || name == "dri";
    if (is_gpu) add(entry.path(), kDevice | LANDLOCK_ACCESS_FS_READ_DIR);
  }
}

int FileRules::apply(const char* own_memory) const {
  const long version =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return errno;
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = all_rights(version);
  const auto rules = static_cast<int>(
      ::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes.handled_access_fs, 0));
  if (rules < 0) return errno;
  const auto allow = [&](const char* path, std::uint64_t access) {
    const int place = ::open(path, O_PATH | O_CLOEXEC);
    if (place < 0) return;
    landlock_path_beneath_attr rule{};
    rule.allowed_access = access & all_rights(version);
    rule.parent_fd = place;
    ::syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    ::close(place);
  };
  for (const Rule& rule : rules_) allow(rule.path.c_str(), rule.access);
  // NVIDIA's driver starts (else cuInit returns error 304) only if it can name its threads in
  // /proc/self/task/…/comm. Here self is already the later program, because exec keeps the number.
  allow("/proc/self", kRead | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate);
  const std::uint64_t own = all_rights(version) & ~std::uint64_t{LANDLOCK_ACCESS_FS_EXECUTE};
  allow(folder_.c_str(), own);
  if (own_memory != nullptr) allow(own_memory, own);
  const int error = ::syscall(SYS_landlock_restrict_self, rules, 0) == 0 ? 0 : errno;
  ::close(rules);
  return error;
}

}  // namespace convlab::grader
