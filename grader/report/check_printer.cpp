#include "grader/report/check_printer.hpp"

#include <iostream>

#include "grader/report/check_report.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

GradeObserver CheckPrinter::observer() {
  return {.announce = [this](const std::string& what) { progress_.show(what); },
          .cases_passed =
              [this](const StageInfo& stage, std::size_t cases) {
                progress_.clear();
                name(stage);
                std::cout << "  element-wise cases: " << cases << " of " << cases << " "
                          << coloured("passed", Colour::kGood) << std::endl;
              },
          .run_ended =
              [this](const RunResult& run) {
                progress_.clear();
                if (table_of_ != run.stage.id) {
                  table_of_ = run.stage.id;
                  std::cout << "  network " << run.network << "\n"
                            << run_heading(run.layers.size()) << "\n";
                }
                std::cout << run_row(run) << std::endl;
              },
          .found =
              [this](const StageInfo& stage, const Finding& finding) {
                progress_.clear();
                name(stage);
                const auto [first, is_new] =
                    explained_.try_emplace(finding.id + finding.cause + finding.next, stage.id);
                std::cout << (is_new ? finding_text(finding)
                                     : repeated_finding_text(finding, first->second))
                          << std::flush;
              },
          .noted =
              [this](const StageInfo& stage, const std::string& text) {
                progress_.clear();
                name(stage);
                std::cout << paragraph("  ", text) << std::flush;
              },
          .warned =
              [this](const StageInfo& stage, const Finding& finding) {
                progress_.clear();
                name(stage);
                std::cout << "  The output is right, so this is only a warning:\n"
                          << finding_text(finding) << std::flush;
              }};
}

void CheckPrinter::name(const StageInfo& stage) {
  if (named_ == stage.id) return;
  named_ = stage.id;
  std::cout << "\n" << coloured(stage.id, Colour::kStrong) << "  " << stage.title;
  if (stage.precision != Precision::kFp32) std::cout << " (" << to_string(stage.precision) << ")";
  std::cout << "\n";
}

}  // namespace convlab::grader
