#include "grader/checks/source_clues.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <regex>

#include "grader/findings/catalogue.hpp"

namespace convlab::grader {

namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

// The word that ends before `end`.
std::string word_before(const std::string& text, std::size_t end) {
  while (end > 0 && text[end - 1] == ' ') --end;
  std::size_t begin = end;
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

// The output holds the values of another array at the same places.
std::optional<Finding> find_copied_array(const WrongOutput& wrong, const SourceText& sources,
                                         const std::string& seen) {
  constexpr std::int64_t kEnough = 9;  // equal by chance in fewer
  const ConvShape& shape = wrong.shape;
  const auto holds = [&](const float* array, std::int64_t size) {
    const std::int64_t count = std::min(size, shape.output_size());
    return count >= kEnough && std::equal(array, array + count, wrong.arrays.output);
  };
  const bool input = holds(wrong.arrays.input, shape.input_size());
  if (!input && !holds(wrong.arrays.weights, shape.weights_size())) return std::nullopt;
  const std::string array = input ? "input" : "weights";
  Finding found =
      finding("E-not-copied-back", seen + " They are the numbers of the " + array + ".");
  found.title = "another array is copied back to the host";
  found.cause = "The copy from the device to the host takes the " + array + ", not the output.";
  for (const auto& place : sources.lines_with({"cudaMemcpyDeviceToHost"})) {
    found.seen += sources.quote(place.file, place.line);
  }
  found.next = "In that line, copy from the array that the kernel writes.";
  return found;
}

// __shared__ float sum;
std::optional<Finding> find_shared_scalar(const SourceText& sources, const std::string& seen) {
  for (const auto& place : sources.lines_with({"__shared__"}, {"["})) {
    const std::string text = sources.line(place.file, place.line);
    const std::string name = word_before(text, std::min(text.find_first_of(";="), text.size()));
    if (name.empty() || text.find('*') != std::string::npos) continue;
    Finding found = finding("E-race", seen + sources.quote(place.file, place.line));
    found.cause = "`" + name + "` is one variable for all threads of the block: each thread " +
                  "overwrites what the others have stored in it.";
    found.next = "Remove __shared__ there, so that each thread has its own. Shared memory is for " +
                 std::string("values that one thread stores and others read.");
    return found;
  }
  return std::nullopt;
}

// "edge" of tile[y * edge + x]: the second factor of the first product outside of brackets.
std::string row_length(const std::string& text, const std::string& array) {
  for (auto at = text.find(array + "["); at != std::string::npos;
       at = text.find(array + "[", at + 1)) {
    if (at > 0 && is_word(text[at - 1])) continue;
    int depth = 0;
    for (std::size_t i = at + array.size() + 1; i < text.size(); ++i) {
      if (text[i] == '(' || text[i] == '[') ++depth;
      if (text[i] == ')' || text[i] == ']') --depth;
      if (depth < 0) break;
      if (text[i] != '*' || depth > 0) continue;
      std::size_t begin = i + 1;
      while (begin < text.size() && text[begin] == ' ') ++begin;
      std::size_t end = begin;
      while (end < text.size() && is_word(text[end])) ++end;
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
    const std::string array = word_before(text, bracket);
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

}  // namespace

std::string float_index(const SourceText& sources) {
  static const std::regex declares(R"(\bfloat\s+(\w+)\s*=)");
  for (const auto& place : sources.lines_with({"float", "="})) {
    const std::string line = sources.line(place.file, place.line);
    std::smatch part;
    if (!std::regex_search(line, part, declares)) continue;
    const std::string name = part[1];
    const std::regex indexes(
        R"(\[[^\]]*(\((int|long|unsigned|std::size_t|size_t)[^)]*\)|(int|size_t|>)\()\s*)" + name +
        R"(\b)");
    for (const auto& use : sources.lines_with({name, "["})) {
      if (use.file == place.file && use.line >= place.line &&
          std::regex_search(sources.line(use.file, use.line), indexes)) {
        return sources.quote(place.file, place.line) +
               (use.line == place.line ? "" : sources.quote(use.file, use.line));
      }
    }
  }
  return {};
}

void quote_exercise(const SourceText& sources, Finding& finding) {
  if (finding.id != "E-not-implemented") return;
  for (const auto& place : sources.lines_with({"not_implemented("})) {
    const std::string line = sources.line(place.file, place.line);
    const auto begin = line.find('"') + 1;
    const std::string file = line.substr(begin, line.find('"', begin) - begin);
    if (finding.seen.starts_with(file)) finding.seen += sources.quote(place.file, place.line);
  }
}

std::optional<Finding> clue_in_sources(const WrongOutput& wrong, const SourceText& sources,
                                       const std::string& seen) {
  if (auto found = find_copied_array(wrong, sources, seen)) return found;
  auto found = find_shared_scalar(sources, seen);
  if (!found) found = find_two_row_lengths(sources, seen);
  if (!found) found = find_layout(sources, seen);
  // A right file may have such lines too, and be wrong elsewhere.
  if (found) found->cause += " The text of the file suggests this; the numbers do not prove it.";
  return found;
}

}  // namespace convlab::grader
