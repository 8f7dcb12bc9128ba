#include "common/base/error.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/base/tests/support/message_of.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "grader/class/gradebook.hpp"
#include "grader/class/term.hpp"

using namespace convlab;
using namespace convlab::grader;
using convlab::testing::contains;
using convlab::testing::message_of;

namespace {

const std::vector<Student> kClass = {{.name = "Doe, Jane", .login = "doe"}, {.name = "Roe, Rob"}};

std::string term_text(const std::string& more = "", const std::string& due = "2027-02-01T23:59Z") {
  return R"({"term": "SP27", "begins": "2027-01-18T00:00Z", "ends": "2027-05-14T00:00Z", )" +
         std::string(R"("due": {"m1": ")") + due + R"(", "m2": "2027-03-01T00:00Z"})" + more + "}";
}

Term term_with(const std::string& more) {
  return parse_term(term_text(more), "term.json", kClass);
}

std::string complaint(const std::string& text) {
  return message_of([&] { parse_term(text, "term.json", kClass); });
}

SubmissionRow attempt(const std::string& milestone, const std::string& received, double earned,
                      int number = 1) {
  return {.id = number,
          .student = "Doe, Jane",
          .milestone = milestone,
          .attempt = number,
          .received = received,
          .state = SubmissionState::kGraded,
          .earned = earned,
          .total = 100};
}

}  // namespace

TEST_CASE("term: times are read with their zone, to the second, and only if they exist") {
  CHECK(time_of("1970-01-02T00:00Z") == 86'400);
  CHECK(utc_text(*time_of("2027-02-01T23:59-06:00")) == "2027-02-02T05:59:00Z");
  CHECK(utc_text(*time_of("2028-02-29T12:00:07+05:30")) == "2028-02-29T06:30:07Z");
  for (const char* wrong :
       {"2027-02-29T12:00Z", "2027-02-01", "2027-02-01T23:59", "2027-02-01T24:00Z", "tomorrow",
        "2027-13-01T00:00Z", "2027-02-01T10:60Z", "2027-02-01T10:00Z and more", ""}) {
    CAPTURE(wrong);
    CHECK_FALSE(time_of(wrong));
  }
}

TEST_CASE("term: a wrong file is one sentence that names what is wrong") {
  CHECK(contains(complaint(term_text("", "2027-02-30T00:00Z")), "\"2027-02-30T00:00Z\""));
  CHECK(contains(complaint(term_text("", "2026-02-01T00:00Z")), "lies outside the term SP27"));
  CHECK(contains(complaint(term_text(R"(, "late_day": 3)")), "nothing is called \"late_day\""));
  CHECK(contains(complaint(term_text(R"(, "late_days": 2.5)")), "whole number from 0"));
  CHECK(contains(complaint(term_text(R"(, "late_days": -1)")), "whole number from 0"));
  CHECK(contains(complaint(term_text(R"(, "penalty_percent_per_day": 101)")), "from 0 to 100"));
  CHECK(contains(complaint(term_text(R"(, "counts": "first")")), "\"last\" or \"best\""));
  CHECK(contains(complaint("{}"), "term.json"));
  CHECK(contains(complaint("[1]"), "fields with names are missing"));
  CHECK(contains(complaint(term_text(R"(, "late_days": "two")")), "\"late_days\" must be a whole"));
  CHECK(contains(complaint(term_text(R"(, "extensions": 3)")), "\"extensions\" must be a list"));
  CHECK(contains(complaint("not JSON"), "cannot be read (parse error at line 1"));
  const std::string extension =
      R"(, "extensions": [{"student": "Nobody", "milestone": "m1", "due": "2027-02-03T00:00Z"}])";
  CHECK(contains(complaint(term_text(extension)), "\"Nobody\", who is not in the class"));
  const std::string early =
      R"(, "extensions": [{"student": "doe", "milestone": "m1", "due": "2027-01-20T00:00Z"}])";
  CHECK(contains(complaint(term_text(early)), "of Doe, Jane ends before m1 is due"));
  const std::string twice = R"(, "extensions": [
      {"student": "doe", "milestone": "m1", "due": "2027-02-03T00:00Z"},
      {"student": "Doe, Jane", "milestone": "m1", "due": "2027-02-05T00:00Z"}])";
  CHECK(contains(complaint(term_text(twice)), "two extensions of Doe, Jane for m1"));
  const std::string unknown =
      R"(, "extensions": [{"student": "doe", "milestone": "m7", "due": "2027-02-03T00:00Z"}])";
  CHECK(contains(complaint(term_text(unknown)), "\"m7\", which has no due date"));
}

