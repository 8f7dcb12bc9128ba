#pragma once

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

namespace convlab::grader {

/// A program that may not run for ever.
struct BoundedCommand {
  std::vector<std::string> words;  ///< the program, looked for in PATH, and its arguments
  std::chrono::milliseconds limit{};
  bool catch_output = true;  ///< false: it prints where this process prints
  const volatile std::sig_atomic_t* interrupted = nullptr;  ///< ends it once this is not 0
};

struct BoundedRun {
  enum class End { kExited, kTimeLimit, kInterrupted };
  End end = End::kExited;
  int exit_code = 0;     ///< as a shell reports it: 127 where there is no such program
  std::string output{};  ///< of both its streams, if caught
};

/// Runs it to its end. It and all that it started in its group ends with this process, at the time
/// limit, and when interrupted.
/// @throws EnvironmentError if no process can be started
BoundedRun run_bounded(const BoundedCommand& command);

}  // namespace convlab::grader
