#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "common/given_file/build_given_file.hpp"
#include "grader/submission/symbol_rules.hpp"

namespace convlab::grader {

/// Why a file became no program.
struct BuildProblem {
  enum class Kind { kDoesNotCompile, kTakesTooLong, kSymbol };
  Kind kind = Kind::kDoesNotCompile;
  std::string message{};                  ///< of the compiler or the linker: its first error
  std::optional<SymbolProblem> symbol{};  ///< of kSymbol
};

struct BuiltSubmission {
  std::filesystem::path program{};  ///< answers --serve
  std::filesystem::path folder{};   ///< where it lies, with compiler.log
  std::optional<BuildProblem> problem{};
};

/// Makes a program for the grader of one source file: the file alone, copied into a folder of its
/// own below build/sources, compiled in a sandbox, its functions kept from replacing others. The
/// same text is not compiled twice.
/// @throws UsageError if there is no such file
/// @throws EnvironmentError if the build folder cannot be written, or holds no commands
BuiltSubmission build_submission(const std::filesystem::path& file, const GivenFileTarget& target);

}  // namespace convlab::grader
