#include "grader/checks/source_clues.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "common/base/text.hpp"

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

}  // namespace

std::string float_index(const SourceText& sources) {
  const std::string type = "float";
  for (const auto& place : sources.lines_with({type, "="})) {
    const std::string line = sources.line(place.file, place.line);
    const std::string name = word_at(line, after_spaces(line, find_word(line, type) + type.size()));
    if (name.empty()) continue;
    for (const auto& use : sources.lines_with({name, "["})) {
      if (use.file == place.file && use.line >= place.line &&
          is_cast_in_index(sources.line(use.file, use.line), name)) {
        return sources.quote(place.file, place.line) +
               (use.line == place.line ? "" : sources.quote(use.file, use.line));
      }
    }
  }
  return {};
}

void quote_suspects(const SourceText& sources, Finding& finding) {
  struct Suspects {
    const char* id;
    std::vector<std::string> words;
    std::vector<std::string> without = {"include", "constexpr"};
  };
  static const std::vector<Suspects> all = {
      {"E-not-implemented", {"not_implemented("}},
      {"E-replay", {"static"}},
      {"E-still-working", {"thread", "async", "pthread_create"}},
      {"E-exit", {"exit", "_exit", "abort", "__builtin_exit"}},
      // Declarations without a value.
      {"E-uninitialised",
       {"float", "half", "double"},
       {"=", "(", "*", "{", "__shared__", "const"}}};
  std::string lines;
  int count = 0;
  for (const Suspects& each : all) {
    if (finding.id != each.id) continue;
    for (const std::string& word : each.words) {
      for (const auto& [file, line] : sources.lines_with({word}, each.without)) {
        // Of all exercises, the one that the finding names.
        const bool is_other = finding.id == "E-not-implemented" &&
                              finding.seen.find(file + " still") == std::string::npos;
        if (is_other) continue;
        // What begins its line stands outside of functions.
        const bool is_inside = sources.lines(file)[static_cast<std::size_t>(line) - 1][0] == ' ';
        constexpr int kMost = 3;
        if (is_inside && ++count <= kMost) lines += sources.quote(file, line);
      }
    }
  }
  if (!lines.empty()) finding.seen += "\nLines that may be the cause:" + lines;
}

}  // namespace convlab::grader
