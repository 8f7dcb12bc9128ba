#include "grader/report/check_report.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <sstream>

#include "common/base/text.hpp"
#include "common/timing/statistics.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

namespace {

constexpr int kBatchWidth = 7;
constexpr int kTimeWidth = 17;
constexpr int kAccuracyWidth = 14;
constexpr int kErrorWidth = 8;

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

std::string time_text(const std::vector<double>& samples) {
  if (samples.empty()) return "-";
  const Spread spread = spread_of(samples);
  if (samples.size() == 1) return three_digits(spread.median) + " once";
  return three_digits(spread.median) + " ±" +
         spread_digits(spread.median, (spread.upper_quartile - spread.lower_quartile) / 2.0);
}

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

std::string finding_text(const Finding& finding) {
  std::string anchor = finding.id;
  std::transform(anchor.begin(), anchor.end(), anchor.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return "  " + coloured(finding.id, Colour::kBad) + "  " +
         coloured(finding.title, Colour::kStrong) + "\n" +
         lines_text("    seen   ", seen_text(finding)) +
         (finding.compiler.empty() ? "" : lines_text("    warns  ", finding.compiler)) +
         paragraph("    cause  ", finding.cause) + paragraph("    next   ", finding.next) +
         "    more   docs/diagnoses.md#" + anchor + "\n";
}

std::string repeated_finding_text(const Finding& finding, const std::string& other_stage) {
  // What was seen is the same, too, but for the line that it quotes last.
  const bool same = finding.id == "E-not-implemented";
  return "  " + coloured(finding.id, Colour::kBad) + "  " +
         coloured(finding.title, Colour::kStrong) + "\n" +
         lines_text("    seen   ", same ? trimmed(finding.seen.substr(finding.seen.rfind('\n') + 1))
                                        : seen_text(finding)) +
         paragraph("    next   ", "As for " + other_stage + ".");
}

}  // namespace convlab::grader
