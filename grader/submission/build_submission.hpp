#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "common/given_file/build_given_file.hpp"
#include "grader/submission/symbol_rules.hpp"

namespace convlab::grader {

/// Why no program could be built from a file.
struct BuildProblem {
  enum class Kind { kDoesNotCompile, kTakesTooLong, kSymbol, kNoConvolution };
  Kind kind = Kind::kDoesNotCompile;
  std::string message{};                  ///< of the compiler or the linker: its first error
  std::optional<SymbolProblem> symbol{};  ///< of kSymbol
};

struct BuiltSubmission {
  std::filesystem::path program{};  ///< answers --serve
  std::filesystem::path folder{};   ///< where it lies, with compiler.log
  FileInterface form = FileInterface::kStages;
  std::optional<BuildProblem> problem{};
  std::string warnings{};  ///< of the compiler, about the file: lines_of_warnings
};

/// The warnings in a compiler's output, a line each, those first that explain wrong results:
/// "conv.cu:31: 'sum' is used uninitialized". At most three.
std::string lines_of_warnings(const std::string& printed);

/// Builds a program for the grader from one source file. Copies the file, without its neighbours,
/// into a folder of its own below build/sources, compiles it in isolation, and makes its functions
/// local, so that they replace no others. Does not compile the same text twice.
/// @throws UsageError if there is no such file
/// @throws EnvironmentError if the build folder cannot be written, or holds no commands
BuiltSubmission build_submission(const std::filesystem::path& file, const GivenFileTarget& target);

}  // namespace convlab::grader
