#include <stdexcept>

#include "common/base/lines.hpp"
#include "common/base/testing/catch.hpp"

using namespace convlab;

TEST_CASE("lines: a change finds its lines whatever their indentation, one after the other") {
  CHECK(with_changed_lines("a {\n  b;\n  c;\n  b;\n}\n",
                           "// a comment\n- c;\n- b;\n+ if (d) {\n+   e;\n+ }\n",
                           "x") == "a {\n  b;\n  if (d) {\n    e;\n  }\n}\n");
  CHECK(with_changed_lines("a\nb\na\n", "- a\n+ 1\n- a\n+ 2\n", "x") == "1\nb\n2\n");
  CHECK(with_changed_lines("a\nb\n", "- a\n", "x") == "b\n");
  CHECK(with_changed_lines("a\nb\n", "- a\n+\n", "x") == "\nb\n");
}

TEST_CASE("lines: a change that does not fit names the text and the line") {
  CHECK_THROWS_WITH(with_changed_lines("a\nb\n", "- c\n+ d\n", "m2/x: m2.cu"),
                    "m2/x: m2.cu has no line 'c'");
  CHECK_THROWS_AS(with_changed_lines("a\nb\n", "- b\n+ c\n- a\n+ d\n", "x"), std::runtime_error);
}
