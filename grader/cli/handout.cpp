#include "grader/cli/handout.hpp"

#include <algorithm>
#include <sstream>

#include "common/error/error.hpp"
#include "common/file/whole_file.hpp"
#include "common/milestone/shell_word.hpp"
#include "grader/cli/shell.hpp"
#include "grader/cli/sources.hpp"

namespace convlab::grader {

namespace {

constexpr std::size_t kHashLength = 64;

std::string hash_of(const std::filesystem::path& file) {
  return describe_files({file}).front().sha256;
}

// Writes what a command prints to a scratch file, because a hash is that of the very bytes.
std::optional<std::string> from_history(const HandoutFile& file) {
  std::string git = "git -C ";
  git.append(shell_word(course_folder().string())).append(1, ' ');
  const ShellOutput commits =
      run_shell(git + "log --format=%H -- " + shell_word(file.path) + " 2>/dev/null");
  if (commits.exit_code != 0) return std::nullopt;
  const auto scratch = build_folder() / ("pristine-scratch-" + file.sha256);
  std::istringstream lines(commits.text);
  std::optional<std::string> text;
  for (std::string commit; !text && std::getline(lines, commit);) {
    const ShellOutput shown = run_shell(git + "show " + shell_word(commit + ":" + file.path) +
                                        " 2>/dev/null >" + shell_word(scratch.string()));
    if (shown.exit_code == 0 && hash_of(scratch) == file.sha256) text = read_text(scratch);
  }
  std::error_code ignored;
  std::filesystem::remove(scratch, ignored);
  return text;
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
  std::sort(files.begin(), files.end(),
            [](const HandoutFile& a, const HandoutFile& b) { return a.path < b.path; });
  return files;
}

bool is_as_handed_out(const HandoutFile& file) {
  const auto place = course_folder() / file.path;
  return std::filesystem::is_regular_file(place) && hash_of(place) == file.sha256;
}

std::optional<std::string> pristine_text(const HandoutFile& file) {
  const auto copy = build_folder() / "pristine" / file.path;
  if (std::filesystem::is_regular_file(copy) && hash_of(copy) == file.sha256) {
    return read_text(copy);
  }
  return from_history(file);
}

}  // namespace convlab::grader
