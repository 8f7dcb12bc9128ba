#include "common/base/testing/catch.hpp"
#include "common/base/testing/message_of.hpp"
#include "common/base/testing/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
#include "grader/corpus/runner/corpus_case.hpp"

using convlab::write_atomically;
using convlab::grader::CorpusCase;
using convlab::grader::read_cases;
using convlab::testing::TemporaryFolder;

TEST_CASE("corpus case: a file without cases is one, named as the file, with its parts") {
  const TemporaryFolder folder;
  write_atomically(folder.path() / "parts/loop.cuh", "for (;;) {\n#include \"parts/end.cuh\"\n");
  write_atomically(folder.path() / "parts/end.cuh", "}\n");
  write_atomically(folder.path() / "endless.cu",
                   "// What      Never ends.\n// Runs      emulated gpu\n"
                   "#include \"parts/loop.cuh\"\nint end;\n// Says  not in the header\n");
  const std::vector<CorpusCase> cases = read_cases(folder.path() / "endless.cu");
  REQUIRE(cases.size() == 1);
  CHECK(cases[0].name == "endless");
  CHECK(cases[0].field("What") == "Never ends.");
  CHECK(cases[0].field("Runs") == "emulated gpu");
  CHECK(cases[0].field("Says").empty());
  CHECK(cases[0].text ==
        "// What      Never ends.\n// Runs      emulated gpu\n"
        "for (;;) {\n}\nint end;\n// Says  not in the header\n");
}

TEST_CASE("corpus case: cases share what stands before the first and behind the end") {
  const TemporaryFolder folder;
  write_atomically(folder.path() / "sums.cpp",
                   "// Fools     Who is in a hurry.\n// Runs      cpu\n"
                   "\n"
                   "float sum() {\n"
                   "  // Case      one\n"
                   "  // What      Adds nothing.\n"
                   "  return 1;\n"
                   "  // Case      infinite\n"
                   "  // What      Adds too much.\n"
                   "  // Runs      emulated\n"
                   "#include <cmath>\n"
                   "  return HUGE_VALF;\n"
                   "  // End of cases\n"
                   "}\n");
  const std::vector<CorpusCase> cases = read_cases(folder.path() / "sums.cpp");
  REQUIRE(cases.size() == 2);
  CHECK(cases[0].name == "one");
  CHECK(cases[0].field("What") == "Adds nothing.");
  CHECK(cases[0].field("Fools") == "Who is in a hurry.");
  CHECK(cases[0].field("Runs") == "cpu");
  CHECK(cases[1].name == "infinite");
  CHECK(cases[1].field("Runs") == "emulated");
  CHECK(cases[1].text ==
        "#include <cmath>\n"
        "// Fools     Who is in a hurry.\n// Runs      cpu\n"
        "\n"
        "float sum() {\n"
        "  return HUGE_VALF;\n"
        "}\n");
}

TEST_CASE("corpus case: cases that differ in their header only have the same text") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "half.cu";
  write_atomically(file,
                   "// Runs      emulated\n// Case      course\n// What      Judged mildly.\n"
                   "// Case      workbook\n// What      Judged strictly.\n"
                   "// Diagnosis E-precision\n// End of cases\nint half;\n");
  const std::vector<CorpusCase> cases = read_cases(file);
  REQUIRE(cases.size() == 2);
  CHECK(cases[0].field("Diagnosis").empty());
  CHECK(cases[1].field("Diagnosis") == "E-precision");
  CHECK(cases[0].text == cases[1].text);
}

TEST_CASE("corpus case: two cases of one name are refused") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "twice.cu";
  write_atomically(file, "// Case      one\n// Case      one\n");
  CHECK(convlab::testing::message_of([&] { read_cases(file); }).find("the name one") !=
        std::string::npos);
}
