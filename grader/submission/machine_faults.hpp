#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace convlab::grader {

/// What the machine is to blame for when nothing could be made in `folder`, "No space left on
/// device". It asks the machine: it writes a file and looks how much space is left. What a compiler
/// printed is no evidence, because a source can make it print anything.
/// @return empty where the folder takes files
std::string fault_of_storage(const std::filesystem::path& folder);

/// The compiler or the tool beside it that this build was configured with and that cannot be
/// executed any more; empty where all are there.
/// @param build   the build folder, with given_file/
/// @param device  "cpu", "emulated" or "gpu"
std::string missing_tool(const std::filesystem::path& build, const std::string& device);

/// Where the compilers of this build live, "/apps/cuda-13/bin" and its neighbours for
/// /apps/cuda-13/bin/nvcc: what they include and execute lies there. Not the system's own place,
/// which everybody knows.
std::vector<std::filesystem::path> tool_folders(const std::filesystem::path& build,
                                                const std::string& device);

}  // namespace convlab::grader
