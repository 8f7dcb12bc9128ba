// Text of a submission is read once, whatever it holds. Nothing here is timed: what takes hours
// meets ctest's limit.
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
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
    CHECK(contains(float_index(source_of(folder, "float x = 3;\n" + use + " = 1;\n")), "a.cu:2"));
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
    CHECK(float_index(sources).size() < 1000);
  }
}

TEST_CASE("a compiler's message names its line, also in a hostile megabyte") {
  const TemporaryFolder folder;
  const SourceText sources = source_of(folder, "int a\nCHECK(f(\n");
  CHECK(contains(compiler_finding("x/a.cu:1:5: error: b", sources).seen, "a.cu:1 | int a"));
  CHECK(contains(compiler_finding("a.cu is no text.", {}).next, "Save it again as UTF-8"));
  CHECK(contains(
      compiler_finding("unterminated argument list invoking macro \"CHECK\"", sources).seen,
      "a.cu:2 | CHECK"));
  for (const std::string part :
       {":", "a", "1", "a:1", "unterminated argument list invoking macro \""})
    CHECK_FALSE(contains(compiler_finding(many(part), sources).seen, "a.cu:"));
}

TEST_CASE("what is said of an error holds for the names and the line that the compiler quotes") {
  const TemporaryFolder folder;
  const SourceText sources = source_of(
      folder, "#define TILE 16;\n__shared__ float tile[];\nsum += a[(b * C + c];\nm = 1;\n");
  const auto cause = [&](const std::string& error) {
    return compiler_finding("a.cu:" + error, sources).cause;
  };
  CHECK(contains(cause("1:16: error: expected ')' before ';' token"), "ends with a ;"));
  CHECK(contains(cause("2:5: error: incomplete type 'float []'"), "needs the word extern"));
  CHECK(contains(cause("3:9: error: expected ')' before ']' token"), "has 1 ( and 0 )"));
  CHECK(cause("4:5: error: assignment of read-only variable 'm'") ==
        "'m' is const: it cannot change.");
  CHECK(cause("4:5: error: 'struct uint3' has no member named 'm'") ==
        "'struct uint3' has no member 'm'.");
  CHECK(cause("4:5: error: what nobody has seen") == "");
}
