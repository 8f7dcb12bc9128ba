// A whole term: three milestones, forty students, late work, an extension, a revoked submission, a
// grader that was mended. The gradebook is compared with points that were computed by hand; kPlayed
// says how.
#include <array>
#include <sstream>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "grader/class/tests/played_term.hpp"
#include "grader/report/check_report.hpp"

using namespace convlab;
using namespace convlab::grader;
using convlab::grader::testing::PlayedTerm;
using convlab::grader::testing::term_with;
using convlab::testing::contains;
namespace fs = std::filesystem;

namespace {

// "60 72 100" for m1, m2 and m3, "-" where nothing counts.
std::map<std::string, std::string> points_by_student(const PlayedTerm& term) {
  const auto points = term.gradebook();
  std::map<std::string, std::string> all;
  for (const auto& [whose, number] : points) {
    const std::string name = whose.substr(0, whose.find(' '));
    if (all.contains(name)) continue;
    for (const char* milestone : {" m1", " m2", " m3"}) {
      const auto found = points.find(name + milestone);
      all[name] += (all[name].empty() ? "" : " ") +
                   (found == points.end() ? "-" : points_text(found->second));
    }
  }
  return all;
}

/// What these students did, and the points of m1, m2 and m3 that this must give.
struct Played {
  const char* students;
  const char* m1;  // month, day and hour, UTC
  const char* m2;
  const char* m3;        // empty: never handed in
  const char* m1_again;  // with 40 points; empty: never
  const char* points;
  const char* after_again;      // where the last attempt counts
  const char* after_regrading;  // where the best one counts
};

// By hand. m1, m2 and m3 earn 60, 80 and 100 and are due at 0:00 on 1 February, 1 March and 1
// April. Begun days count; two of the term are free, each further one costs 10 %, and after seven
// days nothing is earned.
//   03-03T12  2.5 days after 1 March, so 3 days, one paid: 80 - 8 = 72. With a day used for m1 two
//             are paid: 80 - 16 = 64, with both used all three: 80 - 24 = 56. s100 may hand in
//             until 5 March: 80.
//   02-01T10  10 hours, so 1 day, which is free: 60.   02-03T00  2 days, both free: 60.
//   02-03T10  2 days and 10 hours, so 3 days, one paid: 60 - 6 = 54.
//   03-08T12, 04-08T12  7.5 days, so 8: nothing, and no free day is used.
//   04-02T10  1 day and 10 hours, so 2, both paid because m2 used the free ones: 100 - 20 = 80.
// m1 again earns 40, a day or two late, which are free: with the last attempt m1 is 40, and m2 has
// a free day less: 64 for 72, 56 for 64. Then the best attempt counts, and 60 becomes 70: a paid
// day costs 7 of it.
constexpr std::array kPlayed = std::to_array<Played>(
    {{"s100", "01-30T00", "03-03T12", "03-31T00", "02-02T00", "60 80 100", "40 80 100",
      "70 80 100"},
     {"s101", "01-30T00", "02-28T12", "03-31T00", "", "60 80 100", "60 80 100", "70 80 100"},
     {"s102", "01-30T00", "03-08T12", "03-31T00", "", "60 0 100", "60 0 100", "70 0 100"},
     {"s103 s107 s111 s123 s127 s131", "02-01T10", "03-03T12", "03-31T00", "", "60 64 100",
      "60 64 100", "70 64 100"},
     {"s104", "01-30T00", "03-03T12", "", "", "60 72 -", "60 72 -", "70 72 -"},
     {"s105 s110 s120 s125 s130", "01-30T00", "03-03T12", "03-31T00", "02-02T00", "60 72 100",
      "40 64 100", "70 72 100"},
     {"s106", "02-03T10", "03-03T12", "03-31T00", "", "54 56 100", "54 56 100", "63 56 100"},
     {"s108", "01-30T00", "03-03T12", "04-02T10", "", "60 72 80", "60 72 80", "70 72 80"},
     {"s109 s129", "01-30T00", "03-03T12", "04-08T12", "", "60 72 0", "60 72 0", "70 72 0"},
     {"s112", "02-03T00", "03-03T12", "03-31T00", "", "60 56 100", "60 56 100", "70 56 100"},
     {"s115 s135", "02-01T10", "03-03T12", "03-31T00", "02-03T00", "60 64 100", "40 56 100",
      "70 64 100"},
     {"s119 s139", "02-01T10", "03-03T12", "04-08T12", "", "60 64 0", "60 64 0", "70 64 0"},
     {"s113 s114 s116 s117 s118 s121 s122 s124 s126 s128 s132 s133 s134 s136 s137 s138", "01-30T00",
      "03-03T12", "03-31T00", "", "60 72 100", "60 72 100", "70 72 100"}});

// Calls see(name, played) for each student.
template <class See>
void for_each_student(const See& see) {
  for (const Played& each : kPlayed) {
    std::istringstream names(each.students);
    for (std::string name; names >> name;) see(name, each);
  }
}

}  // namespace

