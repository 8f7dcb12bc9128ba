#include "grader/report/table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "common/base/error.hpp"
#include "common/base/foreign_text.hpp"
#include "common/base/text.hpp"
#include "common/timing/statistics.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

std::string plain_table(const Table& table) {
  constexpr int kWidest = 64;
  std::vector<int> widths;
  for (std::size_t column = 0; column < table.heading.size(); ++column) {
    int width = display_width(table.heading[column]);
    for (const auto& row : table.rows) width = std::max(width, display_width(row.at(column)));
    widths.push_back(std::min(width, kWidest));
  }
  const auto line = [&](const std::vector<std::string>& fields) {
    std::string text;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const std::string field = short_line(fields[i], kWidest);
      text += i == 0 ? left(field, widths[i]) : "  " + right(field, widths[i]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  std::string text = line(table.heading);
  for (const auto& row : table.rows) text += line(row);
  return text;
}

std::string markdown_table(const Table& table) {
  const auto line = [](const std::vector<std::string>& fields) {
    return "| " + joined(fields, " | ", markdown_text) + " |\n";
  };
  std::string text = line(table.heading) + "|---|";
  for (std::size_t i = 1; i < table.heading.size(); ++i) text += "---:|";
  text += "\n";
  for (const auto& row : table.rows) text += line(row);
  return text;
}

std::string csv_line(const std::vector<std::string>& fields) {
  return joined(fields, ",", csv_field) + "\n";
}

std::vector<std::vector<std::string>> parse_csv(const std::string& text, const std::string& name) {
  std::vector<std::vector<std::string>> rows(1, {""});
  bool quoted = false;
  std::size_t line = 1;
  std::size_t opened = 0;
  const std::string mark = "\xef\xbb\xbf";  // what Excel writes first
  // Where a comma stands in numbers, Excel writes semicolons.
  const std::string first = text.substr(0, text.find_first_of("\r\n"));
  const char separator = first.find(',') == std::string::npos ? ';' : ',';
  for (std::size_t i = text.starts_with(mark) ? mark.size() : 0; i < text.size(); ++i) {
    const char c = text[i];
    std::string& field = rows.back().back();
    if (c == '\n') ++line;
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      field += c;
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
      opened = line;
    } else if (quoted) {
      field += c;
    } else if (c == separator) {
      rows.back().emplace_back();
    } else if (c == '\n' || (c == '\r' && text.substr(i + 1, 1) != "\n")) {
      rows.push_back({""});
    } else if (c != '\r') {
      field += c;
    }
  }
  if (quoted) {
    throw UsageError(name + ", line " + std::to_string(opened) +
                     ": a quotation mark is opened and not closed.");
  }
  std::erase_if(rows, [](const auto& row) { return row.size() == 1 && row.front().empty(); });
  return rows;
}

std::string html_table(const Table& table) {
  const auto line = [](const std::vector<std::string>& fields, const std::string& tag) {
    return "<tr><" + tag + ">" + joined(fields, "</" + tag + "><" + tag + ">", html_text) + "</" +
           tag + "></tr>\n";
  };
  std::string text =
      "<div class=\"table\"><table>\n<thead>" + line(table.heading, "th") + "</thead>\n<tbody>\n";
  for (const auto& row : table.rows) text += line(row, "td");
  return text + "</tbody></table></div>\n";
}

void drop_empty_columns(Table& table) {
  for (std::size_t i = table.heading.size(); i-- > 0;) {
    if (std::ranges::any_of(table.rows, [&](const auto& row) { return !row[i].empty(); })) continue;
    const auto place = static_cast<std::ptrdiff_t>(i);
    table.heading.erase(table.heading.begin() + place);
    for (auto& row : table.rows) row.erase(row.begin() + place);
  }
}

std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), "\u00a0");  // no line ends there
  }
  return text;
}

std::string short_number(double number) {
  constexpr double kTen = 10.0;
  const double rounded = std::round(number * kTen) / kTen;
  if (rounded == std::floor(rounded)) return grouped(static_cast<std::int64_t>(rounded));
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", rounded);
  return text.data();
}

std::string percent(double share) {
  return std::to_string(std::lround(100.0 * share)) + " %";
}

std::vector<KnownNumber> known_times(const Result& result) {
  std::vector<KnownNumber> known;
  for (const RunResult& run : result.runs) {
    const std::string of = " of " + run.stage.id + " at " + count_of(run.batch, "image");
    double sum = 0.0;
    for (std::size_t i = 0; i < run.layers.size(); ++i) {
      const LayerResult& layer = run.layers[i];
      const std::string which = " of convolution " + std::to_string(i + 1) + of;
      const double op_ms = spread_of(layer.op_ms).median;
      sum += op_ms;
      known.push_back({op_ms, "the op time" + which});
      known.push_back({spread_of(layer.layer_ms).median, "the layer time" + which});
    }
    known.push_back({sum, "the op time of all convolutions" + of});
  }
  return known;
}

std::string found_numbers(const std::string& text, const std::vector<KnownNumber>& known) {
  std::string found;
  const std::string digits = "0123456789";
  const auto is_digit = [&](std::size_t at) {
    return at < text.size() && digits.find(text[at]) != std::string::npos;
  };
  for (std::size_t at = text.find_first_of(digits); at != std::string::npos;) {
    std::size_t end = std::min(text.size(), text.find_first_not_of(digits + ".", at));
    std::string number = text.substr(at, end - at);
    // "11 832": groups of three behind one to three digits.
    const bool may_go_on = number.size() <= 3 && number.find('.') == std::string::npos;
    while (may_go_on && end < text.size() && text[end] == ' ' && is_digit(end + 1) &&
           is_digit(end + 2) && is_digit(end + 3) && !is_digit(end + 4)) {
      number += text.substr(end + 1, 3);
      end += 4;
    }
    at = text.find_first_of(digits, end);
    while (number.ends_with('.')) number.pop_back();
    const std::size_t point = number.find('.');
    const double value = std::strtod(number.c_str(), nullptr);
    const double half_digit =
        point == std::string::npos
            ? 0.5
            : 0.5 * std::pow(10.0, -static_cast<double>(number.size() - point - 1));
    // A single digit is near many numbers.
    if (std::ranges::count_if(number, [](char c) { return c != '.' && c != '0'; }) < 2) continue;
    const bool is_seconds = text.compare(end, 2, " s") == 0 && !std::isalpha(text[end + 2]);
    const double unit = is_seconds ? 1000.0 : 1.0;
    const auto match = std::ranges::find_if(known, [&](const KnownNumber& each) {
      return std::abs(each.value - value * unit) <= half_digit * unit * (1.0 + 1e-9);
    });
    if (match != known.end()) {
      found += (found.empty() ? "" : "; ") + number + (is_seconds ? " s: " : ": ") + match->what +
               (match->shown.empty() ? "" : ", " + date_of(match->shown));
    }
  }
  return found.empty() ? "" : found + ".";
}

Table counter_table(const StageCounts& counts) {
  Table table{.heading = {"counter", "value"}};
  for (const Counter& counter : counters()) {
    if (counter.is_technique) continue;
    const double value = counter.value(counts);
    table.rows.push_back({std::string(counter.title), std::isnan(value)  ? "-"
                                                      : counter.is_share ? percent(value)
                                                                         : three_digits(value)});
  }
  return table;
}

}  // namespace convlab::grader
