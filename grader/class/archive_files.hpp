#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "grader/class/submitted_files.hpp"

// An archive is untrusted, and the library that reads it is large. So a separate process reads it
// in the sandbox of a submission: no network, no file except the archive, limits of memory and
// time. It returns the sources, or one sentence.

namespace convlab::grader {

/// Reads an archive in this process. @throws as read_submitted_files
std::vector<SubmittedFile> read_archive(const std::filesystem::path& file);

/// Reads it in a sandbox, which runs this program as `grader class unpack`.
/// @throws as read_submitted_files; EnvironmentError if no process can be started
std::vector<SubmittedFile> read_archive_in_sandbox(const std::filesystem::path& file);

/// Runs as `grader class unpack` in the sandbox: sends the sources, or the sentence, over the
/// channel (kServeDescriptor).
void answer_in_sandbox(const std::filesystem::path& file);

/// Writes a zip of texts by their names. @throws EnvironmentError if it cannot be written
void write_zip(const std::filesystem::path& file, const std::map<std::string, std::string>& texts);

}  // namespace convlab::grader
