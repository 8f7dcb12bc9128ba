#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace convlab::grader {

/// Counts what one submission takes, so that nothing that was made to fill a disk is read to its
/// end.
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

/// Whether it is a source that is kept of a submission: .cpp, .cu, .cuh, .h, .hpp.
bool is_source(const std::filesystem::path& file);

/// The name between quotes, printable and not too long.
std::string quoted_name(const std::string& name);

}  // namespace convlab::grader
