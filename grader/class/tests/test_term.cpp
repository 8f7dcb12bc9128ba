#include "common/base/error.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/base/tests/support/message_of.hpp"
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

std::string complaint(const std::string& text) {
  return message_of([&] { parse_term(text, "term.json", kClass); });
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
