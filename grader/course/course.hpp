#pragma once

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/base/descriptor.hpp"
#include "common/serve/finding.hpp"
#include "grader/checks/result/check_result.hpp"

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

/// The default folder for results of checks, and the history in it (check_history.hpp).
std::filesystem::path results_folder();
std::filesystem::path history_file();

/// `file` as seen from the current folder, if that is shorter.
std::string display_path(const std::filesystem::path& file);

/// 1 once somebody wants a long work to end, after stop_on_signals().
inline volatile std::sig_atomic_t stop_asked = 0;

/// From now on Ctrl-C, SIGTERM and SIGHUP do not end the program but set stop_asked.
inline void stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int /*signal*/) { stop_asked = 1; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
}

/// Builds the student's program of a milestone. @return the compiler's message, if it does not
/// build
/// @throws EnvironmentError if CMake or the compiler is missing, or the folder cannot be written
std::optional<Finding> build_milestone(const CourseMilestone& milestone);

/// Builds a part of the workbook itself. @throws EnvironmentError if that fails
/// @param is_long  shows in a terminal what is compiled, with how much is left
void build_own_part(const std::string& target, bool is_long = false);

/// Builds what every custom submission needs; whether that has ended here before. The first time,
/// which takes long, it says so. @param on_cpu  only for a file that runs on the CPU
bool has_custom_submission_parts(bool on_cpu);
void build_custom_submission_parts(bool on_cpu = false);

/// The files of a milestone that students write: all sources in its folder, sorted.
std::vector<std::filesystem::path> source_files(const CourseMilestone& milestone);

/// The file of a stage in a milestone's folder, or in that of its reference solutions: the one with
/// its name, in stages/ or the folder itself; else the only one, conv_forward.
std::optional<std::filesystem::path> file_of_stage(const std::filesystem::path& folder,
                                                   const std::string& stage);

/// The title of a stage, as its file says it; empty if it does not.
std::string title_of(const std::filesystem::path& file, const std::string& stage);

/// Path and SHA-256 of these files. @throws EnvironmentError if one cannot be read
std::vector<SourceFile> describe_files(const std::vector<std::filesystem::path>& files);

/// A file of a milestone as it is handed out: its path from the root of the tree, and its SHA-256.
using HandoutFile = SourceFile;

/// The hand-out files of a milestone, from milestones/handout.sha256; sorted.
/// @throws EnvironmentError if that file is missing or damaged
std::vector<HandoutFile> handout_files(const CourseMilestone& milestone);

/// True if the file is there, byte for byte as handed out.
bool is_as_handed_out(const HandoutFile& file);

/// Whether a file belongs to a puzzle or is a kernel to repair, which are no stages.
bool is_puzzle(const std::string& path);

/// The bytes of a hand-out file, from the copy that CMake made; none without a right copy.
std::optional<std::string> pristine_text(const HandoutFile& file);

/// Copies a file to "conv_forward.cpp.backup-2026-11-21T03:15:07Z" beside it, with a number behind
/// it where that is taken. @throws EnvironmentError if it cannot be written
std::filesystem::path keep_backup(const std::filesystem::path& file);

/// Locks a file, which is created, until the descriptor closes.
/// @return none if another program holds it, unless `waits`
/// @throws EnvironmentError if it cannot be written
Descriptor locked(const std::filesystem::path& file, bool waits);

/// A .tar.gz of PARENT/NAME. The same files give the same bytes: sorted names, no dates, no owners,
/// ordinary permissions. @throws EnvironmentError with tar's reason
std::vector<std::uint8_t> packed(const std::filesystem::path& parent, const std::string& name);

}  // namespace convlab::grader
