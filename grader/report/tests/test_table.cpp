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

TEST_CASE("table: a field that a spreadsheet would compute is quoted") {
  CHECK(csv_line({"=1+1", "a,b", "say \"x\"", "plain"}) ==
        "'=1+1,\"a,b\",\"say \"\"x\"\"\",plain\n");
}
