#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace convlab::grader {

/// A log axis from `low` to `high`.
struct LogRange {
  double low = 1.0;
  double high = 10.0;

  /// The value at this distance from `low`, as a share of the axis.
  [[nodiscard]] double at(double share) const;
  /// The share of the axis that lies below `value`.
  [[nodiscard]] double share(double value) const;
  void include(double value);
};

/// The data of a template: variables, and data blocks with a row in each line.
class PlotData {
 public:
  /// @param blocks  the names of all data blocks, also of those that stay empty
  explicit PlotData(const std::vector<std::string>& blocks);

  void set(const std::string& variable, double value);
  /// Log axes, and x_low, x_high, y_low, y_high.
  void ranges(const LogRange& x, const LogRange& y);
  /// A line of gnuplot.
  void command(const std::string& line) { commands_ += line + "\n"; }

  /// A row of a block: numbers, and texts without the characters that gnuplot interprets.
  template <typename... Cells>
  void add(const std::string& block, const Cells&... cells) {
    add_row(block, {cell(cells)...});
  }
  /// The next row of the block belongs to another line of the picture.
  void end_of_line(const std::string& block) { blocks_.at(block) += "\n\n"; }

  [[nodiscard]] std::string text() const;

 private:
  static std::string cell(double number);
  static std::string cell(std::size_t number) { return std::to_string(number); }
  static std::string cell(int number) { return std::to_string(number); }
  static std::string cell(std::string text);

  void add_row(const std::string& block, const std::vector<std::string>& cells);

  std::string commands_{};
  std::map<std::string, std::string> blocks_{};
};

/// A picture as one of the templates beside this file draws it: look.gp, then `data`, then
/// TEMPLATE.gp. The head of each template says which variables and data blocks it needs.
struct Picture {
  std::string name{};  ///< of its files, without ending
  std::string form{};  ///< its template: "ladder", "op_by_batch", "roofline", "chart"
  std::string title{};
  std::string caption{};
  std::string x_title{};
  std::string y_title{};  ///< empty: rows instead of a y axis
  PlotData data;
};

/// The gnuplot program that draws it on the current terminal, with its data, in one text.
/// @throws EnvironmentError if a template is missing
std::string program_of(const Picture& picture);

/// Draws FOLDER/NAME.svg, .pdf and .png. A reader always sees a whole picture. Characters that do
/// not belong in a file name become '-'.
/// @return the three files
/// @throws EnvironmentError if gnuplot is missing or fails, or the folder cannot be created
std::vector<std::filesystem::path> draw(const Picture& picture,
                                        const std::filesystem::path& folder);

/// `text` as a gnuplot string, always in one line.
std::string quoted(const std::string& text);

/// At most `width` characters of UTF-8 text. A shortened text ends in "…".
std::string shortened(const std::string& text, int width);

/// "10 000".
std::string grouped(int number);

/// The places of point labels in a column, as shares of its height; sorted from above. They keep a
/// distance from each other, and stay between 0 and 1 if there is room for all.
std::vector<double> spread_labels(const std::vector<double>& heights, double distance);

/// Colours of lines that are not stages: 0, 1, …
inline constexpr int kLibraryColour = -1;
inline constexpr int kFloorColour = -2;

/// A point with the text that belongs to it.
struct PointLabel {
  double x = 0.0;
  double y = 0.0;
  std::string text{};
  int colour = 0;  ///< as colour(…) of look.gp takes it
};

/// The lines that write the texts in a column, each as near to its point as possible and with a
/// thin line to it. The more there are, the smaller the letters: `label_font`.
/// @param column  where it begins, or with `to_the_left` ends, on the x axis
std::string point_labels(std::vector<PointLabel> labels, const LogRange& y_axis, double column,
                         bool to_the_left);

}  // namespace convlab::grader
