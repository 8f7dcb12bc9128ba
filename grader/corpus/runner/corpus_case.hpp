#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace convlab::grader {

/// One file for the grader, as a file of a corpus describes it.
struct CorpusCase {
  std::string name{};  ///< the word behind "// Case", or the name of the file without its suffix
  std::string text{};  ///< what the grader gets
  std::string header{};

  /// The value of a line "// KEY value" of its header; empty if there is none.
  [[nodiscard]] std::string field(const std::string& key) const;
};

/// Reads a file of a corpus: one case, or several that share lines.
///
/// A line `// Case NAME` begins a case. It ends at the next one or at `// End of cases`; what
/// stands before the first and behind the end belongs to every case. The header is the comment that
/// begins a case, then the one that begins the file: a case leaves out what holds for all. Its
/// lines
/// `#include <…>` move to the top, so that a case may lie inside a function.
///
/// The grader gets a file without its neighbours, so a line `#include "parts/…"` is replaced by
/// that file.
/// @throws UsageError if two cases have one name
std::vector<CorpusCase> read_cases(const std::filesystem::path& file);

}  // namespace convlab::grader
