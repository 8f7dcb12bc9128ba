#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace convlab::grader {

/// A source file of a submission.
struct SubmittedFile {
  std::string path;  ///< inside the archive or folder, with '/'
  std::string text;

  friend bool operator==(const SubmittedFile&, const SubmittedFile&) = default;
};

/// Why a submission cannot be graded: one sentence about the submission, not about the machine.
class RefusedSubmission : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The largest submission that is read.
inline constexpr std::size_t kMostEntries = 20'000;
inline constexpr std::size_t kMostBytes = std::size_t{256} << 20;      // of all entries, unpacked
inline constexpr std::size_t kMostSourceBytes = std::size_t{2} << 20;  // of one source
inline constexpr std::size_t kMostNoteBytes = std::size_t{1} << 20;    // a longer one is left out
inline constexpr std::size_t kLongestPath = 1000;                      // with its folders

/// The sources (.cpp, .cc, .cu, .cuh, .h, .hpp) of a submission, and the two notes of an archive:
/// of an archive, of a folder such as a git working tree, or of a single source file; sorted by
/// path. Nothing is unpacked; links in a folder are not followed.
/// @throws RefusedSubmission for an archive that leaves its folder, contains links or devices, two
///   files with the same name, names with control characters, is too large, broken or empty; for a
///   folder or file without sources
/// @throws EnvironmentError if the machine is at fault: no permission, no memory
/// @param read  the reader of archives; null: one in a sandbox
using ArchiveReader = std::vector<SubmittedFile> (*)(const std::filesystem::path& archive);
std::vector<SubmittedFile> read_submitted_files(const std::filesystem::path& place,
                                                ArchiveReader read = nullptr);

/// Reads an archive in this process. @throws as read_submitted_files
std::vector<SubmittedFile> read_archive(const std::filesystem::path& file);

/// Runs as `grader class unpack` in the sandbox: sends the sources, or the sentence of a refusal,
/// over the channel (kServeDescriptor).
void answer_in_sandbox(const std::filesystem::path& file);

/// When it was last written; a folder is as late as the newest of its sources. None if it is gone.
std::optional<std::filesystem::file_time_type> last_change(const std::filesystem::path& place);

/// Whether the name ends as that of an archive, or of a source that is compiled: .cpp, .cc, .cu.
bool has_archive_name(const std::filesystem::path& file);
bool has_source_name(const std::filesystem::path& file);
/// A file's name without such an ending.
std::string without_ending(const std::string& name);

/// The part of a submission that belongs to one milestone.
struct MilestoneWork {
  std::string milestone{};               ///< "m1", or a task of an edition: "sp26-req-0"
  std::vector<SubmittedFile> files{};    ///< each is checked alone; of m4 one for each stage
  std::vector<SubmittedFile> headers{};  ///< the student's own, which each file may include
  /// All puzzles of the milestone, also unchanged ones; empty if none was changed.
  std::vector<SubmittedFile> puzzles{};
  std::string notebook{};  ///< what grader submit packed beside them
  std::string history{};
};

/// What whoever grades should know of a tree of the course.
struct TreeNotes {
  std::vector<std::string> not_judged{};  ///< files that are for none of its tasks
  std::vector<std::string> editions{};    ///< that fit it alike, if none was named; the last counts
};

/// The milestones of a submission, with the files that the student changed. If only puzzles were
/// changed, with the milestone's files as they were handed out. Where no handed-out file was
/// changed, the source that holds a convolution counts; of a file and its copies the one whose name
/// the others contain, of several trees the one nearest to the top.
/// @param files      of read_submitted_files
/// @param milestone  only this one; empty: those whose files differ from the hand-out, and for
///   files outside milestones/ the one in their names or in `place`
/// A tree of the course holds the tasks of an edition instead: `rules` names it, else the files
/// show it. Of a tree with one such file and no `rules`, the milestone is that of any other file.
/// @param rules       an edition, "course", "workbook" or empty
/// @throws RefusedSubmission if two files are as likely for one task, if nothing belongs to the
/// milestone or differs from the hand-out, if
///   it is not clear which of several files is meant, or if there are too many or too long ones
std::vector<MilestoneWork> work_of(const std::vector<SubmittedFile>& files,
                                   const std::string& milestone, const std::string& place = "",
                                   const std::string& rules = "", TreeNotes* notes = nullptr);

/// "m2" of "doejane-m2.cu" or "doejane_1_m2-submission.tar.gz"; empty if the name has none.
std::string milestone_in(const std::string& name);

/// The same work has the same digest, in any packing. SHA-256, hexadecimal.
std::string digest_of(const MilestoneWork& work);

}  // namespace convlab::grader
