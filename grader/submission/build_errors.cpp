#include "grader/submission/build_errors.hpp"

#include <algorithm>
#include <string_view>

#include "common/base/text.hpp"
#include "common/serve/source_text.hpp"

namespace convlab::grader {

namespace {

constexpr const char* kBelow = "/files/";  // in each folder of build_submission

void erase_all(std::string& text, std::string_view part) {
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at)) {
    text.erase(at, part.size());
  }
}

// What the compiler writes in quotes, as a student would write it.
std::string readable(std::string text) {
  constexpr std::size_t kMost = 4000;  // a line may be as long as its author likes
  text.resize(std::min(text.size(), kMost));
  // 'convlab::emulation::AsIs<float>*' {aka 'const float*'}
  for (auto at = text.find(" {aka "); at != text.npos; at = text.find(" {aka ", at)) {
    const auto end = std::min(text.find('}', at), text.size() - 1);
    const auto begin = at < 2 ? text.npos : text.rfind('\'', at - 2);
    const bool is_ours = begin != text.npos && text.find("emulation::", begin) < at;
    const std::string other = text.substr(at + 6, end - at - 6);
    text.erase(at, end + 1 - at);
    if (is_ours) text.replace(begin, at - begin, other);
  }
  for (const char* ours : {"{anonymous}::", "(anonymous namespace)::", "convlab::emulation::",
                           "convlab::", "convlab_type_", "nvcuda::wmma::", " [-fpermissive]"}) {
    erase_all(text, ours);
  }
  // *(input + ((sizetype)(…)))
  for (auto at = text.find("'*("); at != text.npos; at = text.find("'*(", at + 1)) {
    const std::string name = word_at(text, at + 3);
    const auto end = std::min(text.find('\'', at + 1), text.size());
    if (text.compare(at + 3 + name.size(), 5, " + ((") == 0) {
      text.replace(at + 1, end - at - 1, name + "[…]");
    }
  }
  // ((Name*)this)->Name::device_input_
  for (auto at = text.find("*)this)->"); at != text.npos; at = text.find("*)this)->")) {
    const std::string name = word_before(text, at);
    const auto begin = at - std::min(at, name.size() + 2);
    text.erase(begin, at + 9 - begin);
    if (text.compare(begin, name.size() + 2, name + "::") == 0) text.erase(begin, name.size() + 2);
  }
  constexpr std::size_t kLongest = 60;  // of an expression
  for (auto begin = text.find('\''); begin != text.npos;) {
    auto end = text.find('\'', begin + 1);
    if (end == text.npos) break;
    if (end - begin > kLongest) {
      text.replace(begin + kLongest - 10, end - begin - kLongest + 10, "…");
      end = text.find('\'', begin + 1);
    }
    begin = text.find('\'', end + 1);
  }
  constexpr std::size_t kWhole = 300;
  return text.substr(0, kWhole);
}

/// A line of a compiler, "FILE:LINE:COLUMN: error: text".
struct Said {
  std::string file{};  ///< empty: none of the submission
  int line = 0;
  std::size_t column = 0;
  std::string text{};  ///< what follows the place
};

// Where the name of a submission's file begins in a path; npos if it is none.
std::size_t own_name(std::string_view path, const std::string& sources) {
  const auto files = path.find(kBelow, path.find('/', sources.size() + 1));
  const bool is_own = path.starts_with(sources) && files != path.npos;
  return is_own ? files + std::string_view(kBelow).size() : path.npos;
}

Said said_in(std::string line, const std::string& sources) {
  if (const auto from = line.find("from /"); from < 24) {
    line.erase(0, from + 5);  // In file included from FILE:LINE,
  }
  Said said;
  const auto own = own_name(line, sources);
  auto at = line.find_first_of(":(", own == line.npos ? 0 : own);
  if (at == line.npos || !is_digit(line[std::min(at + 1, line.size() - 1)])) {
    said.text = line;
    return said;
  }
  const std::string name = own == line.npos ? "" : line.substr(own, at - own);
  std::string digits = digits_at(line, at + 1);
  said.line = line_number(digits);
  at = std::min(at + 1 + digits.size(), line.size());
  if (digits = digits_at(line, at + 1); line.substr(at, 1) == ":" && !digits.empty()) {
    said.column = static_cast<std::size_t>(line_number(digits));
    at += 1 + digits.size();
  }
  said.file = said.line > 0 ? name : "";
  said.text = line.substr(std::min(line.find_first_not_of("): ,", at), line.size()));
  return said;
}

