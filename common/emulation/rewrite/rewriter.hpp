#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "common/emulation/rewrite/editor.hpp"

namespace convlab::rewrite {

Names collect_names(const std::vector<const Source*>& sources);

/// An #include "name" that the caller wants to point elsewhere.
struct Include {
  std::string name;
  std::string target;
};

/// Turns CUDA's extensions into C++ against the headers in common/emulation/include:
/// launches, __shared__ and extern __shared__ variables, __launch_bounds__, __noinline__; registers
/// __device__ and __constant__ variables; refuses what cannot be emulated and what nvcc would
/// refuse. For the compiler everything stays in its line, and in its column but for lines of macros
/// and of launches in parentheses.
/// @param names     of this file and of all that it includes
/// @param includes  quoted includes to replace
Rewritten rewrite(std::string_view text, const Source& source, const Names& names,
                  const std::vector<Include>& includes = {});

/// Whether the source may access 16 bytes at once: with float4 and its kin, with tensor cores, with
/// types of an alignment that it chooses, or in assembly.
bool has_wide_accesses(const Source& source);

/// Names in the file's #include "…" and #include <…> directives, in order.
std::vector<std::string> included_names(const Source& source);

struct ProjectOptions {
  std::filesystem::path source;
  std::filesystem::path output;                        ///< the rewritten source
  std::vector<std::filesystem::path> include_folders;  ///< where quoted includes are looked for
  std::filesystem::path excluded_folder;               ///< headers below it stay as they are
};

struct ProjectResult {
  std::vector<std::filesystem::path> inputs;  ///< everything that was read
  std::vector<std::string> errors;            ///< "file:line: error: …"
};

/// Rewrites a source with the project headers that it includes in quotes. A header in which nothing
/// changes is left where it is; the others are written next to the output.
/// @throws std::runtime_error when a file cannot be read or written
ProjectResult rewrite_project(const ProjectOptions& options);

}  // namespace convlab::rewrite
