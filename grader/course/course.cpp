#include "grader/course/course.hpp"

#include <algorithm>
#include <fstream>

#include "common/base/error.hpp"
#include "common/base/printable.hpp"
#include "common/base/unknown_name.hpp"
#include "common/network/preset.hpp"
#include "grader/course/puzzles.hpp"

namespace convlab::grader {

namespace {

// "# Milestone 1: the convolution on the CPU" without the mark and the number.
std::string heading_of(const std::filesystem::path& chapter) {
  std::ifstream stream(chapter);
  std::string line;
  if (!std::getline(stream, line)) return chapter.parent_path().filename().string();
  if (const auto colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
  return line.substr(std::min(line.size(), line.find_first_not_of("# ")));
}

}  // namespace

std::filesystem::path course_folder() {
  // network_folder() is ROOT/common/network.
  return network_folder().parent_path().parent_path();
}

std::filesystem::path build_folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
}

std::vector<CourseMilestone> milestones() {
  std::vector<CourseMilestone> found;
  std::error_code no_folder;
  for (const auto& entry :
       std::filesystem::directory_iterator(course_folder() / "milestones", no_folder)) {
    const std::string name = entry.path().filename().string();
    const auto end = name.find('_');
    if (!entry.is_directory() || name[0] != 'm' || end == std::string::npos) continue;
    found.push_back({name.substr(0, end), heading_of(entry.path() / "README.md"), entry.path()});
  }
  std::ranges::sort(found, {}, &CourseMilestone::id);
  return found;
}

CourseMilestone find_milestone(const std::string& id) {
  std::vector<std::string> known;
  for (const CourseMilestone& milestone : milestones()) {
    if (milestone.id == id) return milestone;
    known.push_back(milestone.id);
  }
  for (const CourseMilestone& milestone : milestones()) {
    const std::string meant =
        name_meant(id, known).empty() ? name_meant(id, stage_names(milestone)) : "";
    if (meant.empty()) continue;
    throw UsageError("'" + id + "' is no milestone. Did you mean the stage of " + milestone.id +
                     ": " + milestone.id + " --stage " + meant + "?");
  }
  throw UsageError(unknown_name("milestone", id, known));
}

std::filesystem::path program_of(const std::string& milestone, const std::string& solution) {
  return build_folder() / "bin" / (milestone + (solution == "reference" ? "-reference" : ""));
}

bool is_source_file(const std::string& solution) {
  return solution != "student" && solution != "reference";
}

void require_solution(const std::string& solution) {
  if (solution != "reference" ||
      std::filesystem::is_directory(course_folder() / "reference" / "solutions")) {
    return;
  }
  throw UsageError(
      "This tree is a hand-out: it has no reference solutions. Leave out --solution to take your "
      "own files.");
}

std::string grader_command(const std::string& verb, const std::string& milestone,
                           const std::string& stage) {
  return "build/bin/grader " + verb + " " + milestone + (stage.empty() ? "" : " --stage " + stage);
}

std::filesystem::path results_folder() {
  return build_folder() / "results";
}

std::filesystem::path history_file() {
  return results_folder() / "history.jsonl";
}

std::string display_path(const std::filesystem::path& file) {
  const std::string whole = file.string();
  const std::string shorter = file.lexically_proximate(std::filesystem::current_path()).string();
  return printable_line(shorter.size() < whole.size() ? shorter : whole);
}

}  // namespace convlab::grader
