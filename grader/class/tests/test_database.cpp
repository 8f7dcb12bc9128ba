#include <limits>

#include "common/base/error.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/base/tests/support/message_of.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
#include "grader/class/database.hpp"
#include "grader/class/grade_class.hpp"
#include "grader/class/gradebook.hpp"
#include "grader/class/term.hpp"
#include "grader/judge/grade.hpp"

using namespace convlab;
using namespace convlab::grader;
using convlab::testing::contains;
using Access = ClassDatabase::Access;

namespace {

// Changes a file as another program would.
void raw(const std::filesystem::path& file, const std::string& sql) {
  SQLite::Database(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec(sql);
}

CheckResult graded(double earned) {
  CheckResult check;
  check.result = {.program = "grader check",
                  .milestone = "m1",
                  .solution = "x.cpp",
                  .created = "2026-11-22T00:00:00Z",
                  .verdict = earned >= 50.0 ? Verdict::kPassed : Verdict::kFailed};
  if (earned < 50.0) check.findings = {{.id = "E-stride", .title = "the stride is ignored"}};
  SpeedMeasure speed{.reference = "baseline", .speed = 2.0};
  speed.yours_ms = {{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}};
  speed.reference_ms = {{3.0}, {11.0}};
  check.score = Score{.items = {{.stage = "baseline",
                                 .item = "cases",
                                 .points = 40,
                                 .earned = earned - 10,
                                 .credit = Credit::kEarned},
                                {.stage = "baseline",
                                 .item = "speed",
                                 .batch = 100,
                                 .points = 10,
                                 .earned = 10,
                                 .credit = Credit::kEarned,
                                 .speed = speed}}};
  return check;
}

struct SmallClass {
  convlab::testing::TemporaryFolder folder;
  std::filesystem::path file = folder.path() / "class.db";

  std::int64_t add(ClassDatabase& database, const std::string& name, const std::string& digest,
                   const Outcome& outcome, const std::string& received = "2026-01-01") {
    const auto student = database.add_student({.name = name});
    const auto id = database.add_submission(student, "m1", digest,
                                            {.place = name + ".cpp", .received = received});
    database.set_outcome(id, outcome);
    return id;
  }

  std::string complaint(Access access) const {
    return convlab::testing::message_of([&] { const ClassDatabase database(file, access); });
  }
};

}  // namespace

TEST_CASE("class database: what goes in comes out, also after it was closed") {
  SmallClass small;
  std::string alias;
  {
    ClassDatabase database(small.file, Access::kGrade);
    small.add(database, "alice", "d1",
              {.state = SubmissionState::kGraded, .seconds = 2.0, .check = graded(50)});
    small.add(database, "bob", "d2", {.state = SubmissionState::kRefused, .sentence = "Empty."});
    database.add_student({.name = "bob", .email = "b@example.org"});
    alias = database.submissions("alice").at(0).alias;
  }
  const ClassDatabase database(small.file, Access::kRead);
  const auto rows = database.submissions();
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].student == "alice");
  CHECK(rows[0].passed);
  CHECK(rows[0].earned == 50.0);
  CHECK(rows[0].seconds == 2.0);
  CHECK(rows[0].alias == alias);
  CHECK(rows[1].state == SubmissionState::kRefused);
  CHECK(rows[1].sentence == "Empty.");
  CHECK(rows[1].total == 100.0);
  CHECK(database.students().at(1).email == "b@example.org");
  CHECK(to_json(database.result(rows[0].id).value()) == to_json(graded(50)));
  CHECK_FALSE(database.result(rows[1].id));
  CHECK(database.table("leaderboard").rows ==
        std::vector<std::vector<std::string>>{{"m1", "m1 baseline, batch 100", "alice", alias, "1",
                                               "7.00", "2.00", "1", "14.0", "0"}});
  CHECK(database.submissions(alias).size() == 1);
  CHECK(database.submissions("ALICE").size() == 1);
}