TEST_CASE("grader class: a term of three milestones and forty students, as computed by hand") {
  const PlayedTerm term;
  const auto hand_in = [&](const std::string& file, int points, const std::string& time) {
    if (!time.empty()) term.hand_in(file, points, "2027-" + time + ":00:00Z");
  };
  std::map<std::string, std::string> expected;
  std::map<std::string, std::string> with_last;
  std::map<std::string, std::string> regraded;
  for_each_student([&](const std::string& name, const Played& each) {
    hand_in(name + "-m1.cpp", 60, each.m1);
    hand_in(name + "-m2.cu", 80, each.m2);
    hand_in(name + "-m3.cu", 100, each.m3);
    expected[name] = each.points;
    with_last[name] = each.after_again;
    regraded[name] = each.after_regrading;
  });
  REQUIRE(expected.size() == 40);
  const fs::path leaderboard = term.submissions().parent_path() / "ranks.html";
  const FinishedProcess graded = term.grade({"--leaderboard", leaderboard.string()});
  INFO(graded.output);
  REQUIRE(graded.exit_code == 0);
  CHECK(contains(read_text(leaderboard), "Leaderboard"));
  CHECK_FALSE(contains(read_text(leaderboard), "s100"));
  write_atomically(term.term_file(), term_with(""));
  const FinishedProcess set = term.run({"term", term.term_file().string()});
  INFO(set.output);
  REQUIRE(set.exit_code == 0);
  CHECK(contains(set.output, R"("student": "s100", "milestone": "m2")"));
  CHECK(points_by_student(term) == expected);

  // One m3 was copied, it is found out.
  const fs::path evidence = term.term_file().parent_path() / "similar.json";
  write_atomically(evidence, "seen");
  REQUIRE(term.run({"revoke", "s105", "--milestone", "m3", "--reason", "Copied.", "--evidence",
                    evidence.string()})
              .exit_code == 0);
  fs::remove(evidence);
  auto without = expected;
  without["s105"] = "60 72 -";
  CHECK(points_by_student(term) == without);
  const std::string shown = term.run({"show", "s105"}).output;
  CHECK(contains(shown, "revoked: Copied."));
  CHECK(contains(shown, "Evidence:"));
  const fs::path kept = evidence.parent_path() / "class.db.evidence";
  REQUIRE(fs::exists(kept));
  CHECK(read_text(fs::directory_iterator(kept)->path()) == "seen");
  // The student reads the reason, and not the evidence.
  const fs::path told = term.submissions().parent_path() / "told";
  CHECK(contains(term.run({"feedback", "--output", told.string()}).output, "119 files"));
  const std::string letter = read_text(told / "m3" / "s105-m3.txt");
  CHECK(contains(letter, "Nothing counts so far."));
  CHECK(contains(letter, "Attempt 1 of 2027-03-31T00:00:00Z does not count: Copied."));
  CHECK_FALSE(contains(letter, "similar.json"));
  const fs::path pages = term.submissions().parent_path() / "pages";
  REQUIRE(
      term.run({"plot", "--milestone", "m3", "--names", "--output", pages.string()}).exit_code ==
      0);
  CHECK(contains(read_text(pages / "dashboard.html"), "<td>s103</td>"));
  CHECK_FALSE(contains(read_text(pages / "dashboard.html"), "<td>s105</td>"));
  CHECK(term.run({"revoke", "s105", "--milestone", "m3", "--undo"}).exit_code == 0);
  CHECK(points_by_student(term) == expected);

  for_each_student([&](const std::string& name, const Played& each) {
    hand_in(name + "-m1-2.cpp", 40, each.m1_again);
  });
  REQUIRE(term.grade().exit_code == 0);
  CHECK(points_by_student(term) == with_last);
  write_atomically(term.term_file(), term_with(R"(, "counts": "best")"));
  REQUIRE(term.run({"term", term.term_file().string()}).exit_code == 0);
  CHECK(points_by_student(term) == expected);

  // The grader is mended: 60 becomes 70, and every point that moved is listed. 80 would become 40.
  term.write_script("40", "70");
  CHECK(
      contains(term.grade({"--again", "--changed-rules"}).output, "127 of 127 are graded already"));
  const FinishedProcess again = term.grade({"--again"});
  CHECK(again.exit_code == 1);
  CHECK(contains(again.output, "s100 m1: 70 instead of 60 (cases of baseline: 70 instead of 60)."));
  CHECK(contains(again.output, "s100 m2: 40 instead of 80"));
  CHECK(contains(again.output, "Nothing was stored for these"));
  CHECK(points_by_student(term) == regraded);
  CHECK(contains(term.run({"show", "s100", "--milestone", "m1"}).output, ": 60 points, E-stride"));

  const FinishedProcess comment =
      term.run({"comment", "--milestone", "m1", "--finding", "E-stride", "Read page 4."});
  CHECK(contains(comment.output, "it goes to 48 submissions"));
  const fs::path feedback = term.submissions().parent_path() / "feedback";
  CHECK(contains(term.run({"feedback", "--output", feedback.string()}).output, "119 files"));
  const std::string read = read_text(feedback / "m1" / "s103-m1.txt");
  CHECK(contains(read, "70 of 100 points (70 before 1 late day, 1 of them free)"));
  CHECK(contains(read, "Comment on E-stride: Read page 4."));
  const std::string moodle = term.run({"export", "--format", "moodle"}).output;
  CHECK(contains(moodle, "70 of 100 points (70 before 1 late day, 1 of them free)"));
  CHECK(
      contains(moodle, "0 of 100 points (100 before 8 late days, after which nothing is earned)"));
  const fs::path results = term.submissions().parent_path() / "results";
  const std::string exported =
      term.run({"export", "--format", "results", "--milestone", "m3", "--output", results.string()})
          .output;
  CHECK(contains(exported, "39 files"));
  const auto file = fs::directory_iterator(results)->path();
  CHECK(file.filename().string().starts_with("S-"));
  CHECK(read_check_result(file).score);
}
