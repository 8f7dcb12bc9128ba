#include "grader/submission/machine_faults.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <limits>
#include <sstream>
#include <vector>

#include "common/base/descriptor.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

}  // namespace

// Quotas and limits of a container show only in an attempt to write.
std::string fault_of_storage(const fs::path& folder) {
  const fs::path file = folder / ".convlab-space";
  // Room for a convolution's object file and all files made from it.
  const std::vector<char> block(std::size_t{16} << 20, '\x5a');
  const Descriptor descriptor(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!descriptor.is_open()) return std::strerror(errno);
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
  return error == 0 ? "" : std::strerror(error);
}

namespace {

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

double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  constexpr double kNano = 1e-9;
  return static_cast<double>(now.tv_sec) + kNano * static_cast<double>(now.tv_nsec);
}

}  // namespace

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

double slowness() {
  static const double measured = [] {
    constexpr int kSteps = 1'000'000;
    constexpr double kUsual = 1.2e-3;  // seconds
    double least_s = std::numeric_limits<double>::max();
    for (int attempt = 0; attempt < 5; ++attempt) {
      std::array<float, 4096> table{};
      float* const places = table.data();
      std::uint64_t place = 1;
      const double before_s = thread_seconds();
      for (int step = 0; step < kSteps; ++step) {
        place = place * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
        places[place >> 52U] += 1.0F;
      }
      least_s = std::min(least_s, thread_seconds() - before_s);
      asm volatile("" : : "r"(table.data()) : "memory");
    }
    return std::max(1.0, least_s / kUsual);
  }();
  return measured;
}

}  // namespace convlab::grader
