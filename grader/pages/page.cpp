#include "grader/pages/page.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/file/whole_file.hpp"

namespace convlab::grader {

namespace {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

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

// JSON inside a script element: nothing in it may end the element.
std::string script_data(const nlohmann::ordered_json& json) {
  std::string text = json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  for (auto at = text.find("</"); at != std::string::npos; at = text.find("</", at + 3)) {
    text.replace(at, 2, "<\\/");
  }
  return text;
}

nlohmann::ordered_json json_of(const Chart& chart) {
  nlohmann::ordered_json json = {{"title", chart.title},
                                 {"xTitle", chart.x_title},
                                 {"yTitle", chart.y_title},
                                 {"places", chart.places},
                                 {"x", chart.x},
                                 {"logX", chart.log_x},
                                 {"logY", chart.log_y},
                                 {"lines", nullptr}};
  json["lines"] = nlohmann::ordered_json::array();
  for (const Chart::Line& line : chart.lines) {
    auto values = nlohmann::ordered_json::array();
    for (const auto& value : line.values) {
      values.push_back(value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr));
    }
    json["lines"].push_back({{"label", line.label}, {"values", values}});
  }
  return json;
}

// Two hexadecimal digits for each element: grey levels take little room that way.
nlohmann::ordered_json json_of(const MapGrid& grid) {
  float low = HUGE_VALF;
  float high = -HUGE_VALF;
  for (const MapGrid::Map& map : grid.maps) {
    for (const float value : map.values) {
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  constexpr float kWhite = 255.0F;
  const float scale = high > low ? kWhite / (high - low) : 0.0F;
  nlohmann::ordered_json json = {{"width", grid.width}, {"height", grid.height}};
  json["maps"] = nlohmann::ordered_json::array();
  for (const MapGrid::Map& map : grid.maps) {
    constexpr const char* kDigits = "0123456789abcdef";
    std::string grey;
    for (const float value : map.values) {
      const int level = std::isfinite(value) ? static_cast<int>((value - low) * scale) : 0;
      grey += kDigits[level / 16 % 16];
      grey += kDigits[level % 16];
    }
    std::string wrong;
    for (const std::uint8_t element : map.wrong) wrong += element != 0 ? '1' : '0';
    json["maps"].push_back({{"label", map.label}, {"grey", grey}, {"wrong", wrong}});
  }
  return json;
}

// The numbers of a chart, for readers who cannot see it.
Table table_of(const Chart& chart) {
  Table table{.heading = {chart.x_title}};
  for (const Chart::Line& line : chart.lines) table.heading.push_back(line.label);
  for (std::size_t i = 0; i < chart.x.size(); ++i) {
    const auto text = [](double value) {
      std::string digits = nlohmann::json(value).dump();
      return digits.ends_with(".0") ? digits.substr(0, digits.size() - 2) : digits;
    };
    std::vector<std::string> row = {chart.places.empty() ? text(chart.x[i]) : chart.places.at(i)};
    for (const Chart::Line& line : chart.lines) {
      row.push_back(line.values.at(i) ? text(*line.values[i]) : "");
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

// The best cell has the full shade, those from twice its score on have none.
std::string html_of(const HeatMap& map) {
  double best = HUGE_VAL;
  for (const auto& row : map.scores) {
    for (const auto& score : row) best = std::min(best, score.value_or(HUGE_VAL));
  }
  std::string text = "<figure><figcaption>" + html_text(map.title) +
                     "</figcaption><div class=\"table\" tabindex=\"0\"><table class=\"heat\">\n"
                     "<thead><tr>";
  for (const std::string& name : map.table.heading) {
    text += "<th scope=\"col\">" + html_text(name) + "</th>";
  }
  text += "</tr></thead>\n<tbody>";
  for (std::size_t i = 0; i < map.table.rows.size(); ++i) {
    const std::vector<std::string>& row = map.table.rows[i];
    text += "<tr><th scope=\"row\">" + html_text(row.at(0)) + "</th>";
    for (std::size_t j = 1; j < row.size(); ++j) {
      const std::optional<double>& score = map.scores.at(i).at(j - 1);
      const double heat = score ? std::max(0.0, 1.0 - std::log2(*score / best)) : 0.0;
      text += "<td style=\"--heat:" + std::to_string(static_cast<int>(100.0 * heat)) + "%\">" +
              (score && *score == best ? "<strong>" + html_text(row[j]) + "</strong>"
                                       : html_text(row[j])) +
              "</td>";
    }
    text += "</tr>\n";
  }
  return text + "</tbody></table></div></figure>\n";
}

std::string html_of(const PageBlock& block) {
  return std::visit(
      Overloaded{
          [](const Paragraph& it) { return "<p>" + html_text(it.text) + "</p>\n"; },
          [](const Table& it) { return html_table(it); },
          [](const LiveTable& it) {
            return "<div class=\"live\">" + html_table(it.table) + "</div>\n";
          },
          [](const CodeBlock& it) {
            return "<pre tabindex=\"0\">" + html_text(it.text) + "</pre>\n";
          },
          [](const OpenQuestion& it) {
            return "<div class=\"open\"><p>" + html_text(it.text) +
                   "</p><p class=\"answer\">Your answer …</p></div>\n";
          },
          [](const Chart& it) {
            return "<figure><figcaption>" + html_text(it.title) +
                   "</figcaption><div class=\"chart\"></div><script type=\"application/json\" "
                   "class=\"chart-data\">" +
                   script_data(json_of(it)) + "</script><details><summary>The numbers</summary>" +
                   html_table(table_of(it)) + "</details></figure>\n";
          },
          [](const MapGrid& it) {
            return "<figure><figcaption>" + html_text(it.title) +
                   "</figcaption><div class=\"maps\"></div><script type=\"application/json\" "
                   "class=\"maps-data\">" +
                   script_data(json_of(it)) + "</script></figure>\n";
          },
          [](const HeatMap& it) { return html_of(it); }},
      block);
}

std::string markdown_of(const PageBlock& block) {
  return std::visit(
      Overloaded{
          [](const Paragraph& it) { return it.text + "\n\n"; },
          [](const Table& it) { return markdown_table(it) + "\n"; },
          [](const LiveTable& it) { return markdown_table(it.table) + "\n"; },
          [](const CodeBlock& it) { return "```\n" + it.text + "\n```\n\n"; },
          [](const OpenQuestion& it) { return "**" + it.text + "**\n\n> TODO: your answer\n\n"; },
          [](const Chart& it) {
            return it.picture.empty() ? markdown_table(table_of(it)) + "\n"
                                      : "![" + it.title + "](" + it.picture + ")\n\n";
          },
          [](const MapGrid& it) { return it.title + ": see the HTML page.\n\n"; },
          [](const HeatMap& it) { return it.title + "\n\n" + markdown_table(it.table) + "\n"; }},
      block);
}

}  // namespace

std::string markdown_of(const Page& page) {
  std::string text = "# " + page.title + "\n\n" + page.subtitle + "\n\n";
  for (const PageSection& section : page.sections) {
    text += "## " + section.title + "\n\n";
    for (const PageBlock& block : section.blocks) text += markdown_of(block);
  }
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

std::string html_of(const Page& page, const std::filesystem::path& parts) {
  const auto part = [&](const char* name) { return read_text(parts / name); };
  std::string text =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>" +
      html_text(page.title) + "</title>\n<style>\n" + part("uplot/uPlot.min.css") +
      part("page.css") +
      "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">To the "
      "text</a>\n<header><h1>" +
      html_text(page.title) + "</h1>\n<p>" + html_text(page.subtitle) + "</p></header>\n";
  text += "<nav aria-label=\"Contents\"><ul>\n";
  for (const PageSection& section : page.sections) {
    text += "<li><a href=\"#" + anchor_of(section.title) + "\">" + html_text(section.title) +
            "</a></li>\n";
  }
  text += "</ul></nav>\n<main id=\"main\">\n";
  for (const PageSection& section : page.sections) {
    text += "<section id=\"" + anchor_of(section.title) + "\">\n<h2>" + html_text(section.title) +
            "</h2>\n";
    for (const PageBlock& block : section.blocks) text += html_of(block);
    text += "</section>\n";
  }
  // The licence of uPlot asks that its text goes with every copy.
  return text + "</main>\n<script>\n/*\n" + part("uplot/LICENSE") + "*/\n" +
         part("uplot/uPlot.iife.min.js") + "</script>\n<script>\n" + part("page.js") +
         "</script>\n</body>\n</html>\n";
}

}  // namespace convlab::grader
