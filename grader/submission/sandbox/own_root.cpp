#include <fcntl.h>
#include <link.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <utility>

#include "common/data/dataset.hpp"
#include "grader/submission/sandbox/sandbox.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

// Whether a path is a folder or lies below it.
bool is_inside(const fs::path& path, const fs::path& folder) {
  const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

// The loader and the libraries that the grader itself has loaded, and parts of the C library that
// only some programs use. A submission for the CPU is linked with these.
std::vector<fs::path> own_libraries() {
  std::vector<fs::path> libraries;
  const auto add = [](dl_phdr_info* info, std::size_t /*size*/, void* list) {
    auto& found = *static_cast<std::vector<fs::path>*>(list);
    const fs::path name = info->dlpi_name;
    if (!name.is_absolute()) return 0;
    found.push_back(name);
    if (name.filename() != "libc.so.6") return 0;
    for (const char* part : {"libdl.so.2", "libmvec.so.1", "libpthread.so.0", "librt.so.1"}) {
      found.push_back(name.parent_path() / part);
    }
    return 0;
  };
  ::dl_iterate_phdr(add, &libraries);
  return libraries;
}

/// The existing files and folders that a program may read: only those of a list. OwnRoot shows no
/// others, so home folders, temporary folders, the course, passwords and terminals are closed
/// without being named. A program reads what a run time needs (libraries, the machine's
/// description) and uses the null device; one for a GPU uses its devices; a compiler reads its
/// tools.
///
/// If libraries or compilers lie elsewhere, for example on a cluster,
/// CONVLAB_ISOLATION_READABLE=/apps/gcc:/apps/cuda names them.
class VisibleFiles {
 public:
  /// @param program  also its emulated sibling
  VisibleFiles(const SandboxPolicy& policy, const fs::path& program) {
    // Labels and images, too, wherever they lie.
    for (const fs::path& each : dataset_folders()) {
      std::error_code missing;
      const fs::path folder = fs::canonical(each, missing);
      if (!missing) secrets_.push_back(folder);
    }
    if (!policy.secret.empty()) secrets_.push_back(policy.secret);
    add_system(policy.kind);
    add_machine(policy.kind);
    add_devices(policy.kind);
    std::error_code unknown;
    for (const fs::path& file :
         {program, fs::canonical(program, unknown), fs::path(program.string() + "-emulated")}) {
      if (!file.empty()) add(file);
    }
    // The emulation runs this to find the line of a stray access.
    if (policy.kind == SandboxKind::kEmulated || policy.kind == SandboxKind::kGpu)
      add("/usr/bin/addr2line");
    for (const fs::path& path : policy.readable) add(path);
    if (policy.kind != SandboxKind::kCpu) add_listed("LD_LIBRARY_PATH");
    add_listed("CONVLAB_ISOLATION_READABLE");
  }

  [[nodiscard]] const std::vector<fs::path>& paths() const { return paths_; }

 private:
  void add(const fs::path& path) {
    std::error_code missing;
    if (fs::exists(path, missing)) paths_.push_back(path);
  }

  void add_listed(const char* variable) {
    const char* list = std::getenv(variable);
    if (list == nullptr) return;
    std::istringstream paths(list);
    for (std::string each; std::getline(paths, each, ':');) {
      if (!each.empty()) add(each);
    }
  }

  // Everything below `path` except secret folders.
  void add_but_secrets(const fs::path& path) {
    if (std::ranges::none_of(secrets_,
                             [&](const fs::path& each) { return is_inside(each, path); })) {
      return add(path);
    }
    if (std::ranges::find(secrets_, path) != secrets_.end()) return;
    std::error_code unreadable;
    for (const auto& entry : fs::directory_iterator(path, unreadable)) {
      add_but_secrets(entry.path());
    }
  }

  void add_system(SandboxKind kind) {
    for (const fs::path& library : own_libraries()) add(library);
    // Programs and what they interpret lie in /usr/bin and /usr/share: for a compiler only.
    constexpr std::array kLibraries = {"/lib",       "/lib32",       "/lib64",     "/libx32",
                                       "/usr/lib",   "/usr/lib32",   "/usr/lib64", "/usr/libx32",
                                       "/usr/local", "/usr/libexec", "/opt",       "/nix/store",
                                       "/gnu/store"};
    constexpr std::array kTools = {"/usr", "/bin", "/sbin"};
    // The loader's settings, the choice among several tools, the time zone.
    constexpr std::array kSettings = {
        "/etc/ld.so.cache",  "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload",
        "/etc/alternatives", "/etc/localtime",  "/run/opengl-driver"};
    if (kind == SandboxKind::kCpu) {  // other libraries might do the exercise
      add("/usr/lib/locale");
    } else {
      for (const char* path : kLibraries) add_but_secrets(path);
    }
    if (kind == SandboxKind::kCompiler) {
      for (const char* path : kTools) add_but_secrets(path);
    }
    for (const char* path : kSettings) add(path);
  }

  // The system's description of the machine. A GPU's driver reads many places.
  void add_machine(SandboxKind kind) {
    if (kind == SandboxKind::kGpu) return add("/sys");
    for (const char* path : {"/sys/devices/system/cpu", "/sys/devices/system/node",
                             "/sys/kernel/mm/transparent_hugepage", "/sys/kernel/mm/hugepages"}) {
      add(path);
    }
  }

  // The devices that NVIDIA's driver opens on a PC, in WSL and on a Jetson; and the null devices.
  void add_devices(SandboxKind kind) {
    for (const char* name : {"/dev/null", "/dev/urandom", "/dev/random"}) add(name);
    if (kind != SandboxKind::kGpu) return;  // two more can be mapped as memory that no limit counts
    for (const char* name : {"/dev/full", "/dev/zero"}) add(name);
    std::error_code unreadable;
    for (const auto& entry : fs::directory_iterator("/dev", unreadable)) {
      const std::string name = entry.path().filename().string();
      const bool is_gpu = name.starts_with("nvidia") || name.starts_with("nvhost") ||
                          name == "nvmap" || name == "dxg" || name == "dri";
      if (is_gpu) add(entry.path());
    }
  }

  std::vector<fs::path> secrets_;  ///< the course, and the data set
  std::vector<fs::path> paths_;
};

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
  return error_of(::syscall(SYS_mount_setattr, AT_FDCWD, target, kRecursive, &attributes,
                            sizeof attributes) == 0);
}

int mount_memory(const char* target, const char* options) {
  return error_of(::mount("tmpfs", target, "tmpfs", kQuiet, options) == 0);
}

}  // namespace

OwnRoot::OwnRoot(const SandboxPolicy& policy, const fs::path& program, std::string folder)
    : folder_(std::move(folder)), folder_target_(kPlace + folder_), kind_(policy.kind) {
  std::vector<std::string> paths;
  const VisibleFiles files(policy, program);
  for (const fs::path& path : files.paths()) {
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
