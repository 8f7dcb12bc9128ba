#include <fcntl.h>
#include <link.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <sstream>
#include <tuple>
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

constexpr unsigned bit(SandboxKind kind) {
  return 1U << static_cast<unsigned>(kind);
}
constexpr unsigned kOnCpu = bit(SandboxKind::kCpu);
constexpr unsigned kOnGpu = bit(SandboxKind::kGpu);
constexpr unsigned kCompilers = bit(SandboxKind::kCompiler);
constexpr unsigned kWithKernels = bit(SandboxKind::kEmulated) | kOnGpu;
constexpr unsigned kAll = kOnCpu | kWithKernels | kCompilers;

/// What programs of these kinds may read, where it exists. Nothing else is shown, so home folders,
/// the course, passwords and terminals are closed without being named.
constexpr struct {
  unsigned kinds;
  const char* paths;
} kVisible[] = {
    // The loader's settings, the choice among several tools, the time zone, the null device.
    {kAll,
     "/etc/ld.so.cache:/etc/ld.so.conf:/etc/ld.so.conf.d:/etc/ld.so.preload:/etc/alternatives:"
     "/etc/localtime:/run/opengl-driver:/dev/null"},
    {kAll & ~kCompilers, "/dev/urandom:/dev/random"},  // a file without end to include or embed
    // The system's description of the machine. A GPU's driver reads many places.
    {kAll & ~kOnGpu,
     "/sys/devices/system/cpu:/sys/devices/system/node:/sys/kernel/mm/transparent_hugepage:"
     "/sys/kernel/mm/hugepages"},
    {kOnCpu, "/usr/lib/locale"},  // other libraries might do the exercise
    {kAll & ~kOnCpu,
     "/lib:/lib32:/lib64:/libx32:/usr/lib:/usr/lib32:/usr/lib64:/usr/libx32:/usr/local:"
     "/usr/libexec:/opt:/nix/store:/gnu/store"},
    // The emulation runs it to find the line of a stray access.
    {kWithKernels, "/usr/bin/addr2line"},
    {kOnGpu, "/sys:/dev/full:/dev/zero"},  // these two can be mapped as memory that no limit counts
    // Programs and what they interpret.
    {kCompilers, "/usr:/bin:/sbin"}};

std::vector<fs::path> parts_of(const char* list) {
  std::vector<fs::path> parts;
  std::istringstream stream(list == nullptr ? "" : list);
  for (std::string each; std::getline(stream, each, ':');) {
    if (!each.empty()) parts.emplace_back(each);
  }
  return parts;
}

// Everything below `path` except the secret folders.
void add_but(const std::vector<fs::path>& secrets, const fs::path& path,
             std::vector<fs::path>& paths) {
  const auto holds = [&](const fs::path& secret) { return is_inside(secret, path); };
  if (std::ranges::none_of(secrets, holds)) return paths.push_back(path);
  if (std::ranges::find(secrets, path) != secrets.end()) return;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(path, unreadable)) {
    add_but(secrets, entry.path(), paths);
  }
}

// If libraries or compilers lie elsewhere, for example on a cluster,
// CONVLAB_ISOLATION_READABLE=/apps/gcc:/apps/cuda names them.
std::vector<fs::path> visible_files(const SandboxPolicy& policy, const fs::path& program) {
  std::error_code missing;
  std::vector<fs::path> secrets = {policy.secret};  // an empty path holds nothing
  // Labels and images, too, wherever they lie.
  for (const fs::path& each : dataset_folders()) secrets.push_back(fs::canonical(each, missing));
  std::erase(secrets, fs::path());
  std::vector<fs::path> paths = own_libraries();
  for (const auto& [kinds, listed] : kVisible) {
    if ((kinds & bit(policy.kind)) == 0) continue;
    for (const fs::path& path : parts_of(listed)) add_but(secrets, path, paths);
  }
  if (policy.kind == SandboxKind::kGpu) {  // NVIDIA's driver on a PC, in WSL and on a Jetson
    for (const auto& entry : fs::directory_iterator("/dev", missing)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("nvidia") || name.starts_with("nvhost") || name == "nvmap" ||
          name == "dxg" || name == "dri") {
        paths.push_back(entry.path());
      }
    }
  }
  const auto add = [&](const std::vector<fs::path>& more) {
    paths.insert(paths.end(), more.begin(), more.end());
  };
  // The program's emulated sibling, too.
  add({program, fs::canonical(program, missing), program.string() + "-emulated"});
  add(policy.readable);
  if (policy.kind != SandboxKind::kCpu) add(parts_of(std::getenv("LD_LIBRARY_PATH")));
  add(parts_of(std::getenv("CONVLAB_ISOLATION_READABLE")));
  std::erase_if(paths, [&](const fs::path& path) { return !fs::exists(path, missing); });
  return paths;
}

