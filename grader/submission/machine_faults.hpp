#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace convlab::grader {

/// The machine's fault after a failed build in `folder`, "No space left on device". It asks the
/// machine: it writes 16 MB. The compiler's output is no evidence, because a source can make it
/// print anything.
/// @return empty if files can be written
std::string fault_of_storage(const std::filesystem::path& folder);

/// The configured compiler or tool that can no longer be executed; empty if all exist.
/// @param build   the build folder, with custom_submission/
/// @param device  "cpu", "emulated" or "gpu"
std::string missing_tool(const std::filesystem::path& build, const std::string& device);

/// The folders of this build's compilers, "/apps/cuda-13/bin" and its neighbours for
/// /apps/cuda-13/bin/nvcc, with the files that they include and execute. Without the system's own
/// folders, which are always readable.
std::vector<std::filesystem::path> tool_folders(const std::filesystem::path& build,
                                                const std::string& device);

/// How many times slower this machine is than the one for which the time limits were chosen, at
/// least 1: the time of a million loads, additions and stores. Processor time, and the best of
/// five, because whatever else runs must not matter.
double slowness();

}  // namespace convlab::grader
