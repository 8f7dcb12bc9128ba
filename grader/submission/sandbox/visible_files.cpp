#include "grader/submission/sandbox/visible_files.hpp"

#include <link.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>

#include "common/data/dataset.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

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

/// The list, while it grows.
class VisibleFiles {
 public:
  explicit VisibleFiles(const SandboxPolicy& policy) {
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
  }

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

  [[nodiscard]] std::vector<fs::path> paths() && { return std::move(paths_); }

 private:
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

}  // namespace

bool is_inside(const fs::path& path, const fs::path& folder) {
  const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

std::vector<fs::path> visible_files(const SandboxPolicy& policy, const fs::path& program) {
  VisibleFiles files(policy);
  std::error_code unknown;
  for (const fs::path& file :
       {program, fs::canonical(program, unknown), fs::path(program.string() + "-emulated")}) {
    if (!file.empty()) files.add(file);
  }
  // The emulation runs this to find the line of a stray access.
  if (policy.kind == SandboxKind::kEmulated || policy.kind == SandboxKind::kGpu)
    files.add("/usr/bin/addr2line");
  for (const fs::path& path : policy.readable) files.add(path);
  if (policy.kind != SandboxKind::kCpu) files.add_listed("LD_LIBRARY_PATH");
  files.add_listed("CONVLAB_ISOLATION_READABLE");
  return std::move(files).paths();
}

}  // namespace convlab::grader
