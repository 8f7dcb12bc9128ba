#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "common/device/device_info.hpp"
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
/// own below build/sources, compiled in a sandbox by compile-submission, its functions kept from
/// taking the place of others. The same text is not compiled twice.
/// @param device  kCpu for milestone 1, kGpu or kEmulated for the others
/// @param build   the folder above bin/, which holds compile-submission
/// @throws UsageError if there is no such file
/// @throws EnvironmentError if the build folder cannot be written, or has no compile-submission
BuiltSubmission build_submission(const std::filesystem::path& file, Device device,
                                 const std::filesystem::path& build);

}  // namespace convlab::grader
