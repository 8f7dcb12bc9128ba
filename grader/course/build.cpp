#include "grader/course/build.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <sstream>
#include <vector>

#include "common/base/descriptor.hpp"
#include "common/base/error.hpp"
#include "common/base/run_process.hpp"
#include "common/device/gpu_probe.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/submission/machine_faults.hpp"

namespace convlab::grader {

namespace {

// Ninja keeps its state in the build folder and does not lock it.
Descriptor lock_build_folder() {
  const auto file = build_folder() / ".grader-build-lock";
  Descriptor lock(::open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644));
  if (lock.get() < 0 || ::flock(lock.get(), LOCK_EX) != 0) {
    throw EnvironmentError("Nothing can be built in " + build_folder().string() + ": " +
                           std::strerror(errno) + ".");
  }
  return lock;
}

std::string target_of(const CourseMilestone& milestone) {
  const auto program = program_of(milestone.id, "student");
  const auto emulated = program.string() + "-emulated";
  const bool emulation_is_enough =
      std::filesystem::exists(program) && std::filesystem::exists(emulated) && !answering_gpu();
  return milestone.id + (emulation_is_enough ? "-emulated" : "");
}

// Compilers name files relative to their folder, or in full; a person expects paths from the root.
std::string from_root(std::string words) {
  const std::string whole = course_folder().string() + "/";
  const std::string relative =
      course_folder().lexically_relative(build_folder()).generic_string() + "/";
  for (const std::string& prefix : {whole, relative}) {
    for (auto at = words.find(prefix); at != std::string::npos; at = words.find(prefix)) {
      words.erase(at, prefix.size());
    }
  }
  return words;
}

}  // namespace

std::string first_error(const std::string& output) {
  std::vector<std::string> lines;
  std::istringstream stream(output);
  for (std::string line; std::getline(stream, line);) {
    if (line.find_first_not_of(" \r") != std::string::npos) lines.push_back(line);
  }
  const auto is_error = [](const std::string& line) {
    return line.find("error: ") != std::string::npos ||
           line.find("error : ") != std::string::npos ||
           line.find("undefined reference") != std::string::npos;
  };
  constexpr std::ptrdiff_t kShown = 6;
  const auto first = std::ranges::find_if(lines, is_error);
  const auto begin = first != lines.end()                   ? first
                     : lines.end() - lines.begin() > kShown ? lines.end() - kShown
                                                            : lines.begin();
  std::string text;
  for (auto line = begin; line != lines.end() && line - begin < kShown; ++line) {
    text.append(*line).append(1, '\n');
  }
  if (!text.empty()) text.pop_back();
  return text;
}

namespace {

// @param is_long  shows in a terminal what is compiled, with how much is left
std::optional<Finding> build_target(const std::string& target, bool is_long = false) {
  const Descriptor lock = lock_build_folder();
  const bool is_shown = is_long && ::isatty(STDOUT_FILENO) == 1;
  // If the grader is killed, the shell ends its group: CMake alone would leave Ninja at work.
  const char* const with_group = "trap 'trap - TERM; kill 0' TERM; \"$0\" \"$@\" & wait $!";
  const FinishedProcess run =
      run_process({.words = {"/bin/sh", "-c", with_group, "cmake", "--build",
                             build_folder().string(), "--target", target},
                   .output = is_shown ? Command::Output::kShown : Command::Output::kTogether,
                   .time_limit = kBuildLimit});
  if (run.end == FinishedProcess::End::kTimeLimit) {
    return finding("E-build",
                   "It was stopped after " + std::to_string(kBuildLimit.count()) + " minutes.");
  }
  if (run.exit_code == 0) return std::nullopt;
  if (run.exit_code == kNoSuchProgram) {
    throw EnvironmentError("CMake is not found; to install it: common/setup/lab setup");
  }
  if (const std::string fault = fault_of_storage(build_folder()); !fault.empty()) {
    throw EnvironmentError("Nothing can be built in " + build_folder().string() + ": " + fault +
                           "; free some space, then run this again.");
  }
  const std::string words = from_root(first_error(run.output));
  if (const std::string tool = missing_tool(build_folder(), "cpu"); !tool.empty()) {
    throw EnvironmentError("The compiler that this build was configured with is gone (" + tool +
                           "); common/setup/lab setup installs one, cmake --preset lab --fresh "
                           "looks for it again.");
  }
  return finding("E-build", words);
}

}  // namespace

std::optional<Finding> build_milestone(const CourseMilestone& milestone) {
  return build_target(target_of(milestone));
}

void build_own_part(const std::string& target, bool is_long) {
  if (const auto failed = build_target(target, is_long)) {
    throw EnvironmentError("The workbook itself does not build: " + failed->seen +
                           " Build it: cmake --build --preset lab");
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
              << "The first time this also builds the grader's own parts: about a minute."
              << std::endl;
  }
  build_own_part(std::string("convlab_custom_submission_parts") + (on_cpu ? "_cpu" : ""), is_first);
}

}  // namespace convlab::grader
