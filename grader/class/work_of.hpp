#pragma once

#include <string>
#include <vector>

#include "grader/class/submitted_files.hpp"

namespace convlab::grader {

/// The part of a submission that belongs to one milestone.
struct MilestoneWork {
  std::string milestone{};               ///< "m1"
  std::vector<SubmittedFile> files{};    ///< each is checked alone; of m4 one for each stage
  std::vector<SubmittedFile> headers{};  ///< the student's own, which each file may include
  /// All puzzles of the milestone, also unchanged ones; empty if none was changed.
  std::vector<SubmittedFile> puzzles{};
  /// What grader submit packed beside them; see student_notes.hpp. Empty if it did not.
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