TEST_CASE("term: late days are whole days, used up in the order of the due dates") {
  const Term term = term_with(R"(, "late_days": 2, "penalty_percent_per_day": 10)");
  const auto attempts = settled(
      {attempt("m2", "2027-03-03T00:00:01Z", 50), attempt("m1", "2027-02-02T00:00:00Z", 80)}, term);
  CHECK(attempts.at(1).late == 1);  // a minute late is a day
  CHECK(attempts.at(1).points == 80.0);
  CHECK(attempts.at(0).late == 3);
  CHECK(attempts.at(0).free == 1);  // m1 came first and took the other
  CHECK(attempts.at(0).points == Approx(40.0));
  CHECK(settled({attempt("m1", "2027-02-01T23:59:00Z", 80)}, term).front().late == 0);
}

TEST_CASE("term: what is not earned uses no late day") {
  const Term term =
      term_with(R"(, "late_days": 2, "penalty_percent_per_day": 10, "closes_after_days": 7)");
  const auto attempts = settled({attempt("m1", "2027-02-20T00:00:00Z", 80),  // closed
                                 attempt("m2", "2027-03-03T00:00:00Z", 80)},
                                term);
  CHECK(attempts.at(0).points == 0.0);
  CHECK(attempts.at(0).free == 0);
  CHECK(attempts.at(1).free == 2);
  CHECK(settled_points(attempts.at(1)) ==
        "80 of 100 points (80 before 2 late days, 2 of them free)");
  CHECK(settled_points(attempts.at(0)) ==
        "0 of 100 points (80 before 19 late days, after which nothing is earned)");
  const auto nothing = settled({attempt("m1", "2027-02-04T00:00:00Z", 0)}, term);
  CHECK(settled_points(nothing.at(0)) == "0 of 100 points");
}

TEST_CASE("database: revocations, comments and replaced outcomes survive, and can be undone") {
  const convlab::testing::TemporaryFolder folder;
  ClassDatabase database(folder.path() / "class.db", ClassDatabase::Access::kGrade);
  CheckResult check;
  check.result.milestone = "m2";
  check.result.verdict = Verdict::kFailed;
  check.findings = {{.id = "E-outside", .title = "outside", .seen = "conv_forward.cu:41 reads 4"}};
  check.score =
      Score{.items = {{.stage = "baseline", .item = "cases", .points = 40, .earned = 20}}};
  const auto add = [&](const std::string& name, const std::string& received) {
    const auto id = database.add_submission(database.add_student({.name = name}), "m2",
                                            name + received, {.place = name, .received = received});
    database.set_outcome(id, {.state = SubmissionState::kGraded, .check = check}, "rules 1");
    return id;
  };
  const auto alice = add("alice", "2027-02-01T10:00:00Z");
  const auto again = add("alice", "2027-02-01T10:30:00Z");

  check.score->items.front().earned = 40;
  database.set_outcome(alice, {.state = SubmissionState::kGraded, .check = check}, "rules 2");
  const auto history_of = [&](std::int64_t id) {
    return database.texts("SELECT words FROM history WHERE submission = ? ORDER BY time", id);
  };
  const auto earlier = history_of(alice);
  REQUIRE(earlier.size() == 1);
  CHECK(contains(earlier.front(), "until 20"));
  CHECK(contains(earlier.front(), ": 20 points, E-outside"));
  CHECK(history_of(again).empty());
  CHECK(database.submission(alice)->rules == "rules 2");

  const auto revoke = [&](const char* reason) {
    database.run(
        "INSERT INTO revocation (submission, reason, evidence, revoked) VALUES (?, ?, ?, ?)", alice,
        reason, "similar.txt", "2027-02-02T00:00:00Z");
  };
  revoke("Same file as another.");
  CHECK(database.submission(alice)->revoked == "Same file as another.");
  CHECK_THROWS_AS(revoke("Twice."), EnvironmentError);
  database.run("UPDATE revocation SET restored = '2027-02-03T00:00:00Z'");
  CHECK(database.submission(alice)->revoked.empty());
  CHECK(history_of(alice).size() == 2);
  CHECK(contains(history_of(alice).back() + history_of(alice).front(),
                 ": Same file as another. Evidence: similar.txt. Counts again"));

  database.run(
      "INSERT INTO comment (milestone, finding, place, submission, text, for_staff, written) "
      "VALUES "
      "('m2', 'E-outside', 'conv_forward.cu:41', 0, 'Compare the guard.', 0, ''),"
      "('m2', 'E-outside', 'conv_forward.cu:99', 0, 'Another line.', 0, ''),"
      "('m2', '', '', ?, 'Ask him.', 1, '')",
      again);
  const auto rows = database.submissions();
  CHECK(comments_text(rows.at(0), database) == "Comment on E-outside: Compare the guard.\n");
  CHECK(database.comments(rows.at(1)).size() == 2);
  CHECK_FALSE(contains(comments_text(rows.at(1), database), "Ask him."));
}
