#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "common/result/result.hpp"
#include "common/serve/finding.hpp"
#include "grader/checks/result/check_result.hpp"
#include "grader/judge/grade.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

/// The lines of a finding behind a label, wrapped. Indented ones stay as they are: a quoted line of
/// a source, and a caret that points at the character above it.
std::string lines_text(std::string label, const std::string& of);

/// A finding in full: what, where, why, what next.
std::string finding_text(const Finding& finding);

/// Prints on the terminal while a check goes on: stages, cases, a row per batch, findings.
class CheckPrinter {
 public:
  /// @param format  "text", or that of an editor (editor_lines)
  explicit CheckPrinter(std::string format) : format_(std::move(format)) {}

  /// The observer that reports to this printer; the printer must outlive it.
  GradeObserver observer();

  /// Removes the line of progress.
  void clear() { progress_.clear(); }

  /// Adds what was found in these files to what an editor reads. @param root  as of editor_lines
  void tell_editor(const CheckResult& check, const std::vector<std::filesystem::path>& sources,
                   const std::filesystem::path& root);

  /// All findings as an editor reads them; empty without one, and in text.
  const std::string& for_editor() const { return for_editor_; }

 private:
  void name(const StageInfo& stage);
  void tell(const StageInfo& stage, const StageReport& report);

  std::string format_;
  std::string for_editor_;
  ProgressLine progress_;
  std::string named_;
  std::string table_of_;
};

/// The table of points, a line or a few per item, with the sum and what was not measured.
std::string score_table(const Score& score);

/// The same, and what the course gives for the file. @param shown  the part to show of the score
std::string points_tables(const CheckResult& check, const std::optional<Score>& shown);

/// "12", "12.5".
std::string points_text(double points);

}  // namespace convlab::grader
