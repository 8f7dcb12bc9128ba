// Text of a submission is read once, whatever it holds. Nothing here is timed: what takes hours
// meets ctest's limit.
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
#include "grader/checks/build_mend.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/checks/source_clues.hpp"

using namespace convlab;
using namespace convlab::grader;
using convlab::testing::contains;
using convlab::testing::TemporaryFolder;

namespace {

SourceText source_of(const TemporaryFolder& folder, const std::string& text) {
  const auto file = folder.path() / "a.cu";
  write_atomically(file, text);
  return SourceText({file});
}

std::string many(const std::string& part) {
  std::string text;
  while (text.size() < 1'000'000) text += part;
  return text;
}

}  // namespace

TEST_CASE("an index of a float is found in each of its forms") {
  const TemporaryFolder folder;
  for (const std::string use : {"a[(int)x]", "a[3 * static_cast<int>(x)]", "a[int( x)]",
                                "a[(std::size_t) x + 1]", "a[(unsigned long)x]"}) {
    INFO(use);
    CHECK(contains(float_index(source_of(folder, "float x = 3;\n" + use + " = 1;\n")).text(),
                   "a.cu:2"));
  }
  for (const std::string use : {"a[x]", "a[1] = (int)x", "a[(int)xy]", "f(int(x))"}) {
    INFO(use);
    CHECK(float_index(source_of(folder, "float x = 3;\n" + use + ";\n")).empty());
  }
}

TEST_CASE("clues are looked for in a hostile megabyte") {
  const TemporaryFolder folder;
  for (const std::string line :
       {"float x = a[(int", "float x = [(int [(int x\n", "__shared__ float a[b * c];\n", "float ",
        "float x =\n", "[[[[[[[[((((((\n", "__shared__\n", "x[x*x];\n"}) {
    const SourceText sources = source_of(folder, many(line));
    CHECK(float_index(sources).text().size() < 1000);
  }
}

TEST_CASE("a compiler's message names its line, also in a hostile megabyte") {
  const TemporaryFolder folder;
  const SourceText sources = source_of(folder, "int a\nCHECK(f(\n");
  const auto told = [&](const std::string& text) {
    return compiler_finding({.file = "x/a.cu", .line = 1, .text = text}, sources);
  };
  CHECK(contains(told("b").seen.text(), "a.cu:1 | int a"));
  CHECK(
      contains(compiler_finding({.text = "a.cu is no text."}, {}).next, "Save it again as UTF-8"));
  // What stands for * is filled in, if it stands on one line.
  CHECK(contains(told("'x' was not declared in this scope").cause, "Nothing called x is known"));
  CHECK_FALSE(contains(told("'a\nb' was not declared in this scope").cause, "a\nb"));
  for (const std::string part : {":", "a", "1", "a:1", "'", "' has no member named '"})
    CHECK(told(many(part)).cause.size() < 1000);
}

TEST_CASE("build mends: small changes that a compiler is to prove") {
  const auto words = [](const std::string& text, const BuildError& error) {
    std::vector<std::string> all;
    for (const BuildMend& mend : build_mends(error, text)) all.push_back(mend.words);
    return all;
  };
  using Words = std::vector<std::string>;
  const std::string function = "void f() {\n  if (a) {\n    b();\n}\n";
  CHECK(words(function, {.line = 4, .text = "expected '}' at end of input"}).front() ==
        "with `}` before line 4, for the `{` of line 2");
  CHECK(
      words("void f() {\n  b();\n  }\n}\n", {.line = 4, .text = "expected declaration before '}'"})
          .front() == "without the `}` of line 3");
  const auto semicolon = build_mends(
      {.line = 3, .column = 1, .text = "expected ',' or ';' before 'b'"}, "f\n(a) // why\nb;\n");
  REQUIRE_FALSE(semicolon.empty());
  CHECK(semicolon.front().words == "with `;` in line 2");
  CHECK(semicolon.front().text == "f\n(a); // why\nb;\n");
  CHECK(semicolon.front().line == 2);
  CHECK(words("f<<g, b>>(x);\n", {.line = 1, .text = "no match for 'operator<<'"}).front() ==
        "with `<<<` and `>>>` around the launch in line 1");
  CHECK(words("#define T 4;\nint a[T];\n", {.line = 2, .text = "expected ']' before ';' token"})
            .front() == "without the `;` of line 1");
  CHECK(words("half x;\n", {.line = 1, .text = "'half' does not name a type"}).front() ==
        "with `#include <cuda_fp16.h>` at the top of the file");
  CHECK(words("CONVLAB_CUDA_CHECK(a);\n",
              {.line = 1, .text = "'CONVLAB_CUDA_CHECK' was not declared in this scope"})
            .front() == "with `#include \"common/device/cuda_check.cuh\"` at the top of the file");
  CHECK(words("int x = 3 +;\n", {.line = 9, .text = "expected"}) == Words{});
  CHECK(words(many("{ ;\n"), {.line = 3, .text = "expected '}' before ';'"}).size() <= 8);
}
