#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "grader/report/table.hpp"

namespace convlab::grader {

struct Paragraph {
  std::string text{};
};

/// The output of a program.
struct CodeBlock {
  std::string text{};
};

/// A place that a person must fill in, clearly marked.
struct OpenQuestion {
  std::string text{};
};

/// Lines over numbers or over named places. uPlot draws them on the page; in Markdown the picture
/// replaces them, if there is one.
struct Chart {
  struct Line {
    std::string label{};
    std::vector<std::optional<double>> values{};  ///< one for each x
  };
  std::string title{};
  std::string x_title{};
  std::string y_title{};
  std::vector<std::string> places{};  ///< names along x; then x counts 0, 1, …
  std::vector<double> x{};
  bool log_x = false;
  bool log_y = false;
  std::vector<Line> lines{};
  std::string picture{};  ///< a file beside the page; empty: none
};

/// Small grey pictures beside each other: the maps of a layer. Values are scaled to black and white
/// together. Only on the page.
struct MapGrid {
  struct Map {
    std::string label{};
    std::vector<float> values{};        ///< width × height
    std::vector<std::uint8_t> wrong{};  ///< 1 where an element is wrong; may be empty
  };
  std::string title{};
  int width = 0;
  int height = 0;
  std::vector<Map> maps{};
};

/// A table that readers sort by its headings and filter by a word.
struct LiveTable {
  Table table{};
};

/// A table with cells shaded by their scores; lower is better. Markdown has only the numbers.
struct HeatMap {
  std::string title{};
  Table table{};
  /// For each row and each column except the first a score above 0; none where nothing was tried.
  std::vector<std::vector<std::optional<double>>> scores{};
};

using PageBlock =
    std::variant<Paragraph, Table, LiveTable, CodeBlock, OpenQuestion, Chart, MapGrid, HeatMap>;

struct PageSection {
  std::string title{};
  std::vector<PageBlock> blocks{};
};

/// A report or a dashboard: written as Markdown or as one HTML file that works offline.
struct Page {
  std::string title{};
  std::string subtitle{};
  std::vector<PageSection> sections{};
};

std::string markdown_of(const Page& page);

/// @param parts  the folder with style, script and uPlot: grader/pages in the tree
/// @throws EnvironmentError if one of these is missing
std::string html_of(const Page& page, const std::filesystem::path& parts);

}  // namespace convlab::grader