// Where the new root is made: it exists on every machine, and no program needs files below it.
const std::string kPlace = "/dev/shm";

constexpr unsigned long kQuiet = MS_NOSUID | MS_NODEV | MS_NOEXEC;

int error_of(bool done) {
  return done ? 0 : errno;
}

int make_folder(const char* path) {
  return error_of(::mkdir(path, 0755) == 0 || errno == EEXIST || errno == EROFS);
}

int make_file(const char* path) {
  const int file = ::open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  return error_of(file >= 0 && ::close(file) == 0);
}

constexpr std::uint64_t kReadOnly = 1;
constexpr std::uint64_t kNoExecution = 8;

// Includes all mounts below it; flags that the kernel has locked stay locked.
int show(const char* source, const char* target, std::uint64_t flags) {
  constexpr std::uint64_t kNoSetuid = 2;
  constexpr unsigned kRecursive = 0x8000;  // AT_RECURSIVE
  // Set, clear, propagation, namespace. Source: linux/mount.h of Linux 5.12.
  std::uint64_t attributes[4] = {flags | kNoSetuid};
  return error_of(::mount(source, target, nullptr, MS_BIND | MS_REC, nullptr) == 0 &&
                  ::syscall(SYS_mount_setattr, AT_FDCWD, target, kRecursive, attributes,
                            sizeof attributes) == 0);
}

/// One step on the way to a new root.
struct Step {
  enum Kind { kMakeFolder, kShowFolder, kShowFile, kShowWritable, kLink, kMemory, kProc };
  Kind kind;
  std::string source;
  std::string target;  ///< below kPlace; of a link: the link

  [[nodiscard]] int take() const {
    const char* const from = source.c_str();
    const char* const to = target.c_str();
    if (kind == kLink) return error_of(::symlink(from, to) == 0 || errno == EEXIST);
    if (kind == kProc) {
      const unsigned long flags = source.empty() ? kQuiet : kQuiet | unsigned{MS_RDONLY};
      return error_of(::mount("proc", to, "proc", flags, "hidepid=4") == 0);
    }
    const int error = kind == kShowFile ? make_file(to) : make_folder(to);
    if (error != 0 || kind == kMakeFolder) return error;
    if (kind == kMemory) return error_of(::mount("tmpfs", to, "tmpfs", kQuiet, from) == 0);
    // A device that is only read may still be written to.
    return show(from, to, kind == kShowWritable ? kNoExecution : kReadOnly);
  }
};

void add_folders_above(const std::string& path, std::vector<Step>& steps) {
  for (auto at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    const std::string target = kPlace + path.substr(0, at);
    const auto makes = [&](const Step& step) {
      return step.kind == Step::kMakeFolder && step.target == target;
    };
    if (std::ranges::none_of(steps, makes)) steps.push_back({Step::kMakeFolder, {}, target});
  }
}

// The steps that show a file. Links stay links; their targets have rules of their own or lie below
// one: /lib is usr/lib.
void add_shown(const std::string& path, std::vector<Step>& steps) {
  const auto shows = [&](const Step& step) {
    return step.kind != Step::kMakeFolder && is_inside(kPlace + path, step.target);
  };
  std::error_code failed;
  const fs::file_status status = fs::symlink_status(path, failed);
  if (failed || std::ranges::any_of(steps, shows)) return;
  add_folders_above(path, steps);
  if (fs::is_symlink(status)) {
    const fs::path target = fs::read_symlink(path, failed);
    if (failed) return;
    steps.push_back({Step::kLink, target.string(), kPlace + path});
    return add_shown((fs::path(path).parent_path() / target).lexically_normal(), steps);
  }
  steps.push_back(
      {fs::is_directory(status) ? Step::kShowFolder : Step::kShowFile, path, kPlace + path});
}

