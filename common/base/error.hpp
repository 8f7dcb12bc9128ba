#pragma once

#include <stdexcept>
#include <string>

namespace convlab {

/// What every program of the workbook returns to the shell.
enum class ExitCode : int {
  kPassed = 0,
  kFallsShort = 1,     ///< the work: a wrong result, an unfinished exercise
  kUsage = 2,          ///< the command line
  kEnvironment = 3,    ///< the machine: no data, no device, no compiler, no memory
  kInterrupted = 130,  ///< Ctrl-C, as shells report it
};

/// Base of the errors that a user may see. The message is one sentence: what is wrong, with names
/// and numbers, and what to do. Libraries throw; only a main prints.
class Error : public std::runtime_error {
 public:
  Error(ExitCode exit_code, const std::string& message)
      : std::runtime_error(message), exit_code_(exit_code) {}

  [[nodiscard]] ExitCode exit_code() const noexcept { return exit_code_; }

 private:
  ExitCode exit_code_;
};

/// A flag or argument that the program cannot accept.
struct UsageError : Error {
  explicit UsageError(const std::string& message) : Error(ExitCode::kUsage, message) {}
};

/// A missing or damaged file, device, compiler or resource.
struct EnvironmentError : Error {
  explicit EnvironmentError(const std::string& message) : Error(ExitCode::kEnvironment, message) {}
};

/// Sizes that do not describe a convolution.
struct ShapeError : Error {
  explicit ShapeError(const std::string& message) : Error(ExitCode::kUsage, message) {}
};

/// An exercise that is still as it was handed out.
struct NotImplementedError : Error {
  explicit NotImplementedError(const std::string& message)
      : Error(ExitCode::kFallsShort, message) {}
};

}  // namespace convlab
