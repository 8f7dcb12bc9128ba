#include "grader/report/pages/page.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "common/base/foreign_text.hpp"
#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

// What page.js draws: the figure as it is.
NLOHMANN_JSON_SERIALIZE_ENUM(Series::Line, {{Series::Line::kNone, "none"},
                                            {Series::Line::kThick, "thick"},
                                            {Series::Line::kDotted, "dotted"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Axis, title, low, high)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Mark, at, value, low, high, text)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Series, label, colour, symbol, line, marks)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Rule, label, value, colour)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Panel, title, series, rules, bars)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Label, x, y, column, text_y, to_the_left, colour, text)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Figure, title, x, y, rows, origin, panels, labels)

namespace {

// "Kernels and API calls" is #kernels-and-api-calls.
std::string anchor_of(const std::string& title) {
  std::string anchor;
  for (const char c : title) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) {
      anchor += static_cast<char>(std::tolower(byte));
    } else if (!anchor.empty() && anchor.back() != '-') {
      anchor += '-';
    }
  }
  return anchor;
}

std::string html_of(const Paragraph& it) {
  return "<p>" + html_text(it.label + it.text) + "</p>\n";
}

std::string html_of(const Table& it) {
  return "<div class=\"live\">" + html_table(it) + "</div>\n";
}

std::string html_of(const OpenQuestion& it) {
  const std::string text = html_text(it.text);
  return it.answer.empty()
             ? "<div class=\"open\"><p>" + text +
                   "</p><p class=\"answer\">Your answer …</p></div>\n"
             : "<p><strong>" + text + "</strong></p><p>" + html_text(it.answer) + "</p>\n";
}

std::string html_of(const Chart& it) {
  const std::string json =
      nlohmann::json(it.figure).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return "<figure><figcaption>" + html_text(it.figure.title) +
         "</figcaption><div class=\"chart\"></div><script type=\"application/json\" "
         "class=\"chart-data\">" +
         json_in_html(json) + "</script><details><summary>The numbers</summary>" +
         html_table(table_of(it.figure)) + "</details></figure>\n";
}

// The weight is a number of ours, so it may stand in a style.
std::string html_of(const SourceListing& it) {
  std::string text =
      "<div class=\"table\" tabindex=\"0\"><table class=\"source\"><caption>" + html_text(it.file) +
      "</caption><thead><tr><th>line</th><th>source, and what was counted there</th></tr>"
      "</thead><tbody>\n";
  for (std::size_t i = 0; i < it.lines.size(); ++i) {
    const SourceListing::Line& line = it.lines[i];
    text += "<tr style=\"--weight:" + std::to_string(std::lround(100.0 * line.weight)) +
            "%\"><td>" + std::to_string(i + 1) + "</td><td><code>" + html_text(line.text) +
            "</code>" + (line.note.empty() ? "" : "<p>" + html_text(line.note) + "</p>") +
            "</td></tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string markdown_of(const Paragraph& it) {
  return markdown_text(it.label + it.text) + "\n\n";
}

std::string markdown_of(const Table& it) {
  return markdown_table(it) + "\n";
}

std::string markdown_of(const OpenQuestion& it) {
  return "**" + markdown_text(it.text) + "**\n\n" +
         (it.answer.empty() ? "> TODO: your answer" : markdown_text(it.answer)) + "\n\n";
}

std::string markdown_of(const Chart& it) {
  const std::string title = markdown_text(it.figure.title);
  return it.picture.empty() ? title + "\n\n" + markdown_table(table_of(it.figure)) + "\n"
                            : "![" + title + "](" + it.picture + ")\n\n";
}

std::string markdown_of(const SourceListing& /*only for a page*/) {
  return {};
}

}  // namespace

std::string markdown_of(const Page& page) {
  std::string text =
      "# " + markdown_text(page.title) + "\n\n" + markdown_text(page.subtitle) + "\n\n";
  for (const PageSection& section : page.sections) {
    text += "## " + markdown_text(section.title) + "\n\n";
    for (const PageBlock& block : section.blocks) {
      text += std::visit([](const auto& it) { return markdown_of(it); }, block);
    }
  }
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

std::string terminal_text(const Page& page) {
  std::string text;
  for (const PageSection& section : page.sections) {
    std::string body;
    for (const PageBlock& block : section.blocks) {
      if (const auto* it = std::get_if<Paragraph>(&block))
        body += "\n" + paragraph("  " + it->label, it->text);
      if (const auto* it = std::get_if<Table>(&block)) {
        for (const std::string& line : lines_of(plain_table(*it))) body += "  " + line + "\n";
      }
    }
    if (!body.empty()) text += "\n" + coloured(section.title, Colour::kStrong) + "\n" + body;
  }
  return text;
}

std::vector<Figure> figures_of(const Page& page) {
  std::vector<Figure> figures;
  for (const PageSection& section : page.sections) {
    for (const PageBlock& block : section.blocks) {
      if (const auto* chart = std::get_if<Chart>(&block)) figures.push_back(chart->figure);
    }
  }
  return figures;
}

std::string html_head(const std::string& title, const std::string& style) {
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
         "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n<title>" +
         html_text(title) + "</title>\n<style>\n" + style + "</style>\n</head>\n<body>\n";
}

std::string html_of(const Page& page, const std::filesystem::path& parts) {
  const auto part = [&](const std::string& name) { return read_text(parts / name); };
  std::string text = html_head(page.title, part("page.css")) +
                     "<a class=\"skip\" href=\"#main\">To the text</a>\n<header><h1>" +
                     html_text(page.title) + "</h1>\n<p>" + html_text(page.subtitle) +
                     "</p></header>\n";
  text += "<nav aria-label=\"Contents\"><ul>\n";
  for (const PageSection& section : page.sections) {
    text += "<li><a href=\"#" + anchor_of(section.title) + "\">" + html_text(section.title) +
            "</a></li>\n";
  }
  text += "</ul></nav>\n<main id=\"main\">\n";
  for (const PageSection& section : page.sections) {
    text += "<section id=\"" + anchor_of(section.title) + "\">\n<h2>" + html_text(section.title) +
            "</h2>\n";
    for (const PageBlock& block : section.blocks) {
      text += std::visit([](const auto& it) { return html_of(it); }, block);
    }
    text += "</section>\n";
  }
  text += "</main>\n";
  // D3 and Plot begin with their licences, which ask that their text goes with every copy.
  text += "<script>\n" + part("plot/plot.min.js") + "</script>\n";
  return text + "<script>\n" + part("page.js") + "</script>\n</body>\n</html>\n";
}

}  // namespace convlab::grader
