#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace convlab::grader {

/// A typical mistake: a few lines of a right solution, changed. A file of the corpus is
///
///     // What     Threads without an output read, too.
///     // Finding  E-outside
///     // Cause    Threads without an output need a guard
///     // Place    the line; Thread (
///     - if (h >= shape.out_height() || w >= shape.out_width()) return;
///     + if (h > shape.out_height() || w > shape.out_width()) return;
///
/// Lines with '-' and '+' have the form of with_changed_lines. A line `// From im2col.cu` names
/// another solution than that of the folder, m1.cpp, m2.cu, …. `// Finding passes` stands for a
/// mistake that nothing notices.
///
/// The finding must have the words of Cause, which state what is wrong, and of Place, which say
/// where; "the line" is met if it quotes a line of the change. Words that are false for this
/// mistake stand behind `// Misleads`. What a finding says neither of is left out: so the lines
/// decide how much a student learns, its Share.
struct Mistake {
  /// The cause and its place are named; one of them; neither; what is said is false; it passes.
  enum class Share { kNamed, kHelps, kBare, kFalse, kPasses };

  std::string name{};               ///< "m2/no_guard"
  std::string what{};               ///< one sentence
  std::string finding{};            ///< the id that it must get; empty if it passes
  std::vector<std::string> says{};  ///< words that the finding must have
  Share share = Share::kBare;
  bool quotes_line = false;      ///< the finding must quote a line of the change
  std::string milestone{};       ///< "m2"
  bool only_emulated = false;    ///< nvcc refuses it in its own words, "// Runs emulated"
  std::filesystem::path from{};  ///< the right solution
  std::string change{};          ///< for with_changed_lines
};

/// Reads a file of the corpus. @param solutions  the folder of the right solutions
/// @throws std::runtime_error that names the file and what is wrong with it
Mistake read_mistake(const std::filesystem::path& file, const std::filesystem::path& solutions);

/// The solution with the mistake. @throws std::runtime_error if a line with '-' is not in it
std::string make_mistake(const Mistake& mistake);

/// Whether the text quotes, as "file:line |", a line of `made` that `original` does not have there,
/// or one beside lines that are missing.
bool quotes_changed_line(const std::string& text, const std::string& original,
                         const std::string& made);

}  // namespace convlab::grader
