#include <algorithm>

#include "common/error/error.hpp"
#include "common/file/whole_file.hpp"
#include "common/testing/catch.hpp"
#include "common/testing/contains.hpp"
#include "common/testing/message_of.hpp"
#include "common/testing/temporary_folder.hpp"
#include "grader/class/roster.hpp"

using namespace convlab;
using namespace convlab::grader;
using convlab::testing::contains;

namespace {

struct RosterFile {
  convlab::testing::TemporaryFolder folder;
  std::filesystem::path file = folder.path() / "roster.csv";
  explicit RosterFile(const std::string& text) { write_atomically(file, text); }
};

std::string complaint(const std::string& text) {
  const RosterFile roster(text);
  try {
    read_roster(roster.file);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "read";
}

}  // namespace

TEST_CASE("roster: the gradebooks of Canvas and Moodle, and a plain list") {
  const RosterFile canvas(
      "\xef\xbb\xbfStudent,ID,SIS User ID,SIS Login ID,Section,m1\r\n"
      "    Points Possible,,,,,100\r\n"
      "\"Doe, Jane\",42,700,jdoe,A,\r\n");
  const auto students = read_roster(canvas.file);
  REQUIRE(students.size() == 1);
  CHECK(students[0] ==
        Student{
            .name = "Doe, Jane", .number = "700", .login = "jdoe", .section = "A", .canvas = "42"});
  const RosterFile moodle(
      "First name,Last name,ID number,Email address\nJane,Doe,700,jd@example.org\n");
  CHECK(read_roster(moodle.file).at(0) ==
        Student{.name = "Jane Doe", .number = "700", .email = "jd@example.org"});
  const RosterFile plain("name,file\nJane,x.tar.gz\n\nJohn,y.tar.gz\n");
  CHECK(read_roster(plain.file).size() == 2);
}

TEST_CASE("roster: what is wrong is told with its line") {
  CHECK(contains(complaint(""), "is empty"));
  CHECK(contains(complaint("a,b\n1,2\n"), "line 1: there is no column 'name'"));
  CHECK(contains(complaint("name,file\nJane\n"), "line 2: it has 1 fields, the first line 2"));
  CHECK(contains(complaint("name\n\"Jane\n"), "line 2: a quotation mark"));
  CHECK(contains(complaint("\xff\xfen"), "UTF-16; save it as"));
  CHECK(contains(complaint("name\nJane\njane\n"), "two students with the name 'jane'"));
  CHECK(contains(complaint("name,number\nA,1\nB,1\n"), "two students with the number '1'"));
}

TEST_CASE("roster: names of files as learning platforms make them") {
  CHECK(student_of("doejane_LATE_123_456_m1-submission.tar.gz") == "doejane");
  CHECK(student_of("doejane_123_456_new-forward.cu") == "doejane");
  CHECK(student_of("Jane Doe_77_assignsubmission_file_") == "Jane Doe");
  CHECK(student_of("jdoe_m1-submission.tar.gz") == "jdoe");
  CHECK(student_of("jdoe-m2.zip") == "jdoe");
  CHECK(student_of("jdoe-m2 (1).zip") == "jdoe");
  CHECK(student_of("m1-submission.tar.gz") == "m1-submission");
  CHECK(student_of("alice.cpp") == "alice");
}

TEST_CASE("roster: submissions of a folder, with the students they belong to") {
  const convlab::testing::TemporaryFolder folder;
  const auto dir = folder.path();
  write_atomically(dir / "doejane_1_2_m1-submission.tar.gz", "x");
  write_atomically(dir / "jsmith-m1.cpp", "x");
  write_atomically(dir / "odd.bin", "x");
  write_atomically(dir / "Max Doe_7_assignsubmission_file_" / "m1-submission.zip", "x");
  write_atomically(dir / "tree" / "milestones" / "a.cpp", "x");
  write_atomically(dir / ".hidden", "x");
  const std::vector<Student> roster = {{.name = "Doe, Jane"},
                                       {.name = "John Smith", .login = "jsmith"},
                                       {.name = "Odd One", .file = "odd.bin"},
                                       {.name = "Max Doe"}};
  std::vector<std::string> names;
  for (const auto& found : find_submissions(dir, roster)) names.push_back(found.student.name);
  std::ranges::sort(names);
  CHECK(names == std::vector<std::string>{"Doe, Jane", "John Smith", "Max Doe", "Odd One", "tree"});
  std::filesystem::create_directories(dir / "empty");
  CHECK_THROWS_AS(find_submissions(dir / "empty", {}), UsageError);
  CHECK_THROWS_AS(find_submissions(dir / "none", {}), UsageError);
}
