#include "grader/corpus/runner/corpus_case.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include "common/base/error.hpp"
#include "common/base/whole_file.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string without_indent(const std::string& line) {
  return line.substr(std::min(line.size(), line.find_first_not_of(' ')));
}

/// The comment that begins a text, and the rest.
struct Split {
  std::string header{};
  std::vector<std::string> rest{};
};

Split split(const std::string& text) {
  Split split;
  for (const std::string& line : lines_of(text)) {
    const std::string comment = without_indent(line);
    if (split.rest.empty() && comment.starts_with("//")) {
      split.header += comment + "\n";
    } else {
      split.rest.push_back(line);
    }
  }
  return split;
}

// NOLINTNEXTLINE(misc-no-recursion): a part may have parts
std::string with_parts(const std::string& text, const fs::path& folder) {
  const std::string mark = "#include \"parts/";
  std::string whole;
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with(mark)) {
      const std::string name = line.substr(mark.size(), line.rfind('"') - mark.size());
      whole += with_parts(read_text(folder / "parts" / name), folder);
    } else {
      whole += line + "\n";
    }
  }
  return whole;
}

}  // namespace

std::string CorpusCase::field(const std::string& key) const {
  const std::string mark = "\n// " + key + " ";
  const std::string lines = "\n" + header;
  const auto at = lines.find(mark);
  if (at == std::string::npos) return {};
  const auto value = lines.find_first_not_of(' ', at + mark.size());
  return lines.substr(value, lines.find('\n', value) - value);
}

std::vector<CorpusCase> read_cases(const fs::path& file) {
  std::string before, behind;
  std::vector<std::string> own;
  std::string* part = &before;
  for (const std::string& line : lines_of(read_text(file))) {
    const std::string words = without_indent(line);
    if (words.starts_with("// Case ")) part = &own.emplace_back();
    if (words == "// End of cases") {
      part = &behind;
    } else {
      *part += line + "\n";
    }
  }
  if (own.empty()) {
    return {{.name = file.stem().string(),
             .text = with_parts(before, file.parent_path()),
             .header = split(before).header}};
  }
  std::vector<CorpusCase> cases;
  std::set<std::string> names;
  for (const std::string& text : own) {
    const auto [header, lines] = split(text);
    std::string includes, rest;
    for (const std::string& line : lines) {
      (line.starts_with("#include <") ? includes : rest) += line + "\n";
    }
    CorpusCase next{.text = with_parts(includes + before + rest + behind, file.parent_path()),
                    .header = header + split(before).header};
    next.name = next.field("Case");
    if (!names.insert(next.name).second) {
      throw UsageError(file.string() + ": two cases have the name " + next.name);
    }
    cases.push_back(next);
  }
  return cases;
}

}  // namespace convlab::grader
