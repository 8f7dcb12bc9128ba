#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace convlab::grader {

/// Counts the files and bytes of one submission, so that an archive made to fill a disk is not read
/// to its end.
/// @throws RefusedSubmission at a limit of submitted_files.hpp
class Allowance {
 public:
  void entry();
  void bytes(std::size_t count);

 private:
  std::size_t entries_ = 0;
  std::size_t bytes_ = 0;
};

/// @throws RefusedSubmission if a source is longer than kMostSourceBytes
void require_short(const std::string& path, std::size_t size);

/// @throws RefusedSubmission if a path in it is longer than kLongestPath
void require_short_name(const std::string& path);

/// Whether it is a source that counts in a submission: .cpp, .cu, .cuh, .h, .hpp.
bool is_source(const std::filesystem::path& file);

/// Whether grader submit put it beside the sources: what the student noted, and the checks so far.
/// No point depends on them, so they are left out where they are longer than kMostNoteBytes.
bool is_note(const std::filesystem::path& file);
inline constexpr std::size_t kMostNoteBytes = std::size_t{1} << 20;

/// Whether a path, from the submission's folder on, is no work of the student's: what begins with a
/// dot, the folder that macOS adds to archives, and build folders.
bool is_left_out(const std::filesystem::path& path);

/// The name between quotes, printable and not too long.
std::string quoted_name(const std::string& name);

}  // namespace convlab::grader
