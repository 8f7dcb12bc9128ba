#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace convlab::rewrite {

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
