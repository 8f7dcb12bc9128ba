#include "common/base/tests/support/catch.hpp"
#include "grader/report/table.hpp"

using namespace convlab::grader;

TEST_CASE("table: one table in every form") {
  const Table table{.heading = {"stage", "ms"}, .rows = {{"a_b|c & <d>", "1.5"}, {"é", "10"}}};
  CHECK(plain_table(table) == "stage         ms\na_b|c & <d>  1.5\né             10\n");
  CHECK(markdown_table(table) ==
        "| stage | ms |\n|---|---:|\n| a\\_b\\|c &amp; &lt;d&gt; | 1.5 |\n| é | 10 |\n");
  CHECK(html_table(table).find("<td>a_b|c &amp; &lt;d&gt;</td><td>1.5</td>") != std::string::npos);
}

TEST_CASE("table: numbers of an answer are looked up in the results") {
  convlab::Result result;
  result.runs.resize(1);
  result.runs[0].stage.id = "b";
  result.runs[0].batch = 100;
  result.runs[0].layers.resize(2);
  result.runs[0].layers[0].op_ms = {2.04};
  result.runs[0].layers[1].op_ms = {14.1};
  auto known = known_times(result);
  known.push_back({0.375, "loads for each multiply-add of b", "2026-11-24T12:56:21Z"});
  CHECK(found_numbers("It took 14.1 ms, not 15.2.", known) ==
        "14.1: the op time of convolution 2 of b at 100 images.");
  CHECK(found_numbers("0.375 loads, thus 2.0 ms", known) ==
        "0.375: loads for each multiply-add of b, 2026-11-24.");
  CHECK(found_numbers("2.04 ms. 2", known) ==
        "2.04: the op time of convolution 1 of b at 100 images.");
  CHECK(found_numbers("16.1 ms", known) ==
        "16.1: the op time of all convolutions of b at 100 images.");
  CHECK(found_numbers("no numbers", known).empty());
  const std::vector<KnownNumber> slow = {{11'832.0, "the op time"}, {0.5, "loads"}};
  CHECK(found_numbers("11 832 ms of 10 000 images", slow) == "11832: the op time.");
  CHECK(found_numbers("It took 11.8 s.", slow) == "11.8 s: the op time.");
  CHECK(found_numbers("11.8 sums, 387 1579", slow).empty());
}

TEST_CASE("table: a field that a spreadsheet would compute is quoted") {
  CHECK(csv_line({"=1+1", "a,b", "say \"x\"", "plain"}) ==
        "'=1+1,\"a,b\",\"say \"\"x\"\"\",plain\n");
}
