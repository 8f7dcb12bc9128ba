#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
#include "grader/report/editor_lines.hpp"

using namespace convlab;
using namespace convlab::grader;

TEST_CASE("editor lines: findings at the lines that they quote") {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "m1" / "conv.cpp";
  write_atomically(file, "one\n  two\nthree\n");
  CheckResult check;
  check.findings = {
      {.id = "E-a",
       .title = "it is wrong",
       .seen = {"In a case:\n    conv.cpp:2 | two\n                 goes on\nAllocated at:\n"
                "    conv.cpp:3 | three\n    conv.cpp:1 | one\nIt ends. The index is\n    b·C\nBy "
                "hand: 3.",
                {{1, "conv.cpp", 2, 2}, {4, "conv.cpp", 3}, {5, "conv.cpp", 1}}},
       .cause = "A cause, 100%: so.",
       .next = "A step."}};
  // Words that look like a quote are none.
  check.warnings = {{.id = "E-b", .title = "elsewhere", .seen = "No\n    conv.cpp:2 | none"}};

  CHECK(editor_lines(check, "gcc", {file}, folder.path()) ==
        "m1/conv.cpp:2:3: error: it is wrong [E-a]: A cause, 100%: so.\n"
        "m1/conv.cpp:2:3: note: In a case\n"
        "m1/conv.cpp:3:1: note: Allocated at\n"
        "m1/conv.cpp:1:1: note: Allocated at\n"
        "m1/conv.cpp:2:3: note: It ends. The index is b·C. By hand: 3.\n"
        "m1/conv.cpp:2:3: note: A step.\n"
        "m1/conv.cpp:1:1: warning: elsewhere [E-b]: No conv.cpp:2 | none\n");
  check.warnings.clear();
  CHECK(
      editor_lines(check, "github", {file}, folder.path()) ==
      "::error file=m1/conv.cpp,line=2,col=3,title=it is wrong [E-a]%3A A cause%2C 100%25%3A so.::"
      "In a case%0AAllocated at%0AAllocated at%0AIt ends. The index is b·C. By hand: 3.%0AA "
      "step.%0A\n");
  // A line where a small change makes every case right comes before those that are quoted.
  check.findings[0].mends = {{.file = "conv.cpp", .lines = {3}}};
  check.findings[0].smallest = "B=1";
  check.findings[0].shapes = "It fails exactly if S ≥ 2.";
  CHECK(
      editor_lines(check, "gcc", {file}, folder.path() / "m1")
          .starts_with("conv.cpp:3:1: error: it is wrong [E-a]: A cause, 100%: so.\n"
                       "conv.cpp:2:3: note: In a case\n"
                       "conv.cpp:3:1: note: Allocated at\n"
                       "conv.cpp:1:1: note: Allocated at\n"
                       "conv.cpp:3:1: note: It ends. The index is b·C. By hand: 3.\n"
                       "conv.cpp:3:1: note: The smallest case that fails: B=1. It fails exactly "
                       "if S ≥ 2.\n"
                       "conv.cpp:3:1: note: A small change in conv.cpp:3 makes every case right.\n"
                       "conv.cpp:3:1: note: A step.\n"));
  CHECK(editor_lines({}, "gcc", {}, folder.path()).empty());
}
