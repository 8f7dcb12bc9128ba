#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace convlab {

/// A program to run and wait for. No shell reads the words, so they need no quotes. It has no
/// input.
struct Command {
  /// Where standard output and standard error go.
  enum class Output {
    kSeparate,  ///< into FinishedProcess::output and FinishedProcess::errors
    kTogether,  ///< both into FinishedProcess::output, in the order in which they were printed
    kShown,     ///< where this process prints
  };

  std::vector<std::string> words{};        ///< the program, looked for in PATH, and its arguments
  std::vector<std::string> environment{};  ///< "NAME=value", added to this process's variables
  std::filesystem::path folder{};          ///< where it starts; empty: where this process is
  Output output = Output::kSeparate;
  std::chrono::milliseconds time_limit{};  ///< 0: none
  /// A longer output ends the program: endless output must not fill the memory.
  std::size_t output_limit = std::size_t{256} << 20;  // bytes
  /// Asked now and then; ends it once it says so.
  std::function<bool()> interrupted = [] { return false; };
};

/// How a command ended.
struct FinishedProcess {
  enum class End { kExited, kTimeLimit, kOutputLimit, kInterrupted };

  End end = End::kExited;
  int exit_code = 0;  ///< as a shell reports it: 127 for a missing program, 128 + signal
  std::string output{};
  std::string errors{};

  [[nodiscard]] bool succeeded() const { return end == End::kExited && exit_code == 0; }
};

/// The exit code of a program that does not exist.
inline constexpr int kNoSuchProgram = 127;

/// Runs a command to its end. The process and all processes of its group end with this process, at
/// the limits, and when interrupted.
/// @throws EnvironmentError if no process can be started
FinishedProcess run_process(const Command& command);

/// `text` without white space at its end, for example a program's output as a value.
std::string trimmed_end(std::string text);

}  // namespace convlab
