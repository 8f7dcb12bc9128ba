#include "grader/submission/machine_faults.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "common/base/descriptor.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

// Room for a convolution's object file and all files made from it.
constexpr std::uint64_t kNeededBytes = std::uint64_t{16} << 20;
constexpr std::uint64_t kNeededFiles = 16;

// errno of an attempt to write; quotas and limits of a container show only here.
int error_of_writing(const fs::path& file) {
  const std::vector<char> block(std::size_t{1} << 20, '\x5a');
  const Descriptor descriptor(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!descriptor.is_open()) return errno;
  const ssize_t written = ::write(descriptor.get(), block.data(), block.size());
  int error = written < 0 ? errno : 0;
  if (error == 0 && static_cast<std::size_t>(written) < block.size()) {
    // Another write would give the reason, but beyond a limit of this process it ends the process.
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    error = limit.rlim_cur < block.size() ? EFBIG : ENOSPC;
  }
  if (error == 0 && ::fsync(descriptor.get()) != 0) error = errno;
  ::unlink(file.c_str());
  return error;
}

bool can_be_executed(const std::string& program) {
  if (program.find('/') != std::string::npos) return ::access(program.c_str(), X_OK) == 0;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (::access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

std::vector<std::string> compilers(const fs::path& build, const std::string& device) {
  std::vector<std::string> programs;
  for (const char* step : {".compile", ".link"}) {
    std::ifstream words(build / "custom_submission" / (device + step));
    if (std::string first; std::getline(words, first)) programs.push_back(first);
  }
  return programs;
}

}  // namespace

std::string fault_of_storage(const fs::path& folder) {
  if (const int error = error_of_writing(folder / ".convlab-space"); error != 0) {
    return std::strerror(error);
  }
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) != 0) return std::strerror(errno);
  const bool counts_files = disk.f_files > 0;  // some file systems do not
  const bool full = std::uint64_t{disk.f_bavail} * disk.f_frsize < kNeededBytes ||
                    (counts_files && disk.f_favail < kNeededFiles);
  return full ? std::strerror(ENOSPC) : "";
}

std::string missing_tool(const fs::path& build, const std::string& device) {
  std::vector<std::string> tools = compilers(build, device);
  tools.insert(tools.end(), {"sh", "nm", "ld", "objcopy", "objdump"});
  if (device == "emulated") tools.push_back((build / "bin" / "convlab-rewrite").string());
  for (const std::string& tool : tools) {
    if (!can_be_executed(tool)) return tool;
  }
  return {};
}

std::vector<fs::path> tool_folders(const fs::path& build, const std::string& device) {
  std::vector<fs::path> folders;
  for (const std::string& program : compilers(build, device)) {
    std::error_code missing;
    const fs::path real = fs::canonical(program, missing);
    const fs::path folder = real.parent_path().parent_path();
    if (missing || folder == "/" || folder == "/usr") continue;
    // Not the whole folder: /home/somebody/bin/g++ lies beside that person's work.
    for (const char* part : {"bin", "include", "lib", "lib64", "libexec", "nvvm", "targets"}) {
      if (fs::is_directory(folder / part, missing)) folders.push_back(folder / part);
    }
  }
  return folders;
}

}  // namespace convlab::grader
