#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <fstream>
#include <limits>
#include <vector>

#include "common/base/error.hpp"
#include "grader/submission/build_submission.hpp"

namespace convlab::grader {

namespace fs = std::filesystem;

namespace {

std::string fault_of_storage(const fs::path& folder) {
  constexpr std::uintmax_t kNeeded = std::uintmax_t{16} << 20;
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (error) return error.message();
  if (::access(folder.c_str(), W_OK) != 0) return std::strerror(errno);
  const bool is_limited = space.capacity > 0;
  return is_limited && space.available < kNeeded ? std::strerror(ENOSPC) : "";
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

void require_machine(const fs::path& folder, const fs::path& build, const std::string& device) {
  if (const std::string fault = fault_of_storage(folder); !fault.empty()) {
    throw EnvironmentError("Nothing can be compiled in " + folder.string() + ": " + fault +
                           "; free some space, then run this again.");
  }
  if (const std::string tool = missing_tool(build, device); !tool.empty()) {
    throw EnvironmentError("The compiler that this build was configured with is gone (" + tool +
                           "); common/setup/lab setup installs one, cmake --preset lab --fresh "
                           "looks for it again.");
  }
}

std::string missing_tool(const fs::path& build, const std::string& device) {
  std::vector<std::string> tools = compilers(build, device);
  if (device == "emulated") tools.push_back((build / "bin" / "convlab-rewrite").string());
  for (const std::string& tool : tools) {
    if (::access(tool.c_str(), X_OK) != 0) return tool;
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

namespace {

// As the emulation loads and stores: by small functions, which only a build that optimises inlines.
struct Word {
  float* at;
  [[nodiscard]] float load() const { return *at; }
  void store(float value) const { *at = value; }
};
struct Words {
  float* begin;
  [[nodiscard]] Word word(std::uint64_t index) const { return {begin + index}; }
};
struct Place {
  std::uint64_t bits;
  [[nodiscard]] std::uint64_t index() const { return bits >> 52U; }
  [[nodiscard]] Place next() const {
    return {bits * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U};
  }
};

}  // namespace

double slowness() {
  static const double measured = [] {
    constexpr int kSteps = 1'000'000;
    constexpr double kUsual = 1.2e-3;  // seconds
    double least_s = std::numeric_limits<double>::max();
    for (int attempt = 0; attempt < 5; ++attempt) {
      std::array<float, 4096> table{};
      const Words words{table.data()};
      Place place{1};
      const double before_s = thread_seconds();
      for (int step = 0; step < kSteps; ++step) {
        place = place.next();
        words.word(place.index()).store(words.word(place.index()).load() + 1.0F);
      }
      least_s = std::min(least_s, thread_seconds() - before_s);
      asm volatile("" : : "r"(table.data()) : "memory");
    }
    return std::max(1.0, least_s / kUsual);
  }();
  return measured;
}

}  // namespace convlab::grader
