#include "grader/report/score_table.hpp"

#include <array>
#include <cmath>
#include <cstdio>

#include "grader/report/terminal.hpp"

namespace convlab::grader {

namespace {

constexpr int kItemWidth = 22;
constexpr int kPointsWidth = 9;
constexpr int kYoursWidth = 12;
constexpr int kReferenceWidth = 12;

std::string title_of(const ScoreItem& item) {
  std::string title = item.item;
  if (item.item == "cases") title = "element-wise cases";
  if (item.batch > 0) {
    title += ", " + std::to_string(item.batch) + (item.batch == 1 ? " image" : " images");
  }
  return title;
}

Colour colour_of(Credit credit) {
  switch (credit) {
    case Credit::kEarned:
      return Colour::kGood;
    case Credit::kPartial:
      return Colour::kBad;
    case Credit::kUndecided:
      return Colour::kStrong;
    case Credit::kNotMeasured:
      break;
  }
  return Colour::kQuiet;
}

std::string row(const std::string& item, const std::string& points, const std::string& yours,
                const std::string& reference) {
  return "  " + left(item, kItemWidth) + points + right(yours, kYoursWidth) +
         right(reference, kReferenceWidth) + "  ";
}

std::string row_of(const ScoreItem& item) {
  const bool counts = item.credit != Credit::kNotMeasured;
  const std::string points =
      (counts ? points_text(item.earned) : "-") + "/" + points_text(item.points);
  // Colour codes must not count as width, so the cell is padded before it is coloured.
  const std::string label =
      row(title_of(item), coloured(right(points, kPointsWidth), colour_of(item.credit)), item.yours,
          item.reference);
  const int indent = 2 + kItemWidth + kPointsWidth + kYoursWidth + kReferenceWidth + 2;
  return hanging(label, indent, item.why);
}

}  // namespace

std::string points_text(double points) {
  std::array<char, 32> text{};
  const double tenths = std::round(points * 10.0) / 10.0;
  std::snprintf(text.data(), text.size(), tenths == std::floor(tenths) ? "%.0f" : "%.1f", tenths);
  return text.data();
}

namespace {

// Stages of choice appear only if they earned points.
bool is_shown(const Score& score, const std::string& stage) {
  if (!score.is_optional(stage)) return true;
  for (const ScoreItem& item : score.items) {
    if (item.stage == stage && item.earned > 0.0) return true;
  }
  return false;
}

std::string choice_lines(const Score& score) {
  std::string others;
  double chosen = 0.0;
  for (const std::string& stage : score.choice->stages) {
    if (!is_shown(score, stage)) others += (others.empty() ? "" : ", ") + stage;
  }
  for (const ScoreItem& item : score.items) {
    chosen += score.is_optional(item.stage) ? item.earned : 0.0;
  }
  std::string text = paragraph("  ", "Stages to choose from have " + points_text(chosen) +
                                         " points so far, of which up to " +
                                         points_text(score.choice->most) + " count.");
  if (!others.empty()) text += paragraph("  ", "Nothing earned yet in: " + others + ".");
  return text;
}

}  // namespace

std::string score_table(const Score& score) {
  std::string text = row("item", right("points", kPointsWidth), "yours", "reference") + "why\n";
  std::string stage;
  bool several = false;
  for (const ScoreItem& item : score.items) several |= item.stage != score.items.front().stage;
  for (const ScoreItem& item : score.items) {
    if (!is_shown(score, item.stage)) continue;
    if (several && item.stage != stage) {
      stage = item.stage;
      text += "  " + coloured(stage, Colour::kStrong) + "\n";
    }
    text += row_of(item);
  }
  text += "  " + left("sum", kItemWidth) +
          right(points_text(score.earned()) + "/" + points_text(score.counted()), kPointsWidth);
  const double left_out = score.total() - score.counted();
  if (left_out > 0.0) text += "  " + points_text(left_out) + " more points were not measured";
  text += "\n";
  if (score.choice) text += choice_lines(score);
  return text;
}

}  // namespace convlab::grader
