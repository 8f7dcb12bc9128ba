#include "grader/class/roster.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <ctime>
#include <map>
#include <regex>
#include <set>

#include "common/error/error.hpp"
#include "common/file/whole_file.hpp"
#include "common/text/printable.hpp"
#include "grader/class/submitted_files.hpp"
#include "grader/report/table.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// "Doe, Jane" is "doejane" in the names of files.
std::string squeezed(const std::string& text) {
  std::string result;
  for (const char c : lower(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || byte >= 0x80) result += c;
  }
  return result;
}

/// Which field of a student a column fills; null for one that does not matter.
std::string Student::*field_of(const std::string& heading) {
  static const std::map<std::string, std::string Student::*> fields = {
      {"name", &Student::name},          {"student", &Student::name},
      {"fullname", &Student::name},      {"sisuserid", &Student::number},
      {"idnumber", &Student::number},    {"number", &Student::number},
      {"sid", &Student::number},         {"studentid", &Student::number},
      {"sisloginid", &Student::login},   {"login", &Student::login},
      {"username", &Student::login},     {"email", &Student::email},
      {"emailaddress", &Student::email}, {"section", &Student::section},
      {"id", &Student::canvas},          {"file", &Student::file},
      {"submission", &Student::file}};
  const auto found = fields.find(squeezed(heading));
  return found == fields.end() ? nullptr : found->second;
}

[[noreturn]] void refuse(const std::string& name, std::size_t line, const std::string& what) {
  throw UsageError("The roster " + name + ", line " + std::to_string(line) + ": " + what);
}

void require_different(const std::vector<Student>& students, const std::string& name) {
  const auto check = [&](std::string Student::*field, const char* what) {
    std::set<std::string> seen;
    for (const Student& student : students) {
      const std::string& value = student.*field;
      if (value.empty() || seen.insert(lower(value)).second) continue;
      throw UsageError("The roster " + name + " has two students with the " + what + " '" + value +
                       "'; correct one of them.");
    }
  };
  check(&Student::name, "name");
  check(&Student::number, "number");
  check(&Student::login, "login");
  check(&Student::file, "file");
}

std::string utc_text(const fs::path& place) {
  std::error_code gone;
  const auto written = fs::last_write_time(place, gone);
  if (gone) return {};
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::file_clock::to_sys(written));
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

Student match(const std::string& file_name, const std::vector<Student>& roster) {
  const std::string plain = student_of(file_name);
  const Student* best = nullptr;
  std::size_t length = 0;
  for (const Student& student : roster) {
    if (!student.file.empty() && student.file == file_name) return student;
    for (const std::string& key : {student.name, student.login, student.number, student.email}) {
      const std::string wanted = squeezed(key);
      if (wanted.empty() || wanted.size() <= length) continue;
      // A number such as 12 must not fit 123.
      if (squeezed(plain) == wanted || lower(file_name).starts_with(lower(key) + "_") ||
          lower(file_name).starts_with(lower(key) + "-")) {
        best = &student;
        length = wanted.size();
      }
    }
  }
  return best != nullptr ? *best : Student{.name = plain};
}

bool is_hidden(const fs::path& place) {
  return place.filename().string().starts_with('.');
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!is_hidden(entry.path())) entries.push_back(entry.path());
  }
  std::ranges::sort(entries);
  return entries;
}

// The parts of an entry that are separate submissions.
std::vector<fs::path> parts_of(const fs::path& entry) {
  if (!fs::is_directory(fs::symlink_status(entry)) || fs::exists(entry / "milestones") ||
      fs::exists(entry / ".git")) {
    return {entry};
  }
  std::vector<fs::path> archives;
  for (const fs::path& part : entries_of(entry)) {
    if (has_archive_name(part)) archives.push_back(part);
  }
  return archives.empty() ? std::vector<fs::path>{entry} : archives;
}

}  // namespace

std::vector<Student> read_roster(const fs::path& file) {
  const std::string name = file.string();
  const std::string text = read_text(file);
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
    throw UsageError("The roster " + name + " is UTF-16; save it as \"CSV UTF-8\".");
  }
  const auto rows = parse_csv(text, "The roster " + name);
  if (rows.empty()) throw UsageError("The roster " + name + " is empty.");
  std::vector<std::string Student::*> columns;
  std::size_t first = rows[0].size();
  std::size_t last = rows[0].size();
  for (std::size_t i = 0; i < rows[0].size(); ++i) {
    columns.push_back(field_of(rows[0][i]));
    if (squeezed(rows[0][i]) == "firstname") first = i;
    if (squeezed(rows[0][i]) == "lastname" || squeezed(rows[0][i]) == "surname") last = i;
  }
  const bool has_name = std::ranges::find(columns, &Student::name) != columns.end();
  if (!has_name && (first == rows[0].size() || last == rows[0].size())) {
    refuse(name, 1,
           "there is no column 'name', 'Student' or 'Full name', and not 'First name' with "
           "'Last name'.");
  }
  std::vector<Student> students;
  for (std::size_t row = 1; row < rows.size(); ++row) {
    if (rows[row].size() != rows[0].size()) {
      refuse(name, row + 1,
             "it has " + std::to_string(rows[row].size()) + " fields, the first line " +
                 std::to_string(rows[0].size()) + ".");
    }
    Student student;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] != nullptr) student.*columns[i] = printable_line(rows[row][i]);
    }
    if (!has_name) {
      student.name = printable_line(rows[row][first]) + " " + printable_line(rows[row][last]);
    }
    // Canvas adds a second line with the points of each assignment, and a test student.
    const bool is_points = squeezed(student.name) == "pointspossible";
    if (!student.name.empty() && !is_points) students.push_back(std::move(student));
  }
  require_different(students, name);
  return students;
}

std::string student_of(const std::string& file_name) {
  std::string name = printable_line(file_name);
  static const std::regex kEnding(R"(\.(tar|tar\.gz|tgz|tar\.xz|tar\.bz2|tar\.zst|zip|cpp|cu)$)");
  static const std::regex kCanvas(R"(^([^_]+?)(_LATE)?_\d+_\d+_.*$)");
  static const std::regex kMoodle(R"(^(.+?)_\d+_assignsubmission_.*$)");
  static const std::regex kMilestone(R"([-_ .]?m\d+([-_ ]?submission)?([-_ ]?(\d+|\(\d+\)))?$)");
  name = std::regex_replace(name, kEnding, "");
  std::smatch parts;
  if (std::regex_match(name, parts, kMoodle) || std::regex_match(name, parts, kCanvas)) {
    return parts[1];
  }
  const std::string shorter = std::regex_replace(name, kMilestone, "");
  return shorter.empty() ? name : shorter;
}

std::vector<FoundSubmission> find_submissions(const fs::path& folder,
                                              const std::vector<Student>& roster) {
  if (!fs::is_directory(folder)) {
    throw UsageError("There is no folder " + folder.string() + "; name the folder of submissions.");
  }
  std::vector<FoundSubmission> found;
  for (const fs::path& entry : entries_of(folder)) {
    const Student student = match(entry.filename().string(), roster);
    for (const fs::path& part : parts_of(entry)) {
      found.push_back({.place = part, .student = student, .received = utc_text(part)});
    }
  }
  if (found.empty()) {
    throw UsageError("The folder " + folder.string() + " is empty; put the submissions into it.");
  }
  std::ranges::stable_sort(found,
                           [](const auto& a, const auto& b) { return a.received < b.received; });
  return found;
}

}  // namespace convlab::grader
