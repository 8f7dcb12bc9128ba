#include "grader/course/sources.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include "common/base/error.hpp"
#include "common/base/run_process.hpp"
#include "common/base/whole_file.hpp"

namespace convlab::grader {

std::vector<std::filesystem::path> source_files(const CourseMilestone& milestone) {
  constexpr std::array kExtensions = {".cpp", ".cu", ".cuh", ".h", ".hpp"};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(milestone.folder)) {
    const std::string extension = entry.path().extension().string();
    const bool is_source = std::ranges::find(kExtensions, extension) != kExtensions.end();
    if (entry.is_regular_file() && is_source) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::optional<std::filesystem::path> file_of_stage(const std::filesystem::path& folder,
                                                   const std::string& stage) {
  // An id has hyphens: fused_gemm is a misspelling, though a file has that name.
  if (stage.find('_') != std::string::npos) return std::nullopt;
  std::string name = stage;
  std::ranges::replace(name, '-', '_');
  for (const auto& place : {folder / "stages" / name, folder / name, folder / "conv_forward"}) {
    for (const char* extension : {".cu", ".cpp"}) {
      auto file = place;
      file += extension;
      if (std::filesystem::exists(file)) return file;
    }
  }
  return std::nullopt;
}

std::string title_of(const std::filesystem::path& file, const std::string& stage) {
  const std::string text = read_text(file);
  for (const std::string& key : {std::string(".title ="), "(\"" + stage + "\","}) {
    const auto begin = text.find(key);
    if (begin == std::string::npos) continue;
    const auto from = text.find('"', begin + key.size()) + 1;
    return text.substr(from, text.find('"', from) - from);
  }
  return {};
}

std::vector<SourceFile> describe_files(const std::vector<std::filesystem::path>& files) {
  if (files.empty()) return {};
  // "\HASH  NAME" where the name had to be escaped, "HASH  NAME" otherwise, in the same order.
  std::vector<std::string> words = {"sha256sum", "--"};
  for (const auto& file : files) words.push_back(file.string());
  const FinishedProcess run = run_process({.words = words});
  if (!run.succeeded()) {
    throw EnvironmentError("The sources cannot be read: " + trimmed_end(run.errors) + ".");
  }
  std::vector<SourceFile> described;
  std::istringstream lines(run.output);
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
