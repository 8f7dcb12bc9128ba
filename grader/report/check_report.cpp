#include "grader/report/check_report.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <sstream>

#include "common/base/text.hpp"
#include "common/timing/statistics.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/report/editor_lines.hpp"

namespace convlab::grader {

namespace {

constexpr int kBatchWidth = 7;
constexpr int kTimeWidth = 17;
constexpr int kAccuracyWidth = 14;
constexpr int kErrorWidth = 8;

constexpr int kItemWidth = 22;
constexpr int kPointsWidth = 9;
constexpr int kYoursWidth = 12;
constexpr int kReferenceWidth = 12;

std::string title_of(const ScoreItem& item) {
  std::string title = item.item;
  if (item.item == "cases") title = "element-wise cases";
  if (item.batch > 0) title += ", " + count_of(item.batch, "image");
  return title;
}

Colour colour_of(Credit credit) {
  return credit == Credit::kEarned      ? Colour::kGood
         : credit == Credit::kPartial   ? Colour::kBad
         : credit == Credit::kUndecided ? Colour::kStrong
                                        : Colour::kQuiet;
}

std::string row(const std::string& item, const std::string& points, const std::string& yours,
                const std::string& reference) {
  return "  " + left(item, kItemWidth) + points + right(yours, kYoursWidth) +
         right(reference, kReferenceWidth) + "  ";
}

std::string row_of(const ScoreItem& item) {
  const bool counts = item.credit != Credit::kNotMeasured;
  // A technique earns nothing by itself: the stage's other points need it.
  const std::string points =
      item.points > 0.0 ? (counts ? points_text(item.earned) : "-") + "/" + points_text(item.points)
                        : "needed";
  // Colour codes must not count as width, so the cell is padded before it is coloured.
  const std::string label =
      row(title_of(item), coloured(right(points, kPointsWidth), colour_of(item.credit)), item.yours,
          item.reference);
  const int indent = 2 + kItemWidth + kPointsWidth + kYoursWidth + kReferenceWidth + 2;
  return hanging(label, indent, item.why);
}

// Stages of choice appear only if they earned points, or lack their technique.
bool is_shown(const Score& score, const std::string& stage) {
  return !score.is_optional(stage) || std::ranges::any_of(score.items, [&](const auto& item) {
    return item.stage == stage && (item.earned > 0.0 || item.lacks_technique);
  });
}

// "12.3 ±0.4": median and half the interquartile range, in milliseconds.
std::string time_text(const std::vector<double>& samples) {
  if (samples.empty()) return "-";
  const Spread spread = spread_of(samples);
  if (samples.size() == 1) return three_digits(spread.median) + " once";
  return three_digits(spread.median) + " ±" +
         spread_digits(spread.median, (spread.upper_quartile - spread.lower_quartile) / 2.0);
}

// Of the table of runs, whose rows are run_row.
std::string run_heading(std::size_t layers) {
  std::string text = right("batch", kBatchWidth);
  for (std::size_t i = 0; i < layers; ++i) {
    text += right("op time " + std::to_string(i + 1) + ", ms", kTimeWidth);
  }
  return text + right("accuracy", kAccuracyWidth) + right("error", kErrorWidth) + "  verdict";
}

std::string run_row(const RunResult& run) {
  std::string text = right(std::to_string(run.batch), kBatchWidth);
  double worst = 0.0;
  for (const LayerResult& layer : run.layers) {
    text +=
        right(run.device == Device::kEmulated ? "emulated" : time_text(layer.op_ms), kTimeWidth);
    if (layer.error) worst = std::max(worst, layer.error->worst_ratio);
  }
  std::string accuracy = "-";
  if (run.accuracy) {
    accuracy = std::to_string(run.accuracy->correct) + "/" + std::to_string(run.accuracy->total);
  }
  std::array<char, 32> error{};
  const char* const form = worst < 1e3 ? "%.1f" : worst < 1e6 ? "%.0f" : "%.0e";
  std::snprintf(error.data(), error.size(), form, worst);
  const bool passed = run.verdict == Verdict::kPassed;
  return text + right(accuracy, kAccuracyWidth) + right(error.data(), kErrorWidth) + "  " +
         coloured(to_string(run.verdict), passed ? Colour::kGood : Colour::kBad);
}

}  // namespace

std::string lines_text(std::string label, const std::string& of) {
  std::string text;
  std::istringstream lines(of);
  for (std::string line; std::getline(lines, line);) {
    text += line.starts_with(' ') ? label + line + "\n" : paragraph(label, line);
    label.assign(label.size(), ' ');
  }
  return text;
}

std::string finding_text(const Finding& finding) {
  std::string anchor = finding.id;
  for (char& c : anchor) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return "  " + coloured(finding.id, Colour::kBad) + "  " +
         coloured(finding.title, Colour::kStrong) + "\n" +
         lines_text("    seen   ", seen_text(finding)) +
         (finding.mends.empty() ? "" : paragraph("    where  ", mend_lines_text(finding))) +
         (finding.compiler.empty() ? "" : lines_text("    warns  ", finding.compiler)) +
         (finding.cause.empty() ? "" : paragraph("    cause  ", finding.cause)) +
         paragraph("    next   ", finding.next) + "    more   docs/diagnoses.md#" + anchor + "\n";
}

GradeObserver CheckPrinter::observer() {
  return {
      .announce = [this](const std::string& what) { progress_.show(what); },
      .tell = [this](const StageInfo& stage, const StageReport& report) { tell(stage, report); }};
}

void CheckPrinter::tell_editor(const CheckResult& check,
                               const std::vector<std::filesystem::path>& sources,
                               const std::filesystem::path& root) {
  if (format_ != "text") for_editor_ += editor_lines(check, format_, sources, root);
}

void CheckPrinter::tell(const StageInfo& stage, const StageReport& report) {
  progress_.clear();
  name(stage);
  if (report.cases_passed > 0) {
    std::cout << "  element-wise cases: " << report.cases_passed << " of " << report.cases_passed
              << " " << coloured("passed", Colour::kGood) << "\n";
  }
  if (report.run) {
    if (std::exchange(table_of_, stage.id) != stage.id) {
      std::cout << "  network " << report.run->network << "\n"
                << run_heading(report.run->layers.size()) << "\n";
    }
    std::cout << run_row(*report.run) << "\n";
  }
  if (report.is_forgiven) std::cout << "  What was run is right, so this is only a warning:\n";
  if (report.finding) std::cout << finding_text(*report.finding);
  if (report.mended) std::cout << paragraph("    where  ", mend_lines_text(*report.mended));
  if (!report.note.empty()) std::cout << paragraph("  ", report.note);
  std::cout << std::flush;
}

void CheckPrinter::name(const StageInfo& stage) {
  if (named_ == stage.id) return;
  named_ = stage.id;
  std::cout << "\n" << coloured(stage.id, Colour::kStrong) << "  " << stage.title;
  if (stage.precision != Precision::kFp32) std::cout << " (" << to_string(stage.precision) << ")";
  std::cout << "\n";
}

std::string points_tables(const CheckResult& check, const std::optional<Score>& shown) {
  std::string text = shown ? score_table(*shown) : "";
  if (const auto& edition = check.edition) {
    const std::string earned = edition->counts ? points_text(edition->earned) : "-";
    text += paragraph("  ", "The course gives " + earned + "/" +
                                count_of(points_text(edition->points), "point") + " for " +
                                edition->task +
                                (edition->why.empty() ? "." : ": " + edition->why + "."));
  }
  if (const auto& ranked = check.ranked) {
    double sum = 0.0;
    for (const double time : ranked->op_ms) sum += time;
    const std::string times =
        ranked->why_not.empty()
            ? three_digits(sum) + " ms at " + count_of(ranked->batch, "image") + " on an " +
                  check.result.machine.gpu + ". The op times above have new images in each call."
            : ranked->why_not;
    text += paragraph("  ", "The course's ranked run (" + ranked->how + "): " + times);
  }
  return text;
}

std::string points_text(double points) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g", std::round(points * 10.0) / 10.0);
  return text.data();
}

