#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace convlab::grader {

/// A source file of a submission, or the name of a compiled one, which is never read.
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
inline constexpr std::size_t kLongestPath = 1000;                      // with its folders

/// What grader submit packs beside the sources.
inline constexpr const char* kNotebookName = "notebook.json";
inline constexpr const char* kHistoryName = "history.jsonl";

/// The sources (.cpp, .cu, .cuh, .h, .hpp) of a submission, and the two notes of an archive: an
/// archive (tar, also compressed, or zip), a folder such as a git working tree, or a single source
/// file. The texts are read into memory, sorted by path; nothing is unpacked. Archives are read in
/// a separate sandbox. Links in a folder are not followed.
/// @throws RefusedSubmission for an archive that leaves its folder (`..`, absolute names), contains
///   links or devices, two files with the same name, names with control characters, too many
///   entries or too many bytes, too long a path, or that is broken or empty; for a folder or file
///   without sources
/// @throws EnvironmentError if the machine is at fault: no permission, no memory
/// @param read  another reader of archives, for tests
using ArchiveReader = std::vector<SubmittedFile> (*)(const std::filesystem::path& archive);
std::vector<SubmittedFile> read_submitted_files(const std::filesystem::path& place,
                                                ArchiveReader read = nullptr);

/// When it was last written: an archive or a file itself; a folder is as late as the newest of its
/// sources, however old the others are. None if it is gone.
std::optional<std::filesystem::file_time_type> last_change(const std::filesystem::path& place);

/// Whether the name ends as an archive's: .tar, .tar.gz, .tgz, .tar.xz, .tar.bz2, .tar.zst, .zip,
/// .7z, .rar.
bool has_archive_name(const std::filesystem::path& file);
/// A file's name without the ending of an archive or of a source.
std::string without_ending(const std::string& name);

/// Whether it is a source that a submission may be: .cpp or .cu.
bool has_source_name(const std::filesystem::path& file);

// For the readers of archives and folders.

/// Counts the files and bytes of one submission, so that an archive made to fill a disk is not read
/// to its end.
/// @throws RefusedSubmission at a limit of submitted_files.hpp
class Allowance {
 public:
  void entry();
  void bytes(std::size_t count);

 private:
  std::size_t entries_ = 0;
  std::size_t bytes_ = 0;
};

/// @throws RefusedSubmission if a source is longer than kMostSourceBytes
void require_short(const std::string& path, std::size_t size);

/// @throws RefusedSubmission if a path in it is longer than kLongestPath
void require_short_name(const std::string& path);

/// Whether it is a source that counts in a submission: .cpp, .cu, .cuh, .h, .hpp.
bool is_source(const std::filesystem::path& file);

/// Whether grader submit put it beside the sources: what the student noted, and the checks so far.
/// No point depends on them, so they are left out where they are longer than kMostNoteBytes.
bool is_note(const std::filesystem::path& file);
inline constexpr std::size_t kMostNoteBytes = std::size_t{1} << 20;

/// Whether a path, from the submission's folder on, is no work of the student's: what begins with a
/// dot, the folder that macOS adds to archives, and build folders.
bool is_left_out(const std::filesystem::path& path);

/// The name between quotes, printable and not too long.
std::string quoted_name(const std::string& name);

// An archive is untrusted, and the library that reads it is large. So a separate process reads it
// in the sandbox of a submission: no network, no file except the archive, limits of memory and
// time. It returns the sources, or one sentence.

/// Reads an archive in this process. @throws as read_submitted_files
std::vector<SubmittedFile> read_archive(const std::filesystem::path& file);

/// Reads it in a sandbox, which runs this program as `grader class unpack`.
/// @throws as read_submitted_files; EnvironmentError if no process can be started
std::vector<SubmittedFile> read_archive_in_sandbox(const std::filesystem::path& file);

/// Runs as `grader class unpack` in the sandbox: sends the sources, or the sentence, over the
/// channel (kServeDescriptor).
void answer_in_sandbox(const std::filesystem::path& file);

/// The part of a submission that belongs to one milestone.
struct MilestoneWork {
  std::string milestone{};               ///< "m1"
  std::vector<SubmittedFile> files{};    ///< each is checked alone; of m4 one for each stage
  std::vector<SubmittedFile> headers{};  ///< the student's own, which each file may include
  /// All puzzles of the milestone, also unchanged ones; empty if none was changed.
  std::vector<SubmittedFile> puzzles{};
  /// What grader submit packed beside them; see StudentNotes of database.hpp. Empty if it did not.
  std::string notebook{};
  std::string history{};
};

/// The milestones of a submission, with the files that the student changed. If only puzzles were
/// changed, with the milestone's files as they were handed out. Of sources that were not handed out
/// (tests, backups) only those count that hold a convolution where no handed-out file does; of a
/// file and its copies the one whose name the others contain. Of several trees the one with the
/// shortest way counts.
/// @param files      of read_submitted_files
/// @param milestone  only this one; empty: those whose files differ from the hand-out, and for
/// files
///   outside milestones/ the one in their names or in `place`
/// @throws RefusedSubmission if nothing in it belongs to the milestone, if everything is as handed
///   out, if it is not clear which of several files or trees is meant, or if there are more files
///   or bytes than one submission may have (build_submission.hpp)
std::vector<MilestoneWork> work_of(const std::vector<SubmittedFile>& files,
                                   const std::string& milestone, const std::string& place = "");

/// "m2" of "doejane-m2.cu" or "doejane_1_m2-submission.tar.gz"; empty if the name has none.
std::string milestone_in(const std::string& name);

/// The same work has the same digest, in any packing. SHA-256, hexadecimal.
std::string digest_of(const MilestoneWork& work);

}  // namespace convlab::grader
