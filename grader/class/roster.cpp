#include "grader/class/roster.hpp"

#include <sys/stat.h>
#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <map>
#include <set>
#include <sstream>

#include "common/base/error.hpp"
#include "common/base/printable.hpp"
#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "grader/class/submitted_files.hpp"
#include "grader/class/term.hpp"
#include "grader/report/table.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// File systems write é as one sign or as e and an accent; the same name is always the first here.
std::string composed(const std::string& text) {
  UErrorCode code = U_ZERO_ERROR;
  std::string result;
  icu::StringByteSink<std::string> sink(&result);
  icu::Normalizer2::getNFCInstance(code)->normalizeUTF8(0, text, sink, nullptr, code);
  return U_SUCCESS(code) ? result : text;
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

// "doe  jane"
std::string words_in(const std::string& text) {
  std::string result = lower(text);
  for (char& c : result)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && static_cast<unsigned char>(c) < 0x80)
      c = ' ';
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

bool is_folder(const fs::path& entry) {
  return fs::is_directory(fs::symlink_status(entry));
}

bool is_of_moodle(const fs::path& entry) {
  const std::string ending = "_assignsubmission_";
  const std::string name = entry.filename().string();
  return name.find(ending) != std::string::npos &&
         student_of(name).find(ending) == std::string::npos;
}

// Of a file when it was written: a platform, or whoever unpacks what a platform hands out, sets
// that. What a folder holds has the times that its student chose, archives too, so of that one
// counts when it came here; only what lies in Moodle's folders itself are files of the platform.
std::string received_text(const fs::path& place, const fs::path& entry, bool are_moodles) {
  std::error_code unreadable;
  const fs::directory_iterator files(entry, unreadable);
  if (is_folder(entry) && !(are_moodles && std::ranges::none_of(files, is_folder)))
    return arrival_of(place);
  const auto written = last_change(place);
  if (!written) return {};
  return utc_text(std::chrono::system_clock::to_time_t(std::chrono::file_clock::to_sys(*written)));
}

std::string first_word(const std::string& file_name) {
  return file_name.substr(0, file_name.find_first_of("_-. ("));
}

constexpr const char* kSayIt =
    "Write this name into the column 'file' of the roster, for that student.";

/// Finds the students whom a file's name may mean, by the surest rule that finds one: the name of
/// the file in the roster; a number, which nobody shares; the whole name, login or address. By
/// keys: a roster may be long.
class Owners {
 public:
  explicit Owners(const std::vector<Student>& roster) {
    for (const Student& each : roster) {
      add(0, each.file, each);
      add(1, each.canvas.empty() ? "" : kCanvas + each.canvas, each);
      const bool is_number = each.number.find_first_of("0123456789") != std::string::npos;
      add(1, is_number ? lower(each.number) : "", each);
      for (const std::string* name : {&each.name, &each.login, &each.email, &each.number}) {
        add(2, squeezed(*name), each);
      }
      std::istringstream words(words_in(each.name));
      for (std::string word; words >> word;)
        if (word.size() >= kTelling) parts_[word].insert(&each);
      for (const std::string* name : {&each.login, &each.number}) {
        identifiers_.emplace(squeezed(*name), &each);
      }
    }
  }

  [[nodiscard]] Student match(const std::string& file_name) const {
    const std::string id = canvas_id(file_name);
    const std::vector<std::vector<std::string>> keys = {
        {file_name},
        {kCanvas + id, lower(first_word(file_name))},
        {squeezed(student_of(file_name))}};
    std::set<const Student*> owners;
    for (std::size_t rule = 0; rule < keys.size() && owners.empty(); ++rule) {
      for (const std::string& key : keys[rule]) {
        const auto found = rules_[rule].find(key);
        if (found != rules_[rule].end()) owners.insert(found->second.begin(), found->second.end());
      }
    }
    const std::string who = "Who handed in " + printable_line(file_name);
    if (owners.empty()) {
      if (const Student* const other = beginning(squeezed(file_name))) {
        throw UsageError(who + "? It begins as '" + other->name + "' might. " + kSayIt);
      }
      return {.name = student_of(file_name)};
    }
    const Student& first = **owners.begin();
    if (owners.size() == 1 && first.file != file_name && !id.empty() && !first.canvas.empty() &&
        first.canvas != id && lower(first.number) != lower(first_word(file_name))) {
      throw UsageError(who + "? Its ID in Canvas is " + id + ", and that of '" + first.name +
                       "', whose name it has, is " + first.canvas + ". " + kSayIt);
    }
    if (owners.size() == 1 && goes_on(file_name, first)) {
      throw UsageError(who + "? Only its number is that of '" + first.name + "'. " + kSayIt);
    }
    if (owners.size() == 1) return first;
    std::string names;
    for (const Student* each : owners) names += (names.empty() ? "'" : " or '") + each->name + "'";
    throw UsageError(who + ", " + names + "? " + kSayIt);
  }

 private:
  void add(std::size_t rule, const std::string& key, const Student& student) {
    if (!key.empty()) rules_[rule][key].insert(&student);
  }

  // Whoever names a file may write another one's number in front, and somebody's name behind it.
  [[nodiscard]] bool goes_on(const std::string& file_name, const Student& student) const {
    const std::string first = first_word(file_name);
    if (student.file == file_name || !canvas_id(file_name).empty() ||
        lower(first) != lower(student.number))
      return false;
    const std::string behind = student_of(file_name).substr(first.size());
    const std::string rest = squeezed(behind);
    bool is_own = rest == digits_at(rest, 0);
    for (const auto& [key, owners] : rules_[2]) {
      if (key.size() < kTelling || rest.find(key) == std::string::npos) continue;
      if (!owners.contains(&student)) return true;
      is_own = true;
    }
    std::istringstream words(words_in(behind));
    for (std::string word; words >> word && !is_own;) {
      const auto found = parts_.find(word);
      is_own = found != parts_.end() && found->second.contains(&student);
    }
    return !is_own;
  }

  // Who has a login or a number with which this name begins.
  [[nodiscard]] const Student* beginning(const std::string& name) const {
    for (std::size_t length = name.size(); length >= kTelling; --length) {
      const auto found = identifiers_.find(name.substr(0, length));
      if (found != identifiers_.end()) return found->second;
    }
    return nullptr;
  }

  static constexpr const char* kCanvas = "Canvas ";
  static constexpr std::size_t kTelling = 3;  ///< letters
  std::array<std::map<std::string, std::set<const Student*>>, 3> rules_;
  std::map<std::string, std::set<const Student*>> parts_;  ///< words of names
  std::map<std::string, const Student*> identifiers_;      ///< numbers and logins, squeezed
};

/// Answers to be given before these submissions are graded.
class Questions {
 public:
  /// @param asked  gets them; null: the first one is thrown
  explicit Questions(std::vector<std::string>* asked) : asked_(asked) {}

  void add(const std::string& question) {
    if (asked_ == nullptr) throw UsageError(question);
    asked_->push_back(question);
  }

 private:
  std::vector<std::string>* asked_;
};

// The number of Canvas in a name, where the roster does not say whose it is.
std::string id_alone(const FoundSubmission& found) {
  const bool is_known = !found.student.canvas.empty() || !found.student.file.empty();
  return is_known ? "" : canvas_id(found.place.filename().string());
}

// Without a roster a name is all there is; two numbers of Canvas are two students all the same, and
// two ways to write a name may be one. Removes what is asked about: of two numbers what has one, so
// that nobody stops what came under a student's own name or number.
void require_one_student_each(std::vector<FoundSubmission>& found, Questions& questions) {
  std::set<std::string> asked;
  std::set<std::string> asked_ids;
  std::map<std::string, std::string> ids;
  std::map<std::string, std::string> names;
  for (const FoundSubmission& each : found) {
    const std::string& name = each.student.name;
    if (asked.contains(squeezed(name))) continue;
    if (const auto& first = names.emplace(squeezed(name), name).first->second; first != name) {
      asked.insert(squeezed(name));
      questions.add("Are '" + first + "' and '" + name + "' one student? Write the name alike, " +
                    "or give a roster that has both (--roster, docs/class.md).");
      continue;
    }
    const std::string id = id_alone(each);
    if (id.empty()) continue;
    const auto [known, is_new] = ids.emplace(squeezed(name), id);
    if (is_new || known->second == id || !asked_ids.insert(squeezed(name)).second) continue;
    questions.add("Two students are called '" + each.student.name + "': their IDs in Canvas are " +
                  known->second + " and " + id +
                  ". Give a roster that has these (--roster, docs/class.md).");
  }
  std::erase_if(found, [&](const FoundSubmission& each) {
    const std::string name = squeezed(each.student.name);
    return asked.contains(name) || (asked_ids.contains(name) && !id_alone(each).empty());
  });
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with('.')) entries.push_back(entry.path());
  }
  std::ranges::sort(entries);
  return entries;
}

