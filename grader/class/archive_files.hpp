#pragma once

#include <filesystem>
#include <vector>

#include "grader/class/submitted_files.hpp"

// An archive is what a stranger made, and the library that reads it is large. So it is read in a
// process of its own, in the box of a submission: no network, no file but the archive, limits of
// memory and time. What comes back are the sources, or one sentence.

namespace convlab::grader {

/// Reads an archive in this process. @throws as read_submitted_files
std::vector<SubmittedFile> read_archive(const std::filesystem::path& file);

/// Reads it in a box, which runs this program as `grader class unpack`.
/// @throws as read_submitted_files; EnvironmentError if no process can be started
std::vector<SubmittedFile> read_archive_in_box(const std::filesystem::path& file);

/// What `grader class unpack` does in the box: sends the sources, or the sentence, over the channel
/// (kServeDescriptor).
void answer_in_box(const std::filesystem::path& file);

}  // namespace convlab::grader
