#pragma once

#include <filesystem>
#include <vector>

#include "grader/submission/sandbox/sandbox_policy.hpp"

namespace convlab::grader {

/// The existing files and folders that a program may read: only those of a list. OwnRoot shows no
/// others, so home folders, temporary folders, the course, passwords and terminals are closed
/// without being named. A program reads what a run time needs (libraries, the machine's
/// description) and uses the null device; one for a GPU uses its devices; a compiler reads its
/// tools.
///
/// If libraries or compilers lie elsewhere, for example on a cluster,
/// CONVLAB_ISOLATION_READABLE=/apps/gcc:/apps/cuda names them.
/// @param program  also its emulated sibling
std::vector<std::filesystem::path> visible_files(const SandboxPolicy& policy,
                                                 const std::filesystem::path& program);

/// Whether a path is a folder or lies below it.
bool is_inside(const std::filesystem::path& path, const std::filesystem::path& folder);

}  // namespace convlab::grader
