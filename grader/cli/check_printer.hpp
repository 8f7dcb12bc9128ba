#pragma once

#include <string>

#include "grader/grading/grade.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

/// Prints on the terminal while a check goes on: stages, cases, a row per batch, findings.
class CheckPrinter {
 public:
  /// Tells this printer what happens; it must live as long as what is returned.
  GradeObserver observer();

  /// Takes the line of progress away.
  void clear() { progress_.clear(); }

 private:
  void name(const StageInfo& stage);

  ProgressLine progress_;
  std::string named_;
  std::string table_of_;
};

}  // namespace convlab::grader
