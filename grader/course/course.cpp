#include "grader/course/course.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

#include "common/base/error.hpp"
#include "common/base/printable.hpp"
#include "common/base/run_process.hpp"
#include "common/base/scratch_folder.hpp"
#include "common/base/text.hpp"
#include "common/base/unknown_name.hpp"
#include "common/base/whole_file.hpp"
#include "common/data/gzip.hpp"
#include "common/network/preset.hpp"
#include "common/result/result.hpp"
#include "grader/checks/edition.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/course/puzzles.hpp"
#include "grader/submission/build_submission.hpp"

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

// The part of a build's output that a person must read: a few lines from the first error on; all
// of a short output without an error.
std::string first_error(const std::string& output) {
  std::vector<std::string> lines = lines_of(output);
  std::erase_if(lines, [](const std::string& line) { return trimmed(line).empty(); });
  const auto is_error = [](const std::string& line) {
    return line.find("error: ") != std::string::npos ||
           line.find("error : ") != std::string::npos ||
           line.find("undefined reference") != std::string::npos;
  };
  constexpr std::ptrdiff_t kShown = 6;
  auto line = std::ranges::find_if(lines, is_error);
  if (line == lines.end()) line -= std::min(kShown, std::ssize(lines));
  std::string text;
  for (int i = 0; i < kShown && line != lines.end(); ++i, ++line) {
    text += (text.empty() ? "" : "\n") + *line;
  }
  return text;
}

// @param is_long  shows in a terminal what is compiled, with how much is left
std::optional<Finding> build_target(const std::string& target, bool is_long = false) {
  constexpr std::chrono::minutes kLimit{20};  // compiling for a GPU on a slow machine takes minutes
  // Ninja keeps its state in the build folder and does not lock it.
  const Descriptor lock = locked(build_folder() / ".grader-build-lock", true);
  const bool is_shown = is_long && ::isatty(STDOUT_FILENO) == 1;
  // If the grader is killed, the shell ends its group: CMake alone would leave Ninja at work.
  const char* const with_group = "trap 'trap - TERM; kill 0' TERM; \"$0\" \"$@\" & wait $!";
  const FinishedProcess run =
      run_process({.words = {"/bin/sh", "-c", with_group, "cmake", "--build",
                             build_folder().string(), "--target", target},
                   .environment = {"NINJA_STATUS=built %f of %t, %es: "},
                   .output = is_shown ? Command::Output::kShown : Command::Output::kTogether,
                   .time_limit = kLimit});
  if (run.end == FinishedProcess::End::kTimeLimit) {
    return finding("E-build",
                   "It was stopped after " + std::to_string(kLimit.count()) + " minutes.");
  }
  if (run.exit_code == 0) return std::nullopt;
  if (run.exit_code == kNoSuchProgram) {
    throw EnvironmentError("CMake is not found; to install it: common/setup/lab setup");
  }
  require_machine(build_folder(), build_folder(), "cpu");
  return finding("E-build", first_error(run.output));
}

constexpr std::size_t kHashLength = 64;

std::string hash_of(const std::filesystem::path& file) {
  return describe_files({file}).front().sha256;
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

// Where only a milestone or a task helps.
static std::string not_an_edition(const Edition& edition) {
  const std::string& name = edition.name;
  if (edition.tasks.empty()) {
    return name + " is an edition without tasks: name a milestone, m2 --rules " + name + ".";
  }
  std::string tasks;
  for (const EditionTask& task : edition.tasks) {
    tasks += (tasks.empty() ? "" : ", ") + edition.id_of(task);
  }
  return name + " is an edition, which takes a whole tree (--solution FOLDER); for one file name " +
         (edition.tasks.size() == 1 ? "its task: " : "one of its tasks: ") + tasks + ".";
}

CourseMilestone find_milestone(const std::string& id) {
  if (const auto named = find_task(id)) return find_milestone(named->task.workbook);
  std::vector<std::string> known;
  for (const CourseMilestone& milestone : milestones()) {
    if (milestone.id == id) return milestone;
    known.push_back(milestone.id);
  }
  const std::vector<std::string> editions = edition_names();
  if (std::ranges::find(editions, id) != editions.end()) {
    throw UsageError(not_an_edition(load_edition(id)));
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

std::optional<Finding> build_milestone(const CourseMilestone& milestone) {
  return build_target(milestone.id);
}

void build_own_part(const std::string& target, bool is_long) {
  if (const auto failed = build_target(target, is_long)) {
    throw EnvironmentError("The workbook itself does not build: " + failed->seen.text() +
                           "\nBuild it: cmake --build --preset lab");
  }
}

bool has_custom_submission_parts(bool on_cpu) {
  return std::filesystem::exists(build_folder() / "custom_submission" /
                                 (on_cpu ? "custom-submission-cpu" : "custom-submission-emulated"));
}

void build_custom_submission_parts(bool on_cpu) {
  const bool is_first = !has_custom_submission_parts(on_cpu);
  if (is_first) {
    std::cerr << (::isatty(STDERR_FILENO) == 1 ? "\r\033[K" : "")  // in place of what is announced
              << "The first time this also builds the grader's own parts for "
              << (on_cpu ? "m1." : "m2 to m4: about two minutes of a processor.") << std::endl;
  }
  build_own_part(std::string("convlab_custom_submission_parts") + (on_cpu ? "_cpu" : ""), is_first);
}

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
  const std::string name = file.string() + ".backup-" + utc_now();
  std::filesystem::path backup = name;
  for (int number = 2; std::filesystem::exists(backup); ++number) {
    backup = name + "-" + std::to_string(number);
  }
  write_atomically(backup, read_text(file));
  return backup;
}

Descriptor locked(const std::filesystem::path& file, bool waits) {
  Descriptor lock(::open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644));
  if (lock.is_open() && ::flock(lock.get(), LOCK_EX | (waits ? 0 : LOCK_NB)) == 0) return lock;
  if (lock.is_open() && errno == EWOULDBLOCK) return Descriptor();
  throw EnvironmentError("Cannot write " + file.string() + ": " + std::strerror(errno) +
                         "; name another place, or change the folder's permissions.");
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
