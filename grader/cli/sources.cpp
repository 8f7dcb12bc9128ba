#include "grader/cli/sources.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include "common/error/error.hpp"
#include "common/milestone/shell_word.hpp"
#include "grader/cli/shell.hpp"

namespace convlab::grader {

std::vector<std::filesystem::path> source_files(const CourseMilestone& milestone) {
  constexpr std::array kExtensions = {".cpp", ".cu", ".cuh", ".h", ".hpp"};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(milestone.folder)) {
    const std::string extension = entry.path().extension().string();
    const bool is_source =
        std::find(kExtensions.begin(), kExtensions.end(), extension) != kExtensions.end();
    if (entry.is_regular_file() && is_source) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<SourceFile> describe_files(const std::vector<std::filesystem::path>& files) {
  if (files.empty()) return {};
  // "\HASH  NAME" where the name had to be escaped, "HASH  NAME" otherwise, in the same order.
  std::string command = "sha256sum --";
  for (const auto& file : files) command.append(1, ' ').append(shell_word(file.string()));
  const ShellOutput output = run_shell(command + " 2>&1");
  if (output.exit_code != 0) {
    throw EnvironmentError("The sources cannot be read: " + output.text + ".");
  }
  std::vector<SourceFile> described;
  std::istringstream lines(output.text);
  std::string line;
  for (const auto& file : files) {
    std::getline(lines, line);
    if (line.starts_with('\\')) line.erase(0, 1);
    described.push_back({.path = file.lexically_relative(course_folder()).generic_string(),
                         .sha256 = line.substr(0, line.find(' '))});
  }
  return described;
}

}  // namespace convlab::grader
