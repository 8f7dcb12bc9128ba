#include <sstream>

#include "common/base/tests/support/catch.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/report/check_report.hpp"
#include "grader/report/terminal.hpp"

using namespace convlab;
using namespace convlab::grader;

TEST_CASE("terminal: widths count characters, not bytes") {
  CHECK(display_width("±½·") == 3);
  CHECK(left("±", 3) == "±  ");
  CHECK(right("±", 3) == "  ±");
  CHECK(right("four", 3) == "four");
}

TEST_CASE("terminal: a paragraph wraps at 80 columns and hangs below its label") {
  const std::string text = paragraph(
      "next  ", std::string(30, 'a').append(" ").append(40, 'b').append(" ").append(5, 'c'));
  CHECK(text == "next  " + std::string(30, 'a') + " " + std::string(40, 'b') + "\n      ccccc\n");
  // A terminal would move the rest of a long word to the first column, where verdicts stand.
  CHECK(paragraph("x ", std::string(100, 'y')) ==
        "x " + std::string(78, 'y') + "\n  " + std::string(22, 'y') + "\n");
  CHECK(paragraph("x ", "a" + std::string(77, '\xa0') + "PASSED").find("\nPASSED") ==
        std::string::npos);
}

TEST_CASE("score table: a row for each item, what was not measured is named") {
  const Score score{
      {{.stage = "a",
        .item = "cases",
        .points = 40,
        .earned = 10.5,
        .credit = Credit::kPartial,
        .yours = "7 of 28",
        .reference = "28",
        .why = "E-stride in 'stride 2'"},
       {.stage = "a", .item = "network", .batch = 1, .points = 10, .why = "not asked"}}};
  CHECK(score_table(score) ==
        "  item                     points       yours   reference  why\n"
        "  element-wise cases      10.5/40     7 of 28          28  E-stride in 'stride\n"
        "                                                           2'\n"
        "  network, 1 image           -/10                          not asked\n"
        "  sum                     10.5/40  10 more points were not measured\n");
}

TEST_CASE("check report: findings fit into 80 columns, whatever was seen") {
  const std::string seen =
      "In case 'all together' (B=130 M=17 C=12 H=301 W=302 K=7 S=4): 123456789 of 987654321 "
      "elements are wrong. The first: image b=9999, map m=15, row h=33, column w=33: expected "
      "-1.234567e-05, got 1.234567e+25.";
  for (const FindingWords& diagnosis : catalogue()) {
    std::istringstream lines(finding_text(finding(diagnosis.id, seen)));
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(line);
      CHECK(display_width(line) <= kColumns);
    }
  }
}

TEST_CASE("check report: a ranked run names its rules, its GPU, or why there is none") {
  CheckResult check;
  check.result.machine.gpu = "A GPU";
  check.ranked = RankedTimes{.batch = 1000, .op_ms = {1.5, 2.5}, .how = "by the host's clock"};
  CHECK(points_tables(check, std::nullopt) ==
        "  The course's ranked run (by the host's clock): 4.00 ms at 1000 images on an A\n"
        "  GPU. The op times above have new images in each call.\n");
  check.ranked->why_not = "only times of a GPU are ranked.";
  CHECK(points_tables(check, std::nullopt) ==
        "  The course's ranked run (by the host's clock): only times of a GPU are ranked.\n");
}
