#include "grader/mistakes/mistake.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>

#include "common/file/whole_file.hpp"

namespace convlab::grader {

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? ""
                                    : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

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
      mistake.change.push_back(line);
    } else if (!trimmed(line).empty()) {
      throw std::runtime_error(file.string() + ": a line begins with none of '// ', '-' and '+'");
    }
  }
  for (const char* needed : {"What", "Finding", "Says"}) {
    if (fields[needed].empty()) {
      throw std::runtime_error(file.string() + ": it has no line '// " + needed + "'");
    }
  }
  mistake.what = fields["What"];
  mistake.finding = fields["Finding"];
  mistake.says = split(fields["Says"], ';');
  mistake.only_emulated = fields["Runs"] == "emulated";
  const std::string usual = mistake.milestone + (mistake.milestone == "m1" ? ".cpp" : ".cu");
  mistake.from = solutions / (fields["From"].empty() ? usual : fields["From"]);
  return mistake;
}

std::string make_mistake(const Mistake& mistake) {
  std::vector<std::string> lines = lines_of(read_text(mistake.from));
  const auto& change = mistake.change;
  std::size_t from = 0;  // changes follow one another in the solution
  for (std::size_t i = 0; i < change.size();) {
    std::vector<std::string> out;
    std::vector<std::string> in;
    for (; i < change.size() && change[i].front() == '-'; ++i) out.push_back(change[i].substr(1));
    for (; i < change.size() && change[i].front() == '+'; ++i) in.push_back(change[i].substr(1));
    const auto at = std::search(
        lines.begin() + static_cast<std::ptrdiff_t>(from), lines.end(), out.begin(), out.end(),
        [](const std::string& a, const std::string& b) { return trimmed(a) == trimmed(b); });
    if (out.empty() || at == lines.end()) {
      throw std::runtime_error(mistake.name + ": " + mistake.from.filename().string() +
                               " has no line '" + (out.empty() ? "" : trimmed(out.front())) + "'");
    }
    // The new lines are indented as the first of the old ones.
    const std::string indent(std::min(at->size(), at->find_first_not_of(' ')), ' ');
    const auto first_in = in.empty() ? 0 : in.front().find_first_not_of(' ');
    for (std::string& line : in) {
      line = indent + line.substr(std::min(first_in, line.find_first_not_of(' ')));
    }
    const auto next = lines.erase(at, at + static_cast<std::ptrdiff_t>(out.size()));
    const auto inserted = lines.insert(next, in.begin(), in.end());
    from = static_cast<std::size_t>(inserted - lines.begin()) + in.size();
  }
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace convlab::grader
