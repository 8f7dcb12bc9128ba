#pragma once

// Helpers for the tests of bugs. A row of a test runs a kernel (or API calls) with a bug and says
// the error code and words of the report; beside it a correct twin must report nothing.

#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/emulation/include/convlab_emulation/activity.hpp"
#include "common/emulation/runtime/api_state.hpp"
#include "common/emulation/runtime/report.hpp"

namespace convlab::emulation {

using testing::contains;

/// Collects reports, and leaves a working device behind.
class Reports {
 public:
  Reports()
      : former_(set_report_sink([this](const EmulationReport& report) {
          all_ += report.text + "\n";
          records_.push_back(report);
        })) {}
  ~Reports() {
    renew_device();
    set_report_sink(former_);
  }
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;

  [[nodiscard]] bool empty() const { return all_.empty(); }
  /// The last one. @throws std::out_of_range if there is none
  [[nodiscard]] const EmulationReport& last() const { return records_.at(records_.size() - 1); }
  [[nodiscard]] const std::string& text() const { return all_; }
  [[nodiscard]] bool has(const std::string& words) const {
    return all_.find(words) != std::string::npos;
  }

 private:
  std::string all_;
  std::vector<EmulationReport> records_;
  ReportSink former_;
};

/// Calls with a bug, or their right twin.
struct FaultCase {
  const char* name;
  std::function<void()> run;
  cudaError_t error;                 ///< of the synchronisation afterwards
  std::vector<std::string> words{};  ///< of the reports; without any there is no report
  std::optional<FaultKind> kind{};   ///< of the last report
};

inline void check(const std::vector<FaultCase>& faults) {
  for (const FaultCase& fault : faults) {
    INFO(fault.name);
    const Reports reports;
    fault.run();
    CHECK(cudaDeviceSynchronize() == fault.error);
    INFO(reports.text());
    for (const std::string& words : fault.words) CHECK(contains(reports.text(), words));
    if (fault.words.empty()) CHECK(reports.empty());
    if (fault.kind) CHECK(reports.last().fault.kind == *fault.kind);
  }
}

inline int* device_integers(int count) {
  int* data = nullptr;
  REQUIRE(cudaMalloc(&data, static_cast<std::size_t>(count) * sizeof(int)) == cudaSuccess);
  REQUIRE(cudaMemset(data, 0, static_cast<std::size_t>(count) * sizeof(int)) == cudaSuccess);
  return data;
}

/// A line of the test's own file, as reports name it.
inline std::string at_line(int line, const char* file = __builtin_FILE()) {
  return std::filesystem::path(file).filename().string() + ":" + std::to_string(line);
}

/// What a child process writes to standard error, and then how it ended: "exit 0" or "signal 11".
/// For programs that have started no kernel: a device does not survive fork().
template <typename Body>
std::string end_of(Body body) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);  // the test framework's
    dup2(ends[1], STDERR_FILENO);
    body();
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return text + (WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                     : "exit " + std::to_string(WEXITSTATUS(status)));
}

}  // namespace convlab::emulation
