#include "grader/corpus/runner/mistake.hpp"

#include <algorithm>
#include <map>
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
  return with_changed_lines(read_text(mistake.from), mistake.change,
                            mistake.name + ": " + mistake.from.filename().string());
}

}  // namespace convlab::grader
