#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace convlab::grader {

/// An error of a compiler or a linker, told of a student's file.
struct BuildError {
  /// What the compiler would write in place of columns [begin, end) of a line; from 1.
  struct FixIt {
    int line = 0;
    std::size_t begin = 0;
    std::size_t end = 0;
    std::string text{};
  };

  std::string file{};  ///< of the submission, from its folder on; empty: no place in it is known
  int line = 0;
  std::size_t column = 0;  ///< from 1; of an emulated file that of the rewritten line
  std::string text{};      ///< without paths, and without names that the student did not write
  std::string notes{};     ///< what the compiler adds, a line each
  std::vector<FixIt> fixes{};
  int more = 0;  ///< errors after this one

  /// "conv.cu:31: error: expected ';' (and 2 more)"
  [[nodiscard]] std::string said() const;
};

/// The first error that has a place in the submission: its own, or the one from which the compiler
/// came to a header. If none has one, the first error, or the first line.
/// @param printed  by GCC, clang, nvcc, the rewriter or the linker
/// @param sources  BUILD/sources, above the folders in which submissions are built
BuildError first_build_error(const std::string& printed, const std::filesystem::path& sources);

}  // namespace convlab::grader