std::string score_table(const Score& score) {
  std::string text = row("item", right("points", kPointsWidth), "yours", "reference") + "why\n";
  std::string stage;
  const bool several = std::ranges::any_of(
      score.items, [&](const ScoreItem& item) { return item.stage != score.items.front().stage; });
  for (const ScoreItem& item : score.items) {
    if (!is_shown(score, item.stage)) continue;
    if (several && std::exchange(stage, item.stage) != item.stage) {
      text += "  " + coloured(stage, Colour::kStrong) + "\n";
    }
    text += row_of(item);
  }
  text += "  " + left("sum", kItemWidth) +
          right(points_text(score.earned()) + "/" + points_text(score.counted()), kPointsWidth);
  const double left_out = score.total() - score.counted();
  if (left_out > 0.0)
    text += "  " + count_of(points_text(left_out), "more point") +
            (left_out == 1.0 ? " was" : " were") + " not measured";
  text += "\n";
  if (!score.choice) return text;
  double chosen = 0.0;
  for (const ScoreItem& item : score.items) {
    chosen += score.is_optional(item.stage) ? item.earned : 0.0;
  }
  return text +
         paragraph("  ", "Stages to choose from have " + count_of(points_text(chosen), "point") +
                             " so far, of which up to " + points_text(score.choice->most) +
                             " count.");
}

}  // namespace convlab::grader
