#include <unistd.h>

#include "common/testing/catch.hpp"
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
      "next  ", std::string(30, 'a') + " " + std::string(40, 'b') + " " + std::string(5, 'c'));
  CHECK(text == "next  " + std::string(30, 'a') + " " + std::string(40, 'b') + "\n      ccccc\n");
  CHECK(paragraph("x ", std::string(100, 'y')) == "x " + std::string(100, 'y') + "\n");
}

TEST_CASE("terminal: no colours where output is no terminal") {
  if (::isatty(STDOUT_FILENO) == 0) CHECK(coloured("text", Colour::kBad) == "text");
}

TEST_CASE("check report: three digits of a time, with its spread") {
  CHECK(time_text({}) == "-");
  CHECK(time_text({12345.6}) == "12346 once");
  CHECK(time_text({1.0, 2.0, 3.0}) == "2.00 ±0.50");
  CHECK(time_text({0.01234, 0.01234}) == "0.01 ±0.00");
}

TEST_CASE("check report: a row stands below its heading") {
  const ConvShape shape{.batch = 100, .height = 9, .width = 9, .kernel = 3};
  RunResult run{.network = "fa23", .batch = 100};
  for (int layer = 0; layer < 2; ++layer) {
    run.layers.push_back({.shape = shape,
                          .op_ms = {1.0, 2.0, 3.0},
                          .layer_ms = {1.0, 2.0, 3.0},
                          .error = ErrorMeasure{.worst_ratio = 2.25}});
  }
  run.accuracy = AccuracyResult{.correct = 88, .total = 100};
  run.verdict = Verdict::kPassed;
  CHECK(run_heading(2) ==
        "  batch    op time 1, ms    op time 2, ms      accuracy   error  verdict");
  CHECK(run_row(run) == "    100       2.00 ±0.50       2.00 ±0.50        88/100     2.2  passed");
}
