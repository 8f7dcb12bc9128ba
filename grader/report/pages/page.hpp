#pragma once

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "grader/report/plots/figure.hpp"
#include "grader/report/table.hpp"

namespace convlab::grader {

struct Paragraph {
  std::string text{};
  std::string label{};  ///< before it; on a terminal later lines are indented as far
};

/// A place that a person must fill in, clearly marked.
struct OpenQuestion {
  std::string text{};
  std::string answer{};  ///< empty: still open
};

/// A figure with its numbers; in Markdown the picture replaces them, if there is one.
struct Chart {
  Figure figure{};
  std::string picture{};  ///< a file beside the page; empty: none
};

/// A source file with notes beside its lines. Only on the page is a line shaded by its weight.
struct SourceListing {
  struct Line {
    std::string text{};
    std::string note{};   ///< may be empty
    double weight = 0.0;  ///< 0 to 1
  };
  std::string file{};
  std::vector<Line> lines{};
};

/// Readers sort a table by its headings, and filter a long one by a word.
using PageBlock = std::variant<Paragraph, Table, OpenQuestion, Chart, SourceListing>;

struct PageSection {
  std::string title{};
  std::vector<PageBlock> blocks{};
};

/// A report or a dashboard: Markdown, text for a terminal, or one HTML file that works offline.
struct Page {
  std::string title{};
  std::string subtitle{};
  std::vector<PageSection> sections{};
};

std::string markdown_of(const Page& page);

/// Its paragraphs and tables for a terminal, without figures and sources.
std::string terminal_text(const Page& page);

/// The figures of its charts, for gnuplot.
std::vector<Figure> figures_of(const Page& page);

/// The beginning of a page, up to its body. What it loads, and from where, stands here alone.
std::string html_head(const std::string& title, const std::string& style);

/// @param parts  the folder with style, script and libraries: grader/report/pages in the tree
/// @throws EnvironmentError if one of these is missing
std::string html_of(const Page& page, const std::filesystem::path& parts);

}  // namespace convlab::grader
