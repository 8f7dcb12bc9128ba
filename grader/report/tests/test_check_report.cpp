#include <sstream>

#include "common/base/tests/support/catch.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/report/check_report.hpp"
#include "grader/report/terminal.hpp"

using namespace convlab;

TEST_CASE("check report: findings fit into 80 columns, whatever was seen") {
  const std::string seen =
      "In case 'all together' (B=130 M=17 C=12 H=301 W=302 K=7 S=4): 123456789 of 987654321 "
      "elements are wrong. The first: image b=9999, map m=15, row h=33, column w=33: expected "
      "-1.234567e-05, got 1.234567e+25.";
  for (const grader::Diagnosis& diagnosis : grader::catalogue()) {
    std::istringstream lines(grader::finding_text(grader::finding(diagnosis.id, seen)));
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(line);
      CHECK(convlab::display_width(line) <= grader::kColumns);
    }
  }
}
