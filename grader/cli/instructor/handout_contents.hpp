#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace convlab::grader {

/// milestones/handout.list: what a hand-out holds.
struct HandoutList {
  std::vector<std::string> patterns{};  ///< of files; each has been used
  std::vector<std::string> told{};      ///< lines of the solutions that are no secret

  /// @throws EnvironmentError if it cannot be read
  static HandoutList read(const std::filesystem::path& file);

  [[nodiscard]] bool names(const std::string& file) const;
};

/// A page without the parts for instructors and without blocks of ```diff, which show right lines.
std::string page_for_students(const std::string& page);

/// The places of `tree` that tell an answer, each a sentence that names file and line: files of the
/// solutions, lines of them in any text file whatever their spaces, exercises that are a solution
/// under other names, and counts of hidden batches.
/// @param solutions  reference/solutions
std::vector<std::string> answers_in(const std::filesystem::path& tree,
                                    const std::filesystem::path& solutions,
                                    const HandoutList& list);

/// The links of the pages in `tree`, and the pages named in its sources, that lead nowhere.
std::vector<std::string> broken_links(const std::filesystem::path& tree);

}  // namespace convlab::grader