// fix-it:"FILE":{LINE:COLUMN-LINE:COLUMN}:"text"
void add_fix(const std::string& line, BuildError& error) {
  const auto begin = line.find("\":{");
  if (begin == line.npos || !line.substr(0, begin).ends_with(kBelow + error.file)) return;
  int numbers[4] = {};
  std::size_t at = begin + 2;
  for (int& number : numbers) {
    const std::string digits = digits_at(line, at + 1);
    number = line_number(digits);
    at += 1 + digits.size();
  }
  if (line.compare(at, 3, "}:\"") != 0 || numbers[0] != numbers[2]) return;
  std::string text = line.substr(at + 3);
  text.resize(text.empty() ? 0 : text.size() - 1);
  if (text.ends_with("\\n")) text.replace(text.size() - 2, 2, "\n");
  error.fixes.push_back({numbers[0], static_cast<std::size_t>(numbers[1]),
                         static_cast<std::size_t>(numbers[3]), text});
}

bool is_error(const std::string& text) {
  return text.starts_with("error: ") || text.starts_with("fatal error: ") ||
         text.starts_with("Error: ") ||  // of the assembler
         text.find("undefined reference") != text.npos ||
         text.find("multiple definition") != text.npos;
}

}  // namespace

std::string BuildError::said() const {
  const std::string place = file.empty() ? "" : file + ":" + std::to_string(line) + ": error: ";
  return place + text + (more < 1 ? "" : " (and " + std::to_string(more) + " more)");
}

BuildError first_build_error(const std::string& printed, const std::filesystem::path& sources) {
  constexpr std::size_t kMostNotes = 8000;
  BuildError first;
  std::string any;
  Said from;             // the place from which a header was reached
  bool is_told = false;  // the notes that come now belong to `first`
  int errors = 0;
  for (const std::string& line : lines_of(printed)) {
    if (line.starts_with("fix-it:")) {
      if (is_told) add_fix(line, first);
      continue;
    }
    // The linker has said why before; the others are quoted lines.
    const bool is_quote = line.starts_with(" ") && line.find(" from /") == line.npos;
    if (is_quote || line.starts_with("collect2: error: ")) continue;
    Said said = said_in(line, sources.string());
    const bool is_note = said.text.starts_with("note: ");
    if (any.empty() && !said.text.starts_with('/')) any = said.text;  // "PATH: Assembler messages:"
    if (!is_error(said.text)) {
      if (is_note) from = {};
      if (is_note && is_told) {
        if (first.file.empty() && !said.file.empty()) {  // in expansion of macro, requested here
          first.file = said.file, first.line = said.line, first.column = said.column;
        }
        if (first.notes.size() > kMostNotes) continue;
        first.notes += readable(said.text.substr(6)) +
                       (said.file.empty() ? "" : " (line " + std::to_string(said.line) + ")") +
                       "\n";
      } else if (!is_note && said.line > 0) {
        const bool is_warning = said.text.starts_with("warning: ");
        if (is_warning || !said.file.empty()) from = is_warning ? Said{} : said;
        if (is_warning) is_told = false;
      }
      continue;
    }
    const bool is_why = said.column > 0 && !first.file.empty() && said.file == first.file &&
                        said.line == first.line && said.column == first.column;
    if (is_why) {  // a call fits no template, and another error at its place says why
      if (first.notes.size() <= kMostNotes) first.notes += readable(said.text) + "\n";
      continue;
    }
    ++errors;
    if (said.file.empty()) said.file = from.file, said.line = from.line, said.column = from.column;
    from = {};
    is_told = first.text.empty() || (first.file.empty() && !said.file.empty());
    if (!is_told) continue;
    const auto colon = said.text.find("rror: ") - 1;
    first = {.file = said.file,
             .line = said.line,
             .column = said.column,
             .text = readable(said.text.substr(colon >= said.text.size() ? 0 : colon + 7))};
  }
  if (first.text.empty()) {
    first.text = any.empty() ? "The compiler ended without naming an error." : readable(any);
  }
  first.more = errors - 1;
  return first;
}

}  // namespace convlab::grader
