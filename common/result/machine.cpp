#include "common/result/machine.hpp"

#include <sched.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

#include "convlab_commit.hpp"

namespace convlab {

namespace {

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

// Counts only the processors that taskset, containers and batch systems leave to this process.
int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

std::string compiler_name() {
#if defined(__clang__)
  return "clang " + std::to_string(__clang_major__) + "." + std::to_string(__clang_minor__);
#else
  return "g++ " + std::to_string(__GNUC__) + "." + std::to_string(__GNUC_MINOR__);
#endif
}

}  // namespace

MachineInfo describe_machine() {
  constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
  const std::int64_t pages = ::sysconf(_SC_PHYS_PAGES);
  const std::int64_t page_size = ::sysconf(_SC_PAGESIZE);
  return {.cpu = cpu_name(),
          .cores = usable_cores(),
          .memory_mib = static_cast<int>(pages * page_size / kMebibyte),
          .gpu = {},
          .driver = {},
          .compiler = compiler_name(),
          .build_type = CONVLAB_BUILD_TYPE,
          .commit = kCommit};
}

}  // namespace convlab
