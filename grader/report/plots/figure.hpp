#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "grader/report/table.hpp"

namespace convlab::grader {

/// One logarithmic axis: from `low` to `high`, which `include` widens.
struct Axis {
  std::string title{};
  double low = 0.0;
  double high = -1.0;  ///< below low: no value yet

  void include(double value);
  /// The value at this share of the axis, and the reverse.
  [[nodiscard]] double at(double share) const;
  [[nodiscard]] double share(double value) const;
};

/// Colours: 0, 1, … of series, and those of lines that are no series.
inline constexpr int kLibraryColour = -1;
inline constexpr int kBoundColour = -2;
inline constexpr int kInk = -3;

struct Mark {
  double at = 0.0;  ///< place along x; in a figure of rows the row
  double value = 0.0;
  double low = 0.0;
  double high = 0.0;
  std::string text{};
};

struct Series {
  enum class Line { kNone, kThick, kDotted };

  std::string label{};
  int colour = 0;
  int symbol = 0;  ///< 0, 1, …: filled ones, then empty ones; negative: none
  Line line = Line::kNone;
  std::vector<Mark> marks{};
};

/// A line across a panel of rows.
struct Rule {
  std::string label{};
  double value = 0.0;
  int colour = kLibraryColour;
};

struct Panel {
  std::string title{};
  std::vector<Series> series{};
  std::vector<Rule> rules{};
  /// Of each row, in a figure of rows: from `low` over `value` to `high`, with a text behind it.
  std::vector<Mark> bars{};
};

/// A text in a column beside the point (x, y), at the height `text_y`.
struct Label {
  double x = 0.0;
  double y = 0.0;
  double column = 0.0;
  double text_y = 0.0;
  bool to_the_left = false;  ///< the text ends at the column
  int colour = 0;
  std::string text{};
};

/// A figure, described once. gnuplot draws it as SVG, PDF and PNG (draw()), a page with its
/// own library (pages/page.js). With rows, values go from left to right, a row for each thing that
/// has some, panels side by side; without, they lie over numbers in one panel.
struct Figure {
  std::string name{};  ///< of its files, without ending
  std::string title{};
  std::string caption{};  ///< what a reader needs to trust the numbers
  Axis x{};
  Axis y{};
  std::vector<std::string> rows{};  ///< from above
  double origin = 0.0;              ///< where the bars of rows begin; 0: at their lowest mark
  std::vector<Panel> panels{};
  std::vector<Label> labels{};

  /// Adds labels in one column, each as near to its point as there is room. The points' heights
  /// are those of the y axis, whose range must be known.
  /// @param highest  a share of that axis, below which all stay if there is room
  void add_labels(std::vector<Label> column, double highest = 1.0);
};

/// The numbers, for readers who cannot see it.
Table table_of(const Figure& figure);

/// Draws FOLDER/NAME.svg, .pdf and .png of each figure, with the templates beside
/// this file: look.gp, then one of the figure's form. gnuplot runs in a sandbox. A reader always
/// sees a whole picture. Characters that do not belong in a file name become '-'.
/// @return the files
/// @throws UsageError if a figure has more rows or panels than can be read
/// @throws EnvironmentError if gnuplot is missing or fails, or the folder cannot be created
std::vector<std::filesystem::path> draw(const std::vector<Figure>& figures,
                                        const std::filesystem::path& folder);

}  // namespace convlab::grader
