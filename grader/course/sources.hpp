#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "grader/checks/result/check_result.hpp"
#include "grader/course/course.hpp"

namespace convlab::grader {

/// The files of a milestone that students write: all sources in its folder, sorted.
std::vector<std::filesystem::path> source_files(const CourseMilestone& milestone);

/// The file of a stage: the one with its name, in stages/ or in the folder itself; else the only
/// one, conv_forward. Nothing if there is neither.
/// @param folder  of the milestone, or of its reference solutions
std::optional<std::filesystem::path> file_of_stage(const std::filesystem::path& folder,
                                                   const std::string& stage);

/// The title of a stage, as its file says it; empty if it does not.
std::string title_of(const std::filesystem::path& file, const std::string& stage);

/// Path (from the root of the tree) and SHA-256 of these files.
/// @throws EnvironmentError if a file cannot be read
std::vector<SourceFile> describe_files(const std::vector<std::filesystem::path>& files);

/// A file of a milestone as it is handed out.
struct HandoutFile {
  std::string path;    ///< from the root of the tree
  std::string sha256;  ///< of its bytes
};

/// The hand-out files of a milestone, from milestones/handout.sha256; sorted.
/// @throws EnvironmentError if that file is missing or damaged
std::vector<HandoutFile> handout_files(const CourseMilestone& milestone);

/// True if the file is there, byte for byte as handed out.
bool is_as_handed_out(const HandoutFile& file);

/// Whether a file belongs to a puzzle or is a kernel to repair; checks of a milestone's stages
/// ignore both.
bool is_puzzle(const std::string& path);

/// The bytes of a hand-out file, from the copy that CMake made when it first saw the file.
/// @return nothing if there is no such copy with the right SHA-256
std::optional<std::string> pristine_text(const HandoutFile& file);

/// Copies a file to "conv_forward.cpp.backup-2026-11-21-031507" beside it, with another number
/// behind it where that is taken. @throws EnvironmentError if it cannot be written
std::filesystem::path keep_backup(const std::filesystem::path& file);

/// A .tar.gz of PARENT/NAME. The same files give the same bytes: sorted names, no dates, no owners,
/// ordinary permissions. @throws EnvironmentError with tar's reason
std::vector<std::uint8_t> packed(const std::filesystem::path& parent, const std::string& name);

}  // namespace convlab::grader
