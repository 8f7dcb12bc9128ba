#include <algorithm>
#include <cctype>
#include <csignal>
#include <set>
#include <sstream>

#include "common/file/whole_file.hpp"
#include "common/testing/catch.hpp"
#include "grader/findings/catalogue.hpp"
#include "grader/report/check_report.hpp"
#include "grader/report/terminal.hpp"

using namespace convlab;

TEST_CASE("catalogue: every diagnosis has an id of its own, a cause, a next step and a chapter") {
  const std::string handbook = read_text(std::string(CONVLAB_SOURCE_DIR) + "/docs/diagnoses.md");
  std::set<std::string> ids;
  for (const grader::Diagnosis& diagnosis : grader::catalogue()) {
    CAPTURE(diagnosis.id);
    CHECK(ids.insert(diagnosis.id).second);
    CHECK(std::string(diagnosis.title).size() > 5);
    CHECK(std::string(diagnosis.cause).size() > 15);
    CHECK(std::string(diagnosis.next).size() > 10);
    CHECK(handbook.find("\n## " + std::string(diagnosis.id) + "\n") != std::string::npos);
  }
  // The handbook names no finding that does not exist.
  std::istringstream lines(handbook);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("## E-", 0) == 0) CHECK(ids.count(line.substr(3)) == 1);
  }
}

TEST_CASE("catalogue: findings fit into 80 columns, whatever was seen") {
  const std::string seen =
      "In case 'all together' (B=130 M=17 C=12 H=301 W=302 K=7 S=4): 123456789 of 987654321 "
      "elements are wrong. The first: image b=9999, map m=15, row h=33, column w=33: expected "
      "-1.234567e-05, got 1.234567e+25.";
  for (const grader::Diagnosis& diagnosis : grader::catalogue()) {
    std::istringstream lines(grader::finding_text(grader::finding(diagnosis.id, seen)));
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(line);
      CHECK(grader::display_width(line) <= grader::kColumns);
    }
  }
}

TEST_CASE("catalogue: an unknown id is a mistake of ours") {
  CHECK_THROWS(grader::finding("E-unheard-of", ""));
}

TEST_CASE("catalogue: what the emulated device says of the host is shown in one line") {
  grader::Failure failure{.kind = grader::Failure::Kind::kCrash, .code = SIGSEGV};
  failure.message = "elsewhere";
  CHECK(explain(failure, "case 'a'").id == "E-crash");
  failure.printed =
      "Conv-GPU==\nemulated device: the host used a device pointer, 12 bytes into allocation 3 of "
      "784 "
      "bytes at 0x7f00\n  at /tmp/a folder/new-forward.cu:31 (in main)\n  allocated at "
      "/tmp/new-forward.cu:20 (in prolog)\n  Only kernels may use it.\n";
  const Finding finding = explain(failure, "case 'a'");
  CHECK(finding.id == "E-device-pointer");
  CHECK(finding.seen ==
        "In case 'a': the host used a device pointer, 12 bytes into allocation 3 of 784 bytes at "
        "0x7f00, at new-forward.cu:31, allocated at new-forward.cu:20.");
}
