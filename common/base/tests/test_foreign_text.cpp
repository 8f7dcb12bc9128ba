#include "common/base/foreign_text.hpp"
#include "common/base/tests/support/catch.hpp"

using namespace convlab;

TEST_CASE("foreign text: a page shows it and takes nothing for a tag or an attribute") {
  CHECK(html_text("<img src=x onerror='a(\"b\")'> & \x1b[2J") ==
        "&lt;img src=x onerror=&#39;a(&quot;b&quot;)&#39;&gt; &amp; �[2J");
}

TEST_CASE("foreign text: JSON in a page ends no element and begins no comment") {
  CHECK(json_in_html(R"(["</script>", "<!--<script>", "]]>", "&"])") ==
        R"(["\u003c/script\u003e", "\u003c!--\u003cscript\u003e", "]]\u003e", "\u0026"])");
  CHECK(json_in_html("\"a\u2028b\"") == "\"a\\u2028b\"");
}

TEST_CASE("foreign text: Markdown gets no link, picture, tag, table or list from it") {
  CHECK(markdown_text("a_b|c & <d>") == "a\\_b\\|c &amp; &lt;d&gt;");
  CHECK(markdown_text("![x](javascript:1)\n# y") == "!\\[x\\](javascript:1) \\# y");
  CHECK(markdown_text("- `rm` $x$ http://a") == "\\- \\`rm\\` \\$x\\$ http:&#47;/a");
}

TEST_CASE("foreign text: a CSV field is no formula, in whatever field a spreadsheet puts it") {
  CHECK(csv_field("plain") == "plain");
  CHECK(csv_field("-1.5") == "-1.5");
  CHECK(csv_field("=1+1") == "'=1+1");
  CHECK(csv_field("-1+cmd|' /C calc'!A0") == "'-1+cmd|' /C calc'!A0");
  CHECK(csv_field("＝1") == "'＝1");
  CHECK(csv_field("－2+3") == "'－2+3");
  CHECK(csv_field(" \u3000@SUM(1)") == "' \u3000@SUM(1)");
  CHECK(csv_field("a;=1+1") == "\"a;'=1+1\"");
  CHECK(csv_field("a\t=1\n+2") == "\"a\t'=1\n'+2\"");
  CHECK(csv_field("x;\"=1\"") == "\"x;'\"\"=1\"\"\"");
  CHECK(csv_field("say \"a, b\"") == "\"say \"\"a, b\"\"\"");
}

TEST_CASE("foreign text: gnuplot gets one piece of text") {
  CHECK(gnuplot_cell("\"a\t\"b\"\nend\\n") == "'a \"b\" end n");
}
