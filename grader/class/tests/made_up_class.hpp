#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace convlab::grader::testing {

/// One entry of an archive that a test makes; `kind` is a type of libarchive, AE_IFREG and so on.
struct ArchiveEntry {
  std::string name;
  std::string text{};
  unsigned kind = 0100000;  // a file
  std::string link{};       // where a symbolic link leads
  std::string hard_link{};  // the file that a hard link names
};

/// Writes a .tar.gz or, by its name, a .zip with exactly these entries, whatever they are called.
void write_archive(const std::filesystem::path& file, const std::vector<ArchiveEntry>& entries);

/// A made-up class: `count` submissions of m1, right ones, wrong ones, ones that do not compile or
/// do not end, hostile and broken archives, empty ones, in all forms that a submission may have.
/// @return for each submission its student and what must become of it: "passed", the id of a
///   finding, or "refused"
std::vector<std::pair<std::string, std::string>> make_class(const std::filesystem::path& folder,
                                                            int count);

/// A class whose checks cost nothing: `folder`/grader stands for the grader that checks. It waits
/// up to 0.3 s, gives one of 50 results by the number in the source, with times, findings and
/// points, and notes "begin NUMBER" and "end NUMBER" in `folder`/checks.txt. The submissions of m1
/// lie in `folder`/submissions, four attempts by each student, on the days of a month.
void make_stub_class(const std::filesystem::path& folder, int count);

}  // namespace convlab::grader::testing
