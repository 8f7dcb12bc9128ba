#include "grader/submission/sandbox/own_root.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "grader/submission/sandbox/visible_files.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

// The place of the new root until it becomes the root. It exists on every machine, and no program
// needs files below it.
const std::string kPlace = "/dev/shm";
const std::string kDevices = kPlace + "/dev";
const std::string kProc = kPlace + "/proc";
const std::string kTemporary = kPlace + "/tmp";
const std::string kShared = kPlace + "/dev/shm";
// Settings of the machine, which root may change even without rights.
const std::string kOfMachine[] = {kProc + "/sys", kProc + "/sysrq-trigger", kProc + "/irq",
                                  kProc + "/bus", kProc + "/fs"};

constexpr unsigned long kQuiet = MS_NOSUID | MS_NODEV | MS_NOEXEC;
constexpr unsigned kMountSetattr = 442;

// Source: linux/mount.h of Linux 5.12.
struct MountAttributes {
  std::uint64_t set = 0;
  std::uint64_t clear = 0;
  std::uint64_t propagation = 0;
  std::uint64_t user_namespace = 0;
};

int error_of(bool done) {
  return done ? 0 : errno;
}

int make_folder(const char* path) {
  return ::mkdir(path, 0755) == 0 || errno == EEXIST || errno == EROFS ? 0 : errno;
}

int make_file(const char* path) {
  const int file = ::open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return errno;
  ::close(file);
  return 0;
}

int show(const char* source, const char* target) {
  return error_of(::mount(source, target, nullptr, MS_BIND | MS_REC, nullptr) == 0);
}

constexpr std::uint64_t kReadOnly = 1;
constexpr std::uint64_t kNoExecution = 8;

// Includes all mounts below it; flags that the kernel has locked stay locked.
int restrict_mount(const char* target, std::uint64_t flags) {
  constexpr std::uint64_t kNoSetuid = 2;
  constexpr unsigned kRecursive = 0x8000;  // AT_RECURSIVE
  MountAttributes attributes{.set = flags | kNoSetuid};
  return error_of(
      ::syscall(kMountSetattr, AT_FDCWD, target, kRecursive, &attributes, sizeof attributes) == 0);
}

int mount_memory(const char* target, const char* options) {
  return error_of(::mount("tmpfs", target, "tmpfs", kQuiet, options) == 0);
}

}  // namespace

OwnRoot::OwnRoot(const SandboxPolicy& policy, const fs::path& program, std::string folder)
    : folder_(std::move(folder)), folder_target_(kPlace + folder_), kind_(policy.kind) {
  std::vector<std::string> paths;
  for (const fs::path& path : visible_files(policy, program)) {
    paths.push_back(path.lexically_normal());
  }
  // Folders come before their contents, so that contents are found to exist already.
  std::sort(paths.begin(), paths.end(),
            [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
  for (const std::string& path : paths) add(path);
  add_folders_above(folder_);
  for (const auto& [link, target] : {std::pair{"/dev/fd", "/proc/self/fd"},
                                     {"/dev/stdin", "/proc/self/fd/0"},
                                     {"/dev/stdout", "/proc/self/fd/1"},
                                     {"/dev/stderr", "/proc/self/fd/2"}}) {
    entries_.push_back({Entry::Kind::kLink, target, kPlace + link});
  }
}

void OwnRoot::add_folders_above(const std::string& path) {
  for (auto at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    const std::string folder = kPlace + path.substr(0, at);
    if (std::find(folders_.begin(), folders_.end(), folder) == folders_.end()) {
      folders_.push_back(folder);
    }
  }
}

bool OwnRoot::shows(const std::string& path) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& entry) { return is_inside(kPlace + path, entry.target); });
}

