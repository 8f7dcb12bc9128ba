#include "grader/course/sources.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <sstream>

#include "common/base/error.hpp"
#include "common/base/run_process.hpp"
#include "common/base/scratch_folder.hpp"
#include "common/base/whole_file.hpp"
#include "common/data/gzip.hpp"

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

namespace {

constexpr std::size_t kHashLength = 64;

std::string hash_of(const std::filesystem::path& file) {
  return describe_files({file}).front().sha256;
}

}  // namespace

std::vector<HandoutFile> handout_files(const CourseMilestone& milestone) {
  const auto manifest = course_folder() / "milestones" / "handout.sha256";
  std::istringstream lines(read_text(manifest));
  const std::string folder = "milestones/" + milestone.folder.filename().string() + "/";
  std::vector<HandoutFile> files;
  for (std::string line; std::getline(lines, line);) {
    if (line.size() < kHashLength + 3 || line[kHashLength] != ' ') {
      throw EnvironmentError(manifest.string() + " is damaged: it has the line '" + line +
                             "' instead of a SHA-256 and a path.");
    }
    const std::string path = line.substr(kHashLength + 2);
    if (path.starts_with(folder)) files.push_back({path, line.substr(0, kHashLength)});
  }
  std::ranges::sort(files, {}, &HandoutFile::path);
  return files;
}

bool is_as_handed_out(const HandoutFile& file) {
  const auto place = course_folder() / file.path;
  return std::filesystem::is_regular_file(place) && hash_of(place) == file.sha256;
}

bool is_puzzle(const std::string& path) {
  return std::ranges::any_of(std::array{"/puzzles/", "/repairs/", "/detective/"},
                             [&](const char* folder) { return path.find(folder) != path.npos; });
}

std::optional<std::string> pristine_text(const HandoutFile& file) {
  const auto copy = build_folder() / "pristine" / file.path;
  if (std::filesystem::is_regular_file(copy) && hash_of(copy) == file.sha256) {
    return read_text(copy);
  }
  return std::nullopt;
}

std::filesystem::path keep_backup(const std::filesystem::path& file) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  std::array<char, 32> date{};
  std::strftime(date.data(), date.size(), "%Y-%m-%d-%H%M%S", &local);
  const std::string name = file.string() + ".backup-" + date.data();
  std::filesystem::path backup = name;
  for (int number = 2; std::filesystem::exists(backup); ++number) {
    backup = name + "-" + std::to_string(number);
  }
  write_atomically(backup, read_text(file));
  return backup;
}

std::vector<std::uint8_t> packed(const std::filesystem::path& parent, const std::string& name) {
  const ScratchFolder scratch(parent);
  const auto tar = scratch.path() / "archive.tar";
  const FinishedProcess run =
      run_process({.words = {"tar", "--create", "--format=ustar", "--sort=name", "--mtime=@0",
                             "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX",
                             "--file=" + tar.string(), "--directory=" + parent.string(), name}});
  if (!run.succeeded()) throw EnvironmentError("tar failed: " + trimmed_end(run.errors) + ".");
  constexpr std::size_t kLargest = std::size_t{256} << 20;
  return gzip(read_bytes(tar, kLargest));
}

}  // namespace convlab::grader