// The parts of an entry that are separate submissions.
std::vector<fs::path> parts_of(const fs::path& entry) try {
  if (!fs::is_directory(fs::symlink_status(entry)) || fs::exists(entry / "milestones") ||
      fs::exists(entry / ".git")) {
    return {entry};
  }
  std::vector<fs::path> archives;
  for (const fs::path& part : entries_of(entry)) {
    if (has_archive_name(part)) archives.push_back(part);
  }
  return archives.empty() ? std::vector<fs::path>{entry} : archives;
} catch (const fs::filesystem_error&) {
  return {entry};  // whose reader says what is wrong with it
}

}  // namespace

std::string canvas_id(const std::string& file_name) {
  std::istringstream words(file_name);
  std::array<std::string, 5> part;  // NAME, LATE, ID, ID, FILE
  for (std::string& each : part) std::getline(words, each, '_');
  const std::size_t id = part[1] == "LATE" ? 2 : 1;
  const auto is_number = [&](std::size_t i) {
    return !part.at(i).empty() && digits_at(part.at(i), 0) == part.at(i);
  };
  const bool is_one = !part[0].empty() && is_number(id) && is_number(id + 1);
  return is_one && !part.at(id + 2).empty() ? part.at(id) : "";
}

std::string arrival_of(const fs::path& place) {
  struct stat status {};
  if (::lstat(place.c_str(), &status) != 0) return "";
  std::time_t latest = status.st_ctime;
  std::error_code unreadable;
  constexpr auto kSkip = fs::directory_options::skip_permission_denied;
  std::size_t entries = 0;
  for (fs::recursive_directory_iterator entry(place, kSkip, unreadable), end;
       !unreadable && entry != end && ++entries <= kMostEntries; entry.increment(unreadable)) {
    const bool is_source = has_source_name(entry->path()) || entry->path().extension() == ".cuh" ||
                           entry->path().extension() == ".hpp" || entry->path().extension() == ".h";
    if (is_source && ::lstat(entry->path().c_str(), &status) == 0)
      latest = std::max(latest, status.st_ctime);
  }
  return utc_text(latest);
}

