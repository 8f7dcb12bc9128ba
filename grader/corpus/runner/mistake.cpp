#include "grader/corpus/runner/mistake.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

#include "common/base/lines.hpp"
#include "common/base/whole_file.hpp"

namespace convlab::grader {

namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(trimmed(part));
  return parts;
}

}  // namespace

Mistake read_mistake(const std::filesystem::path& file, const std::filesystem::path& solutions) {
  Mistake mistake;
  mistake.milestone = file.parent_path().filename().string();
  mistake.name = mistake.milestone + "/" + file.stem().string();
  std::map<std::string, std::string> fields;
  for (const std::string& line : lines_of(read_text(file))) {
    if (line.starts_with("// ")) {
      const auto end = std::min(line.size(), line.find(' ', 3));
      fields[line.substr(3, end - 3)] = trimmed(line.substr(end));
    } else if (line.starts_with("-") || line.starts_with("+")) {
      mistake.change += line + "\n";
    } else if (!trimmed(line).empty()) {
      throw std::runtime_error(file.string() + ": a line begins with none of '// ', '-' and '+'");
    }
  }
  for (const char* needed : {"What", "Finding"}) {
    if (fields[needed].empty()) {
      throw std::runtime_error(file.string() + ": it has no line '// " + needed + "'");
    }
  }
  mistake.what = fields["What"];
  const bool passes = fields["Finding"] == "passes";
  mistake.finding = passes ? "" : fields["Finding"];
  for (const char* words : {"Says", "Cause", "Place", "Misleads"}) {
    for (const std::string& part : split(fields[words], ';')) {
      if (part == "the line") {
        mistake.quotes_line = true;
      } else {
        mistake.says.push_back(part);
      }
    }
  }
  const bool has_cause = !fields["Cause"].empty();
  const bool has_place = !fields["Place"].empty();
  using enum Mistake::Share;
  mistake.share = passes                        ? kPasses
                  : !fields["Misleads"].empty() ? kFalse
                  : has_cause && has_place      ? kNamed
                  : has_cause || has_place      ? kHelps
                                                : kBare;
  mistake.only_emulated = fields["Runs"] == "emulated";
  const std::string usual = mistake.milestone + (mistake.milestone == "m1" ? ".cpp" : ".cu");
  mistake.from = solutions / (fields["From"].empty() ? usual : fields["From"]);
  return mistake;
}

std::string make_mistake(const Mistake& mistake) {
  return with_changed_lines(read_text(mistake.from), mistake.change,
                            mistake.name + ": " + mistake.from.filename().string());
}

bool quotes_changed_line(const std::string& text, const std::string& original,
                         const std::string& made) {
  // What both begin and end with is no change. A statement may begin one line before.
  const auto before = lines_of(original);
  const auto after = lines_of(made);
  std::map<std::string, int> counts;
  for (const std::string& line : before) ++counts[line];
  std::set<std::size_t> changed;
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (--counts[after[i]] < 0) changed.insert({i, i + 1});
  }
  if (changed.empty()) {
    const auto shorter = std::min(before.size(), after.size());
    const auto first =
        std::mismatch(before.begin(), before.begin() + std::ptrdiff_t(shorter), after.begin())
            .first -
        before.begin();
    changed = {std::size_t(first), std::size_t(first) + 1};
  }
  for (const char* mark : {".cpp:", ".cu:"}) {
    for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
      const auto digits = at + std::string(mark).size();
      if (changed.contains(std::strtoul(text.c_str() + digits, nullptr, 10))) return true;
    }
  }
  return false;
}

}  // namespace convlab::grader