// A check starts the same program many times, and looks up two hundred files for it once.
std::vector<Step> shown_files(const SandboxPolicy& policy, const fs::path& program) {
  const char* const more = std::getenv("CONVLAB_ISOLATION_READABLE");
  static std::mutex mutex;
  static std::map<std::tuple<SandboxKind, fs::path, fs::path, std::vector<fs::path>, std::string>,
                  std::vector<Step>>
      known;
  const std::lock_guard lock(mutex);
  auto& steps = known[{policy.kind, program, policy.secret, policy.readable, more ? more : ""}];
  // A compiler writes files.
  if (policy.kind == SandboxKind::kCompiler) steps.clear();
  if (!steps.empty()) return steps;
  std::vector<std::string> paths;
  for (const fs::path& path : visible_files(policy, program)) {
    paths.push_back(path.lexically_normal());
  }
  // Folders come before their contents, so that contents are found to exist already.
  std::ranges::sort(paths, {}, &std::string::size);
  for (const std::string& path : paths) add_shown(path, steps);
  return steps;
}

class OwnRoot {
 public:
  OwnRoot(const SandboxPolicy& policy, const fs::path& program, const std::string& folder) {
    const bool on_gpu = policy.kind == SandboxKind::kGpu;
    steps_ = {{Step::kMemory, "size=1m,nr_inodes=4096,mode=0755", kPlace},
              {Step::kMakeFolder, {}, kPlace + "/dev"},
              {Step::kMakeFolder, {}, kPlace + "/proc"},
              // Before the readable files, which may lie below /tmp.
              {Step::kMemory, "size=64m,nr_inodes=1024,mode=1777", kPlace + "/tmp"},
              // LLVM's OpenMP, which clang uses, does not start without a page of shared memory.
              {Step::kMemory, "size=1m,nr_inodes=16,mode=1777", kPlace + "/dev/shm"}};
    // Before any link, through which a folder would be made outside.
    add_folders_above(folder, steps_);
    const std::vector<Step> shown = shown_files(policy, program);
    steps_.insert(steps_.end(), shown.begin(), shown.end());
    for (const auto& [link, target] : {std::pair{"/dev/fd", "/proc/self/fd"},
                                       {"/dev/stdin", "/proc/self/fd/0"},
                                       {"/dev/stdout", "/proc/self/fd/1"},
                                       {"/dev/stderr", "/proc/self/fd/2"}}) {
      steps_.push_back({Step::kLink, target, kPlace + link});
    }
    // Without the warden, which has the grader's arguments. NVIDIA's driver does not start (cuInit
    // gives error 304) unless it may name its threads in /proc/self/task/…/comm.
    steps_.push_back({Step::kProc, on_gpu ? "" : "read-only", kPlace + "/proc"});
    // Settings of the machine, which root may change even without rights.
    for (const char* part :
         {"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"}) {
      if (!on_gpu || !fs::exists(part)) continue;
      steps_.push_back({Step::kShowFolder, kPlace + part, kPlace + part});
    }
    steps_.push_back(
        policy.kind == SandboxKind::kCompiler
            ? Step{Step::kShowWritable, folder, kPlace + folder}
            : Step{Step::kMemory, "size=256m,nr_inodes=1024,mode=0700", kPlace + folder});
  }

  [[nodiscard]] int enter() const {
    int error = 0;
    for (const Step& step : steps_) {
      if (error == 0) error = step.take();
    }
    // The old root is mounted over the new one and then removed.
    if (error == 0) error = error_of(::chdir(kPlace.c_str()) == 0);
    if (error == 0) error = error_of(::syscall(SYS_pivot_root, ".", ".") == 0);
    if (error != 0) {
      ::umount2(kPlace.c_str(), MNT_DETACH);
      return error;
    }
    ::umount2(".", MNT_DETACH);
    if (::chdir("/") != 0) return errno;
    ::mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | kQuiet, nullptr);
    return 0;
  }

 private:
  std::vector<Step> steps_;
};

}  // namespace

std::function<int()> own_root(const SandboxPolicy& policy, const fs::path& program,
                              const std::string& folder) {
  return [root = OwnRoot(policy, program, folder)] { return root.enter(); };
}

}  // namespace convlab::grader