TEST_CASE("class database: a newer, a foreign, a damaged and a missing file are told apart") {
  SmallClass small;
  CHECK(contains(small.complaint(Access::kRead), "There is no database"));
  // A grader has just begun to make it; whoever only reads must not make it, too.
  write_atomically(small.file, "");
  CHECK(contains(small.complaint(Access::kRead), "There is no database"));
  CHECK(std::filesystem::file_size(small.file) == 0);
  { const ClassDatabase database(small.file, Access::kGrade); }
  raw(small.file, "PRAGMA user_version = 99");
  CHECK(contains(small.complaint(Access::kRead), "newer grader (version 99"));
  CHECK(contains(small.complaint(Access::kGrade), "newer grader"));
  raw(small.file, "PRAGMA application_id = 7");
  CHECK(contains(small.complaint(Access::kRead), "of another program"));
  write_atomically(small.file, std::string(100'000, 'x'));
  CHECK(contains(small.complaint(Access::kRead), "is damaged"));
}

TEST_CASE("class database: one writer, any reader") {
  SmallClass small;
  const ClassDatabase writer(small.file, Access::kGrade);
  CHECK(contains(small.complaint(Access::kGrade), "Another grader is grading into "));
  CHECK(small.complaint(Access::kRead).empty());
}

TEST_CASE("gradebook: Canvas, Moodle and the list") {
  SmallClass small;
  ClassDatabase database(small.file, Access::kGrade);
  small.add(database, "Doe, Jane", "d1", {.state = SubmissionState::kGraded, .check = graded(50)});
  small.add(database, "bob", "d2", {.state = SubmissionState::kRefused, .sentence = "Empty."});
  database.add_student({.name = "Doe, Jane", .number = "7", .login = "jd", .email = "j@d.org"});
  database.add_student({.name = "eve"});
  const auto attempts = settled(database.submissions(), Term{});
  CHECK(platform_csv(attempts, database, true) ==
        "Student,ID,SIS User ID,SIS Login ID,Section,m1\n"
        "    Points Possible,,,,,50\n"
        "\"Doe, Jane\",,7,jd,,50\n"
        "bob,,,,,0\n"
        "eve,,,,,\n");
  CHECK(platform_csv(attempts, database, false) ==
        "Full name,ID number,Email address,m1,m1 feedback\n"
        "\"Doe, Jane\",7,j@d.org,50,passed\n"
        "bob,,,0,Empty.\n"
        "eve,,,,\n");
  CHECK(contains(list_csv(attempts),
                 "bob,m1,1,2026-01-01,refused,0,100,100,0,0,0,yes,yes,yes,,no,,Empty.,bob.cpp\n"));
  // Nobody was graded.
  ClassDatabase other(small.folder.path() / "other.db", Access::kGrade);
  other.add_submission(other.add_student({.name = "mel"}), "m1", "d", {.place = "mel.cpp"});
  small.add(other, "eve", "d", {.state = SubmissionState::kRefused, .sentence = "Empty."});
  CHECK(contains(platform_csv(settled(other.submissions(), Term{}), other, true),
                 "    Points Possible,,,,,100\n"));
}

TEST_CASE("gradebook: what nobody measured is no zero, and what nobody could read no assignment") {
  SmallClass small;
  ClassDatabase database(small.file, Access::kGrade);
  CheckResult unmeasured = graded(50);
  for (ScoreItem& item : unmeasured.score->items) {
    item.earned = 0.0;
    item.credit = Credit::kNotMeasured;
  }
  small.add(database, "ann", "d1", {.state = SubmissionState::kGraded, .check = unmeasured});
  const auto unread =
      database.add_submission(database.add_student({.name = "bob"}), kUnknownMilestone, "d2", {});
  database.set_outcome(unread, {.state = SubmissionState::kRefused, .sentence = "Broken."});
  CHECK(platform_csv(settled(database.submissions(), Term{}), database, true) ==
        "Student,ID,SIS User ID,SIS Login ID,Section,m1\n"
        "    Points Possible,,,,,50\n"
        "ann,,,,,\n"
        "bob,,,,,\n");
}

TEST_CASE("class database: a time that is no number has no rank, and loses no outcome") {
  SmallClass small;
  ClassDatabase database(small.file, Access::kGrade);
  CheckResult unknown = graded(50);
  unknown.score->items[1].speed->yours_ms = {{std::numeric_limits<double>::quiet_NaN()}};
  small.add(database, "ann", "d1", {.state = SubmissionState::kGraded, .check = unknown});
  small.add(database, "bob", "d2", {.state = SubmissionState::kGraded, .check = graded(50)});
  CHECK(database.submissions("ann").at(0).earned == 50.0);
  const Table ranks = database.table("leaderboard");
  REQUIRE(ranks.rows.size() == 1);
  CHECK(ranks.rows[0][2] == "bob");
}

TEST_CASE("class task: checks of several files become one, times are waited for") {
  CheckResult first = graded(20);
  CheckResult second = graded(50);
  first.cases = {{.stage = "a"}};
  second.cases = {{.stage = "b"}};
  first.score = Score{.items = {{.stage = "a", .item = "cases", .points = 5, .earned = 5},
                                {.stage = "b", .item = "cases", .points = 5, .earned = 0}}};
  second.score = Score{.items = {{.stage = "a", .item = "cases", .points = 5, .earned = 0},
                                 {.stage = "b", .item = "cases", .points = 5, .earned = 3}}};
  const CheckResult merged = merge_checks({first, second});
  CHECK(merged.score->items[0].earned == 5.0);
  CHECK(merged.score->items[1].earned == 3.0);
  CHECK(merged.cases.size() == 2);
  CHECK(merged.findings.size() == 1);
  CHECK(merged.result.verdict == Verdict::kFailed);
  CHECK_FALSE(waits_for_times(merged));
  // A file without points takes none from the others.
  CheckResult none = graded(20);
  none.score.reset();
  CHECK(merge_checks({none, first, second}).score->total() == 10);
  second.score->items.push_back({.stage = "b", .item = "speed", .why = kSpeedLeftOut});
  CHECK(waits_for_times(second));
}

TEST_CASE("class task: all files of a submission have one deadline") {
  const convlab::testing::TemporaryFolder folder;
  const auto script = folder.path() / "grader";
  write_check_result(folder.path() / "passed.json", graded(20));
  write_atomically(
      script, "#!/bin/sh\nsleep 0.7\ncp '" + folder.path().string() + "/passed.json' \"$6\"\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const Task task(folder.path() / "1");
  task.write({.milestone = "m1", .files = {{"a.cpp", "x"}, {"b.cpp", "y"}, {"c.cpp", "z"}}},
             {.grader = script, .limit_s = 1.0}, Task::Phase::kCorrectness);
  task.run();
  CHECK(task.outcome()->state == SubmissionState::kStopped);
}

TEST_CASE("class database: an extension for a login is one for its student") {
  const convlab::testing::TemporaryFolder folder;
  ClassDatabase database(folder.path() / "class.db", ClassDatabase::Access::kGrade);
  CHECK(term_in_force(database).name.empty());
  database.add_student({.name = "Doe, Jane", .login = "doe"});
  database.run("INSERT INTO term VALUES (1, ?)", R"({"term": "SP27", "begins": "2027-01-18T00:00Z",
    "ends": "2027-05-14T00:00Z", "due": {"m1": "2027-02-01T00:00Z"},
    "extensions": [{"student": "doe", "milestone": "m1", "due": "2027-02-08T00:00Z"}]})");
  CHECK(term_in_force(database).extensions.count({"Doe, Jane", "m1"}) == 1);
}

TEST_CASE("class database: an earlier version that is handed in again is a new attempt") {
  SmallClass small;
  ClassDatabase database(small.file, Access::kGrade);
  std::int64_t student = database.add_student({.name = "doe"});
  const auto add = [&](const std::string& place, const char* digest, const std::string& time) {
    return database.add_submission(student, "m1", digest,
                                   {.place = place, .received = "2027-02-01T" + time + ":00Z"});
  };
  const auto a = add("x.cpp", "A", "10:00");
  CHECK(add("x.cpp", "A", "18:00") == a);  // touched, or downloaded once more
  const auto b = add("x.cpp", "B", "11:00");
  const auto again = add("x.cpp", "A", "12:00");
  CHECK(again != a);
  CHECK(add("x.cpp", "A", "12:00") == again);
  CHECK(database.submissions().back().attempt == 3);
  CHECK(add("x.cpp", "B", "12:00") != b);  // even within one second
  // Files that lie beside each other, as a second download has them.
  student = database.add_student({.name = "roe"});
  const std::vector<std::int64_t> first = {add("1/x-1.cpp", "A", "10:00"),
                                           add("1/x-2.cpp", "B", "11:00"),
                                           add("1/x-3.cpp", "A", "12:00")};
  CHECK(first[2] != first[0]);
  CHECK(add("2/x-1.cpp", "A", "10:00") == first[0]);
  CHECK(add("2/x-2.cpp", "B", "11:00") == first[1]);
  CHECK(add("2/x-3.cpp", "A", "12:00") == first[2]);
  CHECK(add("3/x.cpp", "A", "22:00") == first[2]);
}

TEST_CASE("class database: what could not be read and then could leaves no fault behind") {
  SmallClass small;
  ClassDatabase database(small.file, Access::kGrade);
  const auto student = database.add_student({.name = "doe"});
  const FoundSubmission found{.place = "x.zip", .received = "2027-02-01T10:00:00Z"};
  const auto fault = database.add_submission(student, "m1", "unread x.zip", found);
  database.set_outcome(fault, {.state = SubmissionState::kMachine, .sentence = "No memory."});
  CHECK(database.add_submission(student, "m1", "unread x.zip", found) == fault);
  const auto id = database.add_submission(student, "m1", "d", found);
  CHECK(database.add_submission(student, "m1", "d", found) == id);
  REQUIRE(database.submissions().size() == 1);
  CHECK(database.submissions().front().state == SubmissionState::kWaiting);
}

TEST_CASE("class database: one of an older grader keeps all that it holds") {
  SmallClass small;
  const std::string schema = read_text(CONVLAB_SOURCE_DIR "/grader/class/schema.sql");
  raw(small.file,
      schema.substr(0, schema.find("-- version 6")) +
          "INSERT INTO student (id, name, alias) VALUES (3, 'doe', 'S-AAAA');"
          "INSERT INTO submission (id, student, milestone, digest, place, received, earned, rules) "
          "VALUES (7, 3, 'm1', 'A', 'x.cpp', '2027-02-01T10:00:00Z', 40, 'r');"
          "INSERT INTO speed VALUES (7, 'baseline', 100, 2, 1, 0.5, 0.5, 'fp32');"
          "INSERT INTO revocation (submission, reason, evidence, revoked) VALUES (7, 'R', '', 't');"
          "PRAGMA application_id = 1129070914; PRAGMA user_version = 5");
  ClassDatabase database(small.file, Access::kGrade);
  const auto rows = database.submissions();
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].id == 7);
  CHECK(rows[0].earned == 40);
  CHECK(rows[0].rules == "r");
  CHECK(rows[0].revoked == "R");
  CHECK(database.run("UPDATE revocation SET restored = 't' RETURNING submission") == 7);
  CHECK(database.table("leaderboard").rows.at(0).back() == "0.500");
  // The new table is the one that the others refer to.
  CHECK_THROWS_AS(database.run("INSERT INTO revocation (submission, reason, evidence, revoked) "
                               "VALUES (99, 'R', '', '')"),
                  EnvironmentError);
  CHECK(database.add_submission(3, "m1", "B", {.place = "x.cpp", .received = "2027-02-02"}) == 8);
}
