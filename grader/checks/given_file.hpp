#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/given_file/build_given_file.hpp"
#include "grader/result/finding.hpp"

namespace convlab::grader {

/// A source file that was given to be checked, and what became of it.
struct GivenFile {
  std::filesystem::path program{};
  std::optional<Finding> finding{};  ///< why it cannot be checked
  FileInterface form = FileInterface::kStages;
  std::string warnings{};  ///< of the compiler, a line each
};

/// Compiles a file for a milestone: for the CPU, for a GPU where one answers, else emulated.
/// @param student  the milestone's own program, which knows whether a GPU answers
/// @param build    the build folder, above bin/
/// @param libraries  of the GPU that it may call: "cublas"
/// @throws UsageError if there is no such file, or if it is of another milestone's kind
GivenFile build_given_file(const std::filesystem::path& file, const std::filesystem::path& student,
                           const std::filesystem::path& build,
                           const std::vector<std::string>& libraries = {});

}  // namespace convlab::grader
