#include "grader/checks/source_clues.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "common/base/words.hpp"
#include "grader/checks/findings/catalogue.hpp"

namespace convlab::grader {

namespace {

// A name, also of a member: tile.edge.
bool is_name(char c) {
  return is_word(c) || c == '.';
}

// The name that ends before `end`.
std::string name_before(const std::string& text, std::size_t end) {
  while (end > 0 && text[end - 1] == ' ') --end;
  std::size_t begin = end;
  while (begin > 0 && is_name(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

// "edge" of tile[y * edge + x]: the second factor of the first product outside of brackets.
std::string row_length(const std::string& text, const std::string& array) {
  for (auto at = text.find(array + "["); at != std::string::npos;
       at = text.find(array + "[", at + 1)) {
    if (at > 0 && is_name(text[at - 1])) continue;
    int depth = 0;
    for (std::size_t i = at + array.size() + 1; i < text.size(); ++i) {
      if (text[i] == '(' || text[i] == '[') ++depth;
      if (text[i] == ')' || text[i] == ']') --depth;
      if (depth < 0) break;
      if (text[i] != '*' || depth > 0) continue;
      std::size_t begin = i + 1;
      while (begin < text.size() && text[begin] == ' ') ++begin;
      std::size_t end = begin;
      while (end < text.size() && is_name(text[end])) ++end;
      return text.substr(begin, end - begin);
    }
  }
  return {};
}

std::optional<Finding> find_two_row_lengths(const SourceText& sources, const std::string& seen) {
  for (const auto& declared : sources.lines_with({"__shared__"})) {
    const std::string text = sources.line(declared.file, declared.line);
    const auto bracket = text.find('[');
    if (bracket == std::string::npos || text.find("][") != std::string::npos) continue;
    const std::string array = name_before(text, bracket);
    std::map<std::string, int> lines;  // by the length of a row, the first line that has it
    for (const auto& place : sources.lines_with({array})) {
      if (place.file != declared.file || place.line == declared.line) continue;
      const std::string row = row_length(sources.line(place.file, place.line), array);
      if (!row.empty()) lines.try_emplace(row, place.line);
    }
    if (lines.size() != 2) continue;
    const auto& [one, first] = *lines.begin();
    const auto& [other, second] = *lines.rbegin();
    Finding found =
        finding("E-tile-rows", seen + sources.quote(declared.file, std::min(first, second)) +
                                   sources.quote(declared.file, std::max(first, second)));
    found.cause = "One line uses rows of `" + one + "` elements in `" + array +
                  "`, another line rows of `" + other + "`.";
    return found;
  }
  return std::nullopt;
}

std::optional<Finding> find_layout(const SourceText& sources, const std::string& seen) {
  if (!sources.has("load_matrix_sync") || !sources.has("col_major")) return std::nullopt;
  std::string lines;
  for (const char* word : {"col_major", "mem_col_major"}) {
    for (const auto& place : sources.lines_with({word})) {
      lines += sources.quote(place.file, place.line);
    }
  }
  return finding("E-fragment", seen + lines);
}

// "x" of "float x = …"; empty if the line has none.
std::string declared_float(const std::string& line) {
  const std::string type = "float";
  for (auto at = find_word(line, type); at != std::string::npos;
       at = find_word(line, type, at + type.size())) {
    const auto begin = after_spaces(line, at + type.size());
    const std::string name = word_at(line, begin);
    const auto behind = after_spaces(line, begin + name.size());
    if (!name.empty() && behind < line.size() && line[behind] == '=') return name;
  }
  return {};
}

// Whether the name stands behind a cast to a whole number in brackets: a[(int)x], a[int(x)],
// a[static_cast<int>(x)].
bool casts_in_index(const std::string& line, const std::string& name) {
  static const std::set<std::string> types = {"int", "long", "unsigned", "size_t", "std"};
  bool in_brackets = false;
  bool in_cast = false;  // since "(int", whose ) has not come
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '[' || line[i] == ']') in_brackets = line[i] == '[';
    bool ends = in_cast && line[i] == ')';
    if (ends) in_cast = false;
    if (line[i] == '(' && in_brackets) {
      in_cast = in_cast || types.contains(word_at(line, i + 1));
      const std::string type = word_before(line, i);
      ends = type == "int" || type == "size_t" || (i > 0 && line[i - 1] == '>');
    }
    if (ends && word_at(line, after_spaces(line, i + 1)) == name) return true;
  }
  return false;
}

}  // namespace

std::string float_index(const SourceText& sources) {
  for (const auto& place : sources.lines_with({"float", "="})) {
    const std::string name = declared_float(sources.line(place.file, place.line));
    if (name.empty()) continue;
    for (const auto& use : sources.lines_with({name, "["})) {
      if (use.file == place.file && use.line >= place.line &&
          casts_in_index(sources.line(use.file, use.line), name)) {
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
    const char* head;
    std::vector<std::string> words;
    std::vector<std::string> without = {"include", "constexpr"};
  };
  const std::vector<std::string> no_declaration = {"=", "(", "*", "{", "__shared__", "const"};
  const std::vector<Suspects> all = {
      {"E-replay", "\nLocal variables that keep their value from call to call:", {"static"}},
      {"E-still-working", "\nLines that name threads:", {"thread", "async", "pthread_create"}},
      {"E-exit", "\nLines that end a program:", {"exit", "_exit", "abort", "__builtin_exit"}},
      {"E-uninitialised",
       "\nDeclarations without a value:",
       {"float", "half", "double"},
       no_declaration}};
  for (const Suspects& each : all) {
    if (finding.id != each.id) continue;
    std::string lines;
    int count = 0;
    for (const std::string& word : each.words) {
      for (const auto& [file, line] : sources.lines_with({word}, each.without)) {
        // What begins its line stands outside of functions.
        const bool is_inside = sources.lines(file)[static_cast<std::size_t>(line) - 1][0] == ' ';
        constexpr int kMost = 3;
        if (is_inside && ++count <= kMost) lines += sources.quote(file, line);
      }
    }
    if (!lines.empty()) finding.seen += each.head + lines;
  }
  if (finding.id != "E-not-implemented") return;
  for (const auto& place : sources.lines_with({"not_implemented("})) {
    const std::string line = sources.line(place.file, place.line);
    const auto begin = line.find('"') + 1;
    const std::string file = line.substr(begin, line.find('"', begin) - begin);
    if (finding.seen.starts_with(file)) finding.seen += sources.quote(place.file, place.line);
  }
}

std::optional<Finding> clue_in_sources(const SourceText& sources, const std::string& seen) {
  auto found = find_two_row_lengths(sources, seen);
  if (!found) found = find_layout(sources, seen);
  // A right file may have such lines too, and be wrong elsewhere.
  if (found) found->cause += " The text of the file suggests this; the numbers do not prove it.";
  return found;
}

}  // namespace convlab::grader
