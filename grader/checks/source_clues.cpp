#include "grader/checks/source_clues.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <vector>

#include "common/base/text.hpp"
#include "common/serve/finding_texts.hpp"

namespace convlab::grader {

namespace {

// A cast between a bracket and the name: a[(int)x], a[int(x)], a[static_cast<int>(x)].
bool is_cast_in_index(const std::string& line, const std::string& name) {
  const auto at = find_word(line, name);
  const auto bracket = at == std::string::npos ? at : line.rfind('[', at);
  if (bracket == std::string::npos) return false;
  const std::string between = line.substr(bracket, at - bracket);
  return between.find(']') == std::string::npos &&
         std::ranges::any_of(
             std::array{"int", "long", "unsigned", "size_t"},
             [&](const char* type) { return between.find(type) != std::string::npos; });
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

}  // namespace

Seen float_index(const SourceText& sources) {
  const std::string type = "float";
  for (const auto& place : sources.lines_with({type, "="})) {
    const std::string line = sources.line(place.file, place.line);
    const std::string name = word_at(line, after_spaces(line, find_word(line, type) + type.size()));
    if (name.empty()) continue;
    for (const auto& use : sources.lines_with({name, "["})) {
      if (use.file == place.file && use.line >= place.line &&
          is_cast_in_index(sources.line(use.file, use.line), name)) {
        return sources.quote(place.file, place.line) +
               (use.line == place.line ? Seen() : sources.quote(use.file, use.line));
      }
    }
  }
  return {};
}

Seen suspect_lines(const SourceText& sources, const Finding& finding) {
  const auto words = std::ranges::find(catalogue(), finding.id, &FindingWords::id);
  if (words == catalogue().end() || words->look.empty()) return {};
  const std::vector<std::string> without = words_of(words->skip);
  Seen lines;
  int count = 0;
  for (const std::string& word : words_of(words->look)) {
    for (const auto& [file, line] : sources.lines_with({word}, without)) {
      // Of all exercises, the one that the finding names.
      if (is_of_kind(finding, "not-begun") &&
          std::ranges::none_of(finding.values,
                               [&own = file](const std::filesystem::path& exercise) {
                                 return exercise.filename() == own;
                               }))
        continue;
      // What begins its line stands outside of functions.
      const bool is_inside = sources.lines(file)[static_cast<std::size_t>(line) - 1][0] == ' ';
      constexpr int kMost = 3;
      if (is_inside && ++count <= kMost) lines += sources.quote(file, line);
    }
  }
  if (lines.empty()) return lines;
  return (count == 1 ? "\nThis line may be the cause:" : "\nThese lines may be the cause:") + lines;
}

}  // namespace convlab::grader