std::vector<Student> read_roster(const fs::path& file) {
  if (file.empty()) return {};
  const std::string name = file.string();
  const std::string text = read_text(file);
  // A byte that is no UTF-8 becomes this sign, and two names one.
  const bool holds_sign = text.find("\xef\xbf\xbd") != std::string::npos;
  if (!holds_sign && icu::UnicodeString::fromUTF8(text).indexOf(char16_t{0xfffd}) >= 0) {
    throw UsageError("The roster " + name + " is not UTF-8; save it as \"CSV UTF-8\".");
  }
  const auto rows = parse_csv(composed(text), "The roster " + name);
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
  constexpr auto kNone = std::string::npos;
  const std::string name = without_ending(printable_line(file_name));
  if (!canvas_id(name).empty()) return name.substr(0, name.find('_'));
  // Moodle's NAME_ID_assignsubmission_FILE.
  if (const auto end = name.find("_assignsubmission_"); end != kNone && end > 0) {
    const auto id = name.find_last_not_of("0123456789", end - 1);
    if (id != kNone && id > 0 && id + 1 < end && name[id] == '_') return name.substr(0, id);
  }
  // From its end: the number of a copy, "submission", a milestone.
  const auto before = [&](std::size_t end) {
    return end == 0 ? kNone : name.find_last_not_of("-_ ()0123456789", end - 1);
  };
  auto last = before(name.size());
  const std::string word = "submission";
  if (last != kNone && name.substr(0, last + 1).ends_with(word)) {
    last = before(last + 1 - word.size());
  }
  const bool is_milestone = last != kNone && last > 0 && name[last] == 'm' &&
                            last + 1 < name.size() && is_digit(name[last + 1]);
  if (!is_milestone) return name;
  const bool separated = std::string("-_ .").find(name[last - 1]) != kNone;
  return last == 1 && separated ? name : name.substr(0, last - (separated ? 1 : 0));
}

std::vector<FoundSubmission> find_submissions(const fs::path& folder,
                                              const std::vector<Student>& roster,
                                              std::vector<std::string>* asked) {
  if (!fs::is_directory(folder)) {
    throw UsageError("There is no folder " + folder.string() + "; name the folder of submissions.");
  }
  std::vector<FoundSubmission> found;
  const Owners owners(roster);
  Questions questions(asked);
  const std::vector<fs::path> entries = entries_of(folder);
  // A single submission may have such a name by its student.
  const bool are_moodles = std::ranges::all_of(entries, [](const fs::path& entry) {
    return is_of_moodle(entry) ||
           (!is_folder(entry) && !has_archive_name(entry) && !has_source_name(entry));
  });
  for (const fs::path& entry : entries) {
    Student student;
    try {
      student = owners.match(composed(entry.filename().string()));
    } catch (const UsageError& question) {
      questions.add(question.what());
      continue;
    }
    for (const fs::path& part : parts_of(entry)) {
      found.push_back(
          {.place = part, .student = student, .received = received_text(part, entry, are_moodles)});
    }
  }
  if (found.empty() && (asked == nullptr || asked->empty())) {
    throw UsageError("The folder " + folder.string() + " is empty; put the submissions into it.");
  }
  require_one_student_each(found, questions);
  std::ranges::stable_sort(found,
                           [](const auto& a, const auto& b) { return a.received < b.received; });
  return found;
}

}  // namespace convlab::grader
