#include "grader/submission/sandbox/file_rules.hpp"

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

#include "common/data/dataset.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

// Newer than the headers of some distributions.
constexpr std::uint64_t kRefer = std::uint64_t{1} << 13;          // version 2
constexpr std::uint64_t kTruncate = std::uint64_t{1} << 14;       // version 3
constexpr std::uint64_t kDeviceControl = std::uint64_t{1} << 15;  // version 5
constexpr std::uint64_t kVersion1 = (std::uint64_t{1} << 13) - 1;

constexpr std::uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kExecute = kRead | LANDLOCK_ACCESS_FS_EXECUTE;
constexpr std::uint64_t kReadFile = LANDLOCK_ACCESS_FS_READ_FILE;
constexpr std::uint64_t kDevice =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | kDeviceControl;
constexpr std::uint64_t kOnFiles = LANDLOCK_ACCESS_FS_EXECUTE | kDevice | kTruncate;

std::uint64_t all_rights(long version) {
  return kVersion1 | (version >= 2 ? kRefer : 0) | (version >= 3 ? kTruncate : 0) |
         (version >= 5 ? kDeviceControl : 0);
}

// Source: linux/landlock.h of Linux 6.12.
struct RulesetAttributes {
  std::uint64_t files;
  std::uint64_t network;  // version 4
  std::uint64_t scopes;   // version 6
};

RulesetAttributes attributes_of(long version) {
  constexpr std::uint64_t kBindAndConnect = 3;
  constexpr std::uint64_t kAbstractSocketsAndSignals = 3;
  return {all_rights(version), version >= 4 ? kBindAndConnect : 0,
          version >= 6 ? kAbstractSocketsAndSignals : 0};
}

std::size_t size_of_attributes(long version) {
  return sizeof(std::uint64_t) * (version >= 6 ? 3 : version >= 4 ? 2 : 1);
}

// The loader of a dynamic program; executing the program executes the loader.
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

FileRules::FileRules(const SandboxPolicy& policy, const fs::path& program, std::string folder)
    : box_(policy.box), folder_(std::move(folder)) {
  // Labels and images, too, wherever they lie.
  for (fs::path each : dataset_folders()) {
    std::error_code missing;
    each = fs::canonical(each, missing);
    if (!missing) secrets_.push_back(each);
  }
  if (!policy.secret.empty()) secrets_.push_back(policy.secret);
  add_system(policy.box == Box::kCompiler);
  add_machine(policy.box);
  add_devices(policy.box);
  std::error_code unknown;
  for (const fs::path& file : {program, fs::canonical(program, unknown),
                               fs::path(program.string() + "-emulated"), loader_of(program)}) {
    if (!file.empty()) add(file, kExecute);
  }
  // The emulation runs this to find the line of a stray access.
  if (policy.box == Box::kEmulated || policy.box == Box::kGpu) {
    add("/usr/bin/addr2line", kExecute);
  }
  for (const fs::path& path : policy.readable) add(path, kExecute);
  add_listed("LD_LIBRARY_PATH", kRead);
  add_listed("CONVLAB_ISOLATION_READABLE", policy.box == Box::kCompiler ? kExecute : kRead);
}

void FileRules::add(const fs::path& path, std::uint64_t access) {
  std::error_code missing;
  const fs::file_status status = fs::status(path, missing);
  if (missing || !fs::exists(status)) return;
  rules_.push_back({path.string(), fs::is_directory(status) ? access : access & kOnFiles});
}

// Everything below `path` except secret folders.
void FileRules::add_but_secrets(const fs::path& path, std::uint64_t access) {
  if (std::ranges::none_of(secrets_, [&](const fs::path& each) { return is_inside(each, path); })) {
    return add(path, access);
  }
  if (std::ranges::find(secrets_, path) != secrets_.end()) return;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(path, unreadable)) {
    add_but_secrets(entry.path(), access);
  }
}

