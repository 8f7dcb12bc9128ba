#include <algorithm>

#include "common/base/error.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/base/tests/support/message_of.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
#include "grader/class/roster.hpp"
#include "grader/class/submitted_files.hpp"

using namespace convlab;
using namespace convlab::grader;
using convlab::testing::contains;
using convlab::testing::message_of;

namespace {

struct RosterFile {
  convlab::testing::TemporaryFolder folder;
  std::filesystem::path file = folder.path() / "roster.csv";
  explicit RosterFile(const std::string& text) { write_atomically(file, text); }
};

std::string complaint(const std::string& text) {
  const RosterFile roster(text);
  return message_of([&] { read_roster(roster.file); });
}

// Whose the first submission in this folder is, or why that is asked.
std::string owner_in(const std::filesystem::path& folder, const std::vector<Student>& roster) {
  std::string name;
  const std::string asked =
      message_of([&] { name = find_submissions(folder, roster).at(0).student.name; });
  return name + asked;
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

TEST_CASE("roster: an accent may be a sign of its own, as macOS writes it") {
  const std::string one = "M\u00fcller";
  const std::string two = "Mu\u0308ller";
  const convlab::testing::TemporaryFolder folder;
  for (const std::string& name : {one + "-m1.cpp", two + "-m2.cu", two + ".zip"}) {
    write_atomically(folder.path() / name, "int a;\n");
  }
  for (const FoundSubmission& each : find_submissions(folder.path(), {})) {
    CHECK(each.student.name == one);
  }
  const RosterFile roster("name,login,file\n" + two + ",jm,\nEve,eve," + one + ".zip\n");
  const auto students = read_roster(roster.file);
  CHECK(students.at(0).name == one);
  for (const FoundSubmission& each : find_submissions(folder.path(), students)) {
    const bool is_zip = each.place.extension() == ".zip";
    CHECK(each.student.name == (is_zip ? "Eve" : one));
  }
}

TEST_CASE("roster: what is wrong is told with its line") {
  CHECK(contains(complaint(""), "is empty"));
  CHECK(contains(complaint("a,b\n1,2\n"), "line 1: there is no column 'name'"));
  CHECK(contains(complaint("name,file\nJane\n"), "line 2: it has 1 fields, the first line 2"));
  CHECK(contains(complaint("name\n\"Jane\n"), "line 2: a quotation mark"));
  CHECK(contains(complaint("\xff\xfen"), "not UTF-8; save it as"));
  CHECK(contains(complaint("name\nJos\xe9\n"), "not UTF-8; save it as"));
  CHECK(contains(complaint("name\nJane\njane\n"), "two students with the name 'jane'"));
  CHECK(contains(complaint("name,number\nA,1\nB,1\n"), "two students with the number '1'"));
}

TEST_CASE("roster: semicolons, and lines that end as on an old Mac") {
  const RosterFile roster("name;file\rDoe, Jane;a.cpp\rRoe;b.cpp\r");
  const auto students = read_roster(roster.file);
  REQUIRE(students.size() == 2);
  CHECK(students[0].name == "Doe, Jane");
  CHECK(students[1].file == "b.cpp");
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
  CHECK(student_of("jdoe m3_submission-2.tar") == "jdoe");
  CHECK(student_of("doe_LATE_1.zip") == "doe_LATE_1");
  CHECK(student_of("_1_assignsubmission_x") == "_1_assignsubmission_x");
}

TEST_CASE("roster: a hostile name of a megabyte is a name") {
  for (const std::string part : {"m", "m1", "_", "_1", "_1_assignsubmission", ".tar", "(1"}) {
    std::string name = "x";
    while (name.size() < 1'000'000) name += part;
    CHECK_FALSE(student_of(name).empty());
    milestone_in(name);
  }
}

TEST_CASE("roster: only a platform sets the time of a submission") {
  for (const std::string file : {"doe-m1.cpp", "doe_7_assignsubmission_file_/m1.zip", "doe/m1.zip",
                                 "doe/_assignsubmission_.zip", "doe/milestones/m1/conv.cpp"}) {
    INFO(file);
    const convlab::testing::TemporaryFolder folder;
    write_atomically(folder.path() / file, "x");
    std::filesystem::last_write_time(
        folder.path() / file,
        std::filesystem::file_time_type::clock::now() - std::chrono::hours(100'000));
    const std::string received = find_submissions(folder.path(), {}).at(0).received;
    CHECK((received < "2020" || received > "2025"));
    CHECK((received < "2020") == !file.starts_with("doe/"));
  }
  // Nor does a student who names a folder as Moodle does, beside others or around an own one.
  for (const std::string file :
       {"doe_7_assignsubmission_file_/own/m1.cpp", "doe_7_assignsubmission_file_/m1.zip"}) {
    const convlab::testing::TemporaryFolder folder;
    write_atomically(folder.path() / file, "x");
    if (file.ends_with(".zip")) write_atomically(folder.path() / "roe-m1.cpp", "x");
    std::filesystem::last_write_time(
        folder.path() / file,
        std::filesystem::file_time_type::clock::now() - std::chrono::hours(100'000));
    for (const auto& found : find_submissions(folder.path(), {})) CHECK(found.received > "2025");
  }
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

TEST_CASE(
    "roster: a number comes before a name, only whole names count, and who is meant is asked") {
  const convlab::testing::TemporaryFolder folder;
  const std::vector<Student> roster = {
      {.name = "Doe", .number = "a12", .login = "d", .canvas = "42"},
      {.name = "Do, Ejane", .number = "a123"},
      {.name = "Doe, Jane", .canvas = "77"}};
  const auto owner = [&](const std::string& name) {
    const auto dir = folder.path() / std::to_string(std::hash<std::string>()(name));
    write_atomically(dir / name, "x");
    return owner_in(dir, roster);
  };
  CHECK(owner("doejane_77_1_m1.cpp") == "Doe, Jane");
  CHECK(owner("doejane_LATE_42_1_m1.cpp") == "Doe");
  CHECK(owner("a123_m1.cpp") == "Do, Ejane");
  CHECK(owner("A12-doe-final.cpp") == "Doe");
  CHECK(owner("doe_smith.cpp") == "doe_smith");
  CHECK(owner("d_smith.cpp") == "d_smith");
  CHECK(owner("doe-m1.cpp") == "Doe");
  const std::string asked = owner("doejane_m1.cpp");
  CHECK(contains(asked, "'Do, Ejane' or 'Doe, Jane'"));
  CHECK(contains(asked, "column 'file'"));
}

TEST_CASE("roster: a number of Canvas that contradicts the name is asked about") {
  const auto asked = [](const std::vector<std::string>& names, const std::vector<Student>& roster) {
    const convlab::testing::TemporaryFolder folder;
    for (const std::string& name : names) write_atomically(folder.path() / name, "x");
    return owner_in(folder.path(), roster);
  };
  const std::vector<Student> roster = {{.name = "Li, Ann", .canvas = "77"}, {.name = "Lind, Jo"}};
  CHECK(asked({"liann_77_1_m1.cpp"}, roster) == "Li, Ann");
  CHECK(contains(asked({"liann_78_1_m1.cpp"}, roster), "Its ID in Canvas is 78, and that of"));
  CHECK(asked({"lindjo_79_1_m1.cpp"}, roster) == "Lind, Jo");
  CHECK(contains(asked({"jane-doe-m1.cpp", "Jane Doe-m1.cpp"}, {}), "one student?"));
  CHECK(asked({"Jane Doe-m1.cpp", "Jane Doe-m1 (1).cpp"}, {}) == "Jane Doe");
  CHECK(asked({"joannlind_80_1_m1.cpp"}, roster) == "joannlind");
  // One name and two numbers, also where no roster says so.
  CHECK(contains(asked({"lindjo_79_1_m1.cpp", "lindjo_81_1_m1.cpp"}, roster),
                 "Two students are called 'Lind, Jo': their IDs in Canvas are 79 and 81"));
  CHECK(contains(asked({"doe_1_1_m1.cpp", "doe_2_1_m1.cpp"}, {}), "Two students are called 'doe'"));
  CHECK(asked({"doe_1_1_m1.cpp", "doe_1_2_m1.cpp"}, {}) == "doe");
  // What has no such number is graded all the same.
  const convlab::testing::TemporaryFolder folder;
  for (const char* name : {"lindjo_79_1_m1.cpp", "lindjo_81_1_m1.cpp", "Lind Jo-m1.cpp"})
    write_atomically(folder.path() / name, "x");
  std::vector<std::string> questions;
  const auto found = find_submissions(folder.path(), roster, &questions);
  CHECK(questions.size() == 1);
  REQUIRE(found.size() == 1);
  CHECK(found.front().place.filename() == "Lind Jo-m1.cpp");
}

TEST_CASE("roster: another one's number or login in front of a name credits nobody") {
  const convlab::testing::TemporaryFolder folder;
  const std::vector<Student> roster = {{.name = "Doe, Ann", .number = "1001", .login = "adoe"},
                                       {.name = "Roe, Bob", .number = "1002", .login = "broe"}};
  const std::vector<std::string> asked_about = {
      "1001-broe.cpp",      "1001 Bob Roe.cpp", "1001-1002-m1.cpp", "adoe-mallory.cpp",
      "1001mallory.tar.gz", "adoe_broe_m2.cu",  "1001_bob.cpp",     "1001-xyz.tar.gz",
      "1001-xyz",           "1002_final.cpp"};
  for (const std::string& name : asked_about) write_atomically(folder.path() / name, "x");
  for (const char* name : {"1001-m1.cpp", "1002_2.cpp", "adoe-m2.cu", "1002-roe-bob.zip",
                           "1001_ann_m1.cpp", "1001_ann-bob.cpp"})
    write_atomically(folder.path() / name, "x");
  std::vector<std::string> asked;
  const auto found = find_submissions(folder.path(), roster, &asked);
  CHECK(asked.size() == asked_about.size());
  // The others are found all the same.
  CHECK(found.size() == 6);
  for (const std::string& question : asked) CHECK(contains(question, "Who handed in"));
  CHECK_THROWS_AS(find_submissions(folder.path(), roster), UsageError);
}