// Links stay links; their targets have rules of their own or lie below one: /lib is usr/lib.
void OwnRoot::add(const std::string& path) {
  if (shows(path)) return;
  std::error_code failed;
  const fs::file_status status = fs::symlink_status(path, failed);
  if (failed) return;
  add_folders_above(path);
  if (fs::is_symlink(status)) {
    const fs::path target = fs::read_symlink(path, failed);
    if (failed) return;
    entries_.push_back({Entry::Kind::kLink, target.string(), kPlace + path});
    return add((fs::path(path).parent_path() / target).lexically_normal());
  }
  const bool is_folder = fs::is_directory(status);
  entries_.push_back({is_folder ? Entry::Kind::kFolder : Entry::Kind::kFile, path, kPlace + path});
}

int OwnRoot::build() const {
  int error = mount_memory(kPlace.c_str(), "size=1m,nr_inodes=4096,mode=0755");
  if (error != 0) return error;
  for (const std::string* folder : {&kDevices, &kProc, &kTemporary, &kShared}) {
    if ((error = make_folder(folder->c_str())) != 0) return error;
  }
  // Before the readable files, which may lie below /tmp.
  error = mount_memory(kTemporary.c_str(), "size=64m,nr_inodes=1024,mode=1777");
  // LLVM's OpenMP, which clang uses, does not start without a page of shared memory.
  if (error == 0) error = mount_memory(kShared.c_str(), "size=1m,nr_inodes=16,mode=1777");
  if (error != 0) return error;
  for (const std::string& folder : folders_) {
    if ((error = make_folder(folder.c_str())) != 0) return error;
  }
  for (const Entry& entry : entries_) {
    const char* target = entry.target.c_str();
    if (entry.kind == Entry::Kind::kLink) {
      if (::symlink(entry.source.c_str(), target) != 0 && errno != EEXIST) return errno;
      continue;
    }
    error = entry.kind == Entry::Kind::kFolder ? make_folder(target) : make_file(target);
    if (error == 0) error = show(entry.source.c_str(), target);
    // A device may still be written to.
    if (error == 0) error = restrict_mount(target, kReadOnly);
    if (error != 0) return error;
  }
  // It shows only processes that the reader might trace: not the warden, which has the grader's
  // arguments. NVIDIA's driver does not start (cuInit gives error 304) unless it may name its
  // threads in /proc/self/task/…/comm.
  const bool on_gpu = kind_ == SandboxKind::kGpu;
  const unsigned long flags = on_gpu ? kQuiet : kQuiet | static_cast<unsigned long>(MS_RDONLY);
  error = error_of(::mount("proc", kProc.c_str(), "proc", flags, "hidepid=4") == 0);
  if (error != 0) return error;
  for (const std::string& part : kOfMachine) {
    if (!on_gpu || ::access(part.c_str(), F_OK) != 0) continue;
    error = show(part.c_str(), part.c_str());
    if (error == 0) error = restrict_mount(part.c_str(), kReadOnly);
    if (error != 0) return error;
  }
  const char* folder = folder_target_.c_str();
  if ((error = make_folder(folder)) != 0) return error;
  if (kind_ != SandboxKind::kCompiler) {
    return mount_memory(folder, "size=256m,nr_inodes=1024,mode=0700");
  }
  error = show(folder_.c_str(), folder);
  return error != 0 ? error : restrict_mount(folder, kNoExecution);
}

int OwnRoot::enter() const {
  const int error = build();
  if (error != 0 || ::chdir(kPlace.c_str()) != 0) {
    ::umount2(kPlace.c_str(), MNT_DETACH);
    return error != 0 ? error : ENOENT;
  }
  // The old root is mounted over the new one and then removed.
  if (::syscall(SYS_pivot_root, ".", ".") != 0) {
    const int refused = errno;
    ::umount2(kPlace.c_str(), MNT_DETACH);
    return refused;
  }
  ::umount2(".", MNT_DETACH);
  if (::chdir("/") != 0) return errno;
  ::mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | kQuiet, nullptr);
  return 0;
}

}  // namespace convlab::grader