void FileRules::add_system(bool compiles) {
  // Programs and what they interpret lie in /usr/bin and /usr/share: for a compiler only.
  constexpr std::array kLibraries = {"/lib",       "/lib32",       "/lib64",     "/libx32",
                                     "/usr/lib",   "/usr/lib32",   "/usr/lib64", "/usr/libx32",
                                     "/usr/local", "/usr/libexec", "/opt",       "/nix/store",
                                     "/gnu/store"};
  constexpr std::array kTools = {"/usr", "/bin", "/sbin"};
  // The loader's settings, the choice among several tools, the time zone.
  constexpr std::array kSettings = {"/etc/ld.so.cache",   "/etc/ld.so.conf",   "/etc/ld.so.conf.d",
                                    "/etc/ld.so.preload", "/etc/alternatives", "/etc/localtime",
                                    "/run/opengl-driver"};
  for (const char* path : kLibraries) {
    add_but_secrets(path, compiles ? kExecute : kRead);
  }
  if (compiles) {
    for (const char* path : kTools) add_but_secrets(path, kExecute);
  }
  for (const char* path : kSettings) add(path, kRead);
}

// The system's description of the machine. Data of other processes, such as the grader's arguments,
// stay closed even if the kernel grants no separate /proc.
void FileRules::add_machine(Box box) {
  if (box == Box::kGpu) {
    // The driver reads many places.
    std::error_code unreadable;
    for (const auto& entry : fs::directory_iterator("/proc", unreadable)) {
      const std::string name = entry.path().filename().string();
      const bool is_process = std::isdigit(static_cast<unsigned char>(name.front())) != 0 ||
                              name == "self" || name == "thread-self";
      if (!is_process) add(entry.path(), kRead);
    }
    add("/sys", kRead);
    return;
  }
  for (const char* path :
       {"/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/version", "/proc/filesystems",
        "/proc/loadavg", "/proc/uptime", "/proc/sys/vm/overcommit_memory",
        "/proc/sys/vm/max_map_count", "/proc/sys/kernel/osrelease", "/proc/sys/kernel/pid_max",
        "/proc/sys/kernel/threads-max", "/sys/devices/system/cpu", "/sys/devices/system/node",
        "/sys/kernel/mm/transparent_hugepage", "/sys/kernel/mm/hugepages"}) {
    add(path, kRead);
  }
}

// The devices that NVIDIA's driver opens on a PC, in WSL and on a Jetson; and the null devices.
void FileRules::add_devices(Box box) {
  add("/dev/null", kDevice);
  for (const char* name : {"/dev/full", "/dev/zero"}) {
    // With write access it can be mapped as memory that no limit counts.
    add(name, box == Box::kGpu ? kDevice : kReadFile);
  }
  for (const char* name : {"/dev/urandom", "/dev/random"}) add(name, kReadFile);
  if (box != Box::kGpu) return;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator("/dev", unreadable)) {
    const std::string name = entry.path().filename().string();
    const bool is_gpu = name.rfind("nvidia", 0) == 0 || name.rfind("nvhost", 0) == 0 ||
                        name == "nvmap" || name == "dxg" || name == "dri";
    if (is_gpu) add(entry.path(), kDevice | LANDLOCK_ACCESS_FS_READ_DIR);
  }
}

void FileRules::add_listed(const char* variable, std::uint64_t access) {
  const char* list = std::getenv(variable);
  if (list == nullptr) return;
  std::istringstream paths(list);
  for (std::string each; std::getline(paths, each, ':');) {
    if (!each.empty()) add(each, access);
  }
}

int FileRules::apply(bool has_own_temporary) const {
  const long version =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return errno;
  const RulesetAttributes attributes = attributes_of(version);
  const auto rules = static_cast<int>(
      ::syscall(SYS_landlock_create_ruleset, &attributes, size_of_attributes(version), 0));
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
  for (const FileRule& rule : rules_) allow(rule.path.c_str(), rule.access);
  // NVIDIA's driver does not start (cuInit gives error 304) unless it may name its threads in
  // /proc/self/task/…/comm. Here self is the later program: exec keeps the number. Other programs
  // may not write there, because oom_score_adj lies in the same folder.
  allow("/proc/self",
        box_ == Box::kGpu ? kRead | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate : kRead);
  const std::uint64_t own = kVersion1 | kRefer | kTruncate;
  const std::uint64_t without_execution = own & ~std::uint64_t{LANDLOCK_ACCESS_FS_EXECUTE};
  allow(folder_.c_str(), without_execution);
  if (has_own_temporary) {
    allow("/tmp", without_execution);
    allow("/dev/shm", without_execution);
  }
  const int error = ::syscall(SYS_landlock_restrict_self, rules, 0) == 0 ? 0 : errno;
  ::close(rules);
  return error;
}

}  // namespace convlab::grader
