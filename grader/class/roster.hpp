#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace convlab::grader {

/// A student as a roster names them; fields that it lacks are empty.
struct Student {
  std::string name{};
  std::string number{};   ///< the school's: "SIS User ID", "ID number"
  std::string login{};    ///< "SIS Login ID", "Username"
  std::string email{};    ///< "Email address"
  std::string section{};  ///< "Section"
  std::string canvas{};   ///< Canvas's own "ID"
  std::string file{};     ///< the name of this student's submission

  friend bool operator==(const Student&, const Student&) = default;
};

/// Reads a roster: a CSV file (RFC 4180) whose first line names the columns, as a gradebook of
/// Canvas or Moodle has them, or simply `name,file`. None for an empty name of a file.
/// @throws UsageError that names file and line: no column with a name, a row of another length, a
///   quote that does not end, two students of one name, number or file
std::vector<Student> read_roster(const std::filesystem::path& file);

/// A submission before it is read.
struct FoundSubmission {
  std::filesystem::path place{};  ///< an archive, a source, or a folder
  Student student{};
  std::string received{};  ///< UTC, when it was written; of a folder when it came here
};

/// The submissions in a folder, oldest first. One entry is one submission; in a folder with
/// archives, as Moodle makes them, each archive is one. docs/class.md says whose it is; if nobody
/// fits, its name is the student's.
/// @throws UsageError if `folder` is not a folder, or is empty; if two students fit a name; if a
///   number of Canvas contradicts the name, or two numbers share one; if a name begins with the
///   number or login of one student and goes on as that of somebody else
/// @param asked  gets these questions in place of an error, and the others are found
std::vector<FoundSubmission> find_submissions(const std::filesystem::path& folder,
                                              const std::vector<Student>& roster,
                                              std::vector<std::string>* asked = nullptr);

/// When it came to this disk, UTC, with the sources that it holds: unlike the time of its last
/// change, nobody sets it.
std::string arrival_of(const std::filesystem::path& place);

/// Canvas names a file that it gives out NAME[_LATE]_ID_ID_FILE, with the student's own ID first.
/// @return that ID; empty for other names
std::string canvas_id(const std::string& file_name);

/// The student in a file's name, without endings and the additions of Canvas, Moodle and `grader
/// submit`: "doejane" of "doejane_LATE_123_456_m1-submission (1).tar.gz".
std::string student_of(const std::string& file_name);

}  // namespace convlab::grader
