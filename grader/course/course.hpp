#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "grader/checks/result/finding.hpp"

namespace convlab::grader {

/// A milestone as its folder under milestones/ shows it.
struct CourseMilestone {
  std::string id;                ///< "m1"
  std::string title;             ///< from the chapter's heading
  std::filesystem::path folder;  ///< milestones/m1_cpu_baseline
};

/// The root of the workbook's tree.
std::filesystem::path course_folder();

/// The folder above bin/, where this build keeps results and its state.
std::filesystem::path build_folder();

/// All milestones, in order.
std::vector<CourseMilestone> milestones();

/// @throws UsageError that lists the known ones
CourseMilestone find_milestone(const std::string& id);

/// The executable of a solution, "student" or "reference", whether it exists or not.
std::filesystem::path program_of(const std::string& milestone, const std::string& solution);

/// Whether --solution names a file or a folder, not a program of the workbook.
bool is_source_file(const std::string& solution);

/// @throws UsageError in a hand-out if `solution` is "reference"
void require_solution(const std::string& solution);

/// "build/bin/grader check m4 --stage half"; without a stage "build/bin/grader check m4".
std::string grader_command(const std::string& verb, const std::string& milestone,
                           const std::string& stage = {});

/// The default folder for results of checks.
std::filesystem::path results_folder();

/// The history of the student's checks; see grader/checks/result/check_history.hpp.
std::filesystem::path history_file();

/// `file` as seen from the current folder, if that is shorter.
std::string display_path(const std::filesystem::path& file);

/// 1 once somebody wants a long work to end, after stop_on_signals().
inline volatile std::sig_atomic_t stop_asked = 0;

/// From now on Ctrl-C, SIGTERM and SIGHUP do not end the program but set stop_asked, for work that
/// keeps what it has done.
inline void stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int /*signal*/) { stop_asked = 1; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
}

/// How long a build may take; compiling for a GPU on a slow machine takes minutes.
inline constexpr std::chrono::minutes kBuildLimit{20};

/// Builds the student's program of a milestone, one build of a folder at a time.
/// @return the compiler's message, if it does not build
/// @throws EnvironmentError if CMake or the compiler is missing, or the folder cannot be written
std::optional<Finding> build_milestone(const CourseMilestone& milestone);

/// Builds a part of the workbook itself. @throws EnvironmentError if that fails
/// @param is_long  shows in a terminal what is compiled, with how much is left
void build_own_part(const std::string& target, bool is_long = false);

/// Whether build_custom_submission_parts has ended in this build folder before.
bool has_custom_submission_parts(bool on_cpu);

/// The parts that are needed to compile a custom submission; compiles no custom submission. The
/// first time, which takes long, it says so.
/// @param on_cpu  only those for a file that runs on the CPU
void build_custom_submission_parts(bool on_cpu = false);

}  // namespace convlab::grader
