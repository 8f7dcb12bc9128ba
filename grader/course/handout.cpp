#include "grader/course/handout.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <sstream>

#include "common/base/error.hpp"
#include "common/base/run_process.hpp"
#include "common/base/scratch_folder.hpp"
#include "common/base/whole_file.hpp"
#include "common/data/gzip.hpp"
#include "grader/course/sources.hpp"

namespace convlab::grader {

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
