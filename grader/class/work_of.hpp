#pragma once

#include <string>
#include <vector>

#include "grader/class/submitted_files.hpp"

namespace convlab::grader {

/// The part of a submission that belongs to one milestone.
struct MilestoneWork {
  std::string milestone{};             ///< "m1"
  std::vector<SubmittedFile> files{};  ///< each is checked alone; of m4 one for each stage
  /// All puzzles of the milestone, also unchanged ones; empty if none was changed.
  std::vector<SubmittedFile> puzzles{};
};

/// The milestones of a submission, with the files that the student changed. If only puzzles were
/// changed, with the milestone's files as they were handed out.
/// @param files      of read_submitted_files
/// @param milestone  only this one; empty: those whose files differ from the hand-out, and for a
/// single file the one in its name
/// @throws RefusedSubmission if nothing in it belongs to the milestone, if everything is as handed
///   out, or if it is not clear which of several files is meant
std::vector<MilestoneWork> work_of(const std::vector<SubmittedFile>& files,
                                   const std::string& milestone);

/// "m2" of "doejane-m2.cu" or "doejane_1_m2-submission.tar.gz"; empty if the name has none.
std::string milestone_in(const std::string& name);

/// The same work has the same digest, in any packing. SHA-256, hexadecimal.
std::string digest_of(const MilestoneWork& work);

}  // namespace convlab::grader
