#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "grader/submission/build_submission.hpp"

namespace convlab::grader {

/// Registers of a thread of each kernel, by its name without namespaces and template arguments; of
/// several with one name the most. nvcc, which needs no GPU, compiles the files in a sandbox for
/// compute capability 9.0 and says so.
/// Source of nvcc: the variable CUDACXX, as for CMake, or the places of the CUDA Toolkit's
/// packages.
/// @param kept  folder that keeps what this nvcc said of these files; emptied when it grows
/// @return none without nvcc, or if it does not take the files
std::map<std::string, int> kernel_registers(const SubmittedSources& submitted,
                                            const std::filesystem::path& kept);

/// From what `nvcc -Xptxas -v` prints.
std::map<std::string, int> registers_printed(const std::string& printed);

/// Those of launched kernels, by the name at the launch. One that is launched through a pointer has
/// the pointer's name: it takes at most what those do that have no other launch.
std::map<std::string, int> registers_of(const std::map<std::string, int>& known,
                                        const std::vector<std::string>& launched);

}  // namespace convlab::grader
