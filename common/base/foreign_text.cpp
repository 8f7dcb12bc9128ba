#include "common/base/foreign_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "common/base/printable.hpp"

namespace convlab {

namespace {

using Replacements = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// Each of these parts of `text`, replaced; of two that fit the first one.
std::string replaced(std::string_view text, const Replacements& replacements) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const auto* const found = std::ranges::find_if(
        replacements, [&](const auto& each) { return text.starts_with(each.first); });
    result += found != replacements.end() ? found->second : text.substr(0, 1);
    text.remove_prefix(found != replacements.end() ? found->first.size() : 1);
  }
  return result;
}

bool is_number(std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

// Whether a spreadsheet takes what begins here for a formula. The wide forms count in Asia.
bool begins_formula(std::string_view text) {
  const auto begins_with = [&](std::string_view each) { return text.starts_with(each); };
  static constexpr std::string_view kSigns[] = {"=",  "+",  "-",  "@",  "＝", "＋", "－", "＠",
                                                "﹦", "﹢", "﹣", "﹫", "−",  "˖",  "˗",  "⁼"};
  static constexpr std::string_view kBefore[] = {" ", "\"", "'", "\u00a0", "\u3000", "\t"};
  while (true) {
    const auto* const before = std::ranges::find_if(kBefore, begins_with);
    if (before == std::end(kBefore)) return std::ranges::any_of(kSigns, begins_with);
    text.remove_prefix(before->size());
  }
}

}  // namespace

std::string html_text(std::string_view text) {
  return replaced(printable(text),
                  {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

std::string json_in_html(std::string_view json) {
  return replaced(json, {{"<", "\\u003c"},
                         {">", "\\u003e"},
                         {"&", "\\u0026"},
                         {"\u2028", "\\u2028"},
                         {"\u2029", "\\u2029"}});
}

std::string markdown_text(std::string_view text) {
  std::string escaped;
  for (const char each : printable_line(text)) {
    if (std::string_view("\\`|*_[]~$#").find(each) != std::string_view::npos) escaped += '\\';
    escaped += each;
  }
  std::string line =
      replaced(escaped, {{"://", ":&#47;/"}, {"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
  // A list, a ruler or an underline would begin here.
  for (const std::string_view mark : {"- ", "+ ", "--", "=="}) {
    if (line.starts_with(mark)) line.insert(0, 1, '\\');
  }
  return line;
}

std::string csv_field(std::string_view text) {
  if (is_number(text)) return std::string(text);
  const std::string clean = printable(text);
  const std::string_view rest = clean;
  std::string field;
  bool begins = true;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (begins && begins_formula(rest.substr(i))) field += '\'';
    begins = std::string_view(";,\t\n").find(rest[i]) != std::string_view::npos;
    field += rest[i];
    if (rest[i] == '"') field += '"';
  }
  if (field.find_first_of(",;\"\n\t") == std::string::npos) return field;
  return field.insert(0, 1, '"') + '"';
}

std::string gnuplot_cell(std::string_view text) {
  std::string cell = replaced(printable_line(text), {{"\\", " "}});
  // A cell that begins with a quote would end only with the next one.
  const auto first = cell.find_first_not_of(' ');
  if (first != std::string::npos && cell[first] == '"') cell[first] = '\'';
  return cell;
}

}  // namespace convlab
