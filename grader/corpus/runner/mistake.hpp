#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace convlab::grader {

/// A typical mistake: a few lines of a right solution, changed. A file of the corpus is
///
///     // What     Threads without an output read, too.
///     // Finding  E-outside
///     // Says     conv_forward_kernel; `input`; Thread (
///     - if (h >= shape.out_height() || w >= shape.out_width()) return;
///     + if (h > shape.out_height() || w > shape.out_width()) return;
///
/// Lines with '-' and '+' have the form of with_changed_lines. A line `// From im2col.cu` names
/// another solution than that of the folder, m1.cpp, m2.cu, ….
struct Mistake {
  std::string name{};               ///< "m2/no_guard"
  std::string what{};               ///< one sentence
  std::string finding{};            ///< the id that it must get
  std::vector<std::string> says{};  ///< words that the finding must have
  std::string milestone{};          ///< "m2"
  bool only_emulated = false;       ///< nvcc refuses it in its own words, "// Runs emulated"
  std::filesystem::path from{};     ///< the right solution
  std::string change{};             ///< for with_changed_lines
};

/// Reads a file of the corpus. @param solutions  the folder of the right solutions
/// @throws std::runtime_error that names the file and what is wrong with it
Mistake read_mistake(const std::filesystem::path& file, const std::filesystem::path& solutions);

/// The solution with the mistake. @throws std::runtime_error if a line with '-' is not in it
std::string make_mistake(const Mistake& mistake);

}  // namespace convlab::grader
