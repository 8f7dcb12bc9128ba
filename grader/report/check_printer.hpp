#pragma once

#include <map>
#include <string>

#include "grader/report/terminal.hpp"
#include "grader/scores/grade.hpp"

namespace convlab::grader {

/// Prints on the terminal while a check goes on: stages, cases, a row per batch, findings.
class CheckPrinter {
 public:
  /// The observer that reports to this printer; the printer must outlive it.
  GradeObserver observer();

  /// Removes the line of progress.
  void clear() { progress_.clear(); }

 private:
  void name(const StageInfo& stage);

  ProgressLine progress_;
  std::string named_;
  std::map<std::string, std::string> explained_;  ///< the stage that showed a cause and a next step
  std::string table_of_;
};

}  // namespace convlab::grader
