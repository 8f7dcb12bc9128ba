#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/given_file/build_given_file.hpp"
#include "grader/result/finding.hpp"
#include "grader/submission/build_submission.hpp"

namespace convlab::grader {

/// A given file, built for emulation.
struct EmulatedProgram {
  std::filesystem::path program{};   ///< empty if it cannot be built
  std::optional<Finding> refused{};  ///< the reason
  std::string warnings{};            ///< of the compiler, a line each; nvcc is silent about most
};
using BuildEmulated = std::function<EmulatedProgram(bool lockstep)>;

/// The sources to check, and the program built from them.
struct GivenFile {
  std::filesystem::path program{};
  std::optional<Finding> finding{};  ///< why they cannot be checked
  FileInterface form = FileInterface::kStages;
  std::string warnings{};                        ///< of the compiler, a line each
  std::vector<std::filesystem::path> sources{};  ///< that were compiled, to quote
  /// Builds the same file emulated, with warps in lockstep on request: no program then if no lanes
  /// can meet, because there is no shared memory. Null for the CPU.
  BuildEmulated build_emulated{};
  /// Builds the same file without optimisation. Null for GPUs.
  std::function<std::filesystem::path()> build_plain{};
};

/// The sources behind a name: one file alone, or all of a folder with its headers.
/// @param is_cpu  whether the milestone runs on the CPU: .cpp, or .cu
/// @throws UsageError if there are none, or if they are of another milestone's kind
SubmittedSources sources_of(const std::filesystem::path& given, bool is_cpu);

/// Whether lanes of a warp may meet in shared memory: that of the files, or of the workbook's
/// headers with fragments. Where they do not, a run in lockstep shows nothing.
bool has_shared_memory(const SubmittedSources& submitted);

/// Compiles sources for the CPU, for a GPU if one answers, else emulated.
/// @param build      the build folder, above bin/
/// @param libraries  of the GPU that they may call: "cublas"
GivenFile build_given_files(const SubmittedSources& submitted, bool is_cpu,
                            const std::filesystem::path& build,
                            const std::vector<std::string>& libraries = {});

}  // namespace convlab::grader
