#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/custom_submission/build_custom_submission.hpp"
#include "common/serve/finding.hpp"
#include "grader/submission/build_submission.hpp"

namespace convlab::grader {

/// A custom submission, built for emulation.
struct EmulatedProgram {
  std::filesystem::path program{};   ///< empty if it cannot be built
  std::optional<Finding> refused{};  ///< the reason
  std::string warnings{};            ///< of the compiler, a line each; nvcc is silent about most
};
using BuildEmulated = std::function<EmulatedProgram(bool traced)>;

/// The program to check, and the sources that it was built from, if they are known.
struct CustomSubmission {
  std::filesystem::path program{};
  std::optional<Device> device{};    ///< for which sources were built, or would have been
  std::optional<Finding> unbuilt{};  ///< why there is none; then nothing runs
  FileInterface form = FileInterface::kStages;
  std::string warnings{};                        ///< of the compiler, shown beside a finding
  std::vector<std::filesystem::path> sources{};  ///< to quote
  /// Builds the same file emulated; traced, it observes every access to memory. Null for the CPU
  /// and where only the program is known.
  BuildEmulated build_emulated{};
  /// Builds the same file emulated, to look for numbers that their types cannot hold; empty if that
  /// cannot be built. Null where build_emulated is.
  std::function<std::filesystem::path()> build_sized{};
  /// Builds the same file traced; empty if that would show nothing. Null but for the CPU.
  std::function<std::filesystem::path()> build_traced{};
  /// Builds its only file with another text, that of checks/mend; null where there are several.
  std::function<BuiltSubmission(const std::string& text)> build_edited{};
};

/// The sources behind a name: one file alone, or all of a folder with its headers.
/// @param is_cpu  whether the milestone runs on the CPU: .cpp, or .cu
/// @throws UsageError if there are none, or if they are of another milestone's kind
SubmittedSources sources_of(const std::filesystem::path& given, bool is_cpu);

/// A file with all headers of a folder, which it may name from `root` on or from its own folder.
SubmittedSources with_headers(const std::filesystem::path& file, const std::filesystem::path& root,
                              const std::filesystem::path& folder);

/// A file of the reference solutions with their headers.
SubmittedSources reference_file(const std::filesystem::path& file);

/// Why they could not be built, in words.
Finding explain(const BuildProblem& problem, const SubmittedSources& submitted);

/// Compiles sources for the CPU, for a GPU if one answers, else emulated.
/// @param build      the build folder, above bin/
/// @param libraries  of the GPU that they may call: "cublas"
CustomSubmission build_custom_submissions(const SubmittedSources& submitted, bool is_cpu,
                                          const std::filesystem::path& build,
                                          const std::vector<std::string>& libraries = {});

}  // namespace convlab::grader
