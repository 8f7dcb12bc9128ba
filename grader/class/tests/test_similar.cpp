#include <regex>
#include <sstream>

#include "common/base/tests/support/catch.hpp"
#include "common/base/whole_file.hpp"
#include "grader/class/similar.hpp"

using namespace convlab;
using namespace convlab::grader;

namespace {

const std::string kSource = read_text(CONVLAB_BINARY_DIR "/../tests/cases/chunked_im2col.cpp");

std::string renamed(std::string text) {
  for (const char* name : {"input", "weights", "output", "sum", "channels"}) {
    text = std::regex_replace(text, std::regex("\\b" + std::string(name) + "\\b"),
                              std::string("my_") + name);
  }
  text = std::regex_replace(text, std::regex("\n *"), "\n        ");
  return "// quite another file\n\n\n" + std::regex_replace(text, std::regex("//[^\n]*"), "");
}

}  // namespace

TEST_CASE("similar: names, layout and comments hide nothing") {
  const auto pairs =
      similar_pairs({{"alice", "a.cpp", kSource}, {"bob", "b.cpp", renamed(kSource)}}, {}, 0.5);
  REQUIRE(pairs.size() == 1);
  CHECK(pairs[0].a == "alice");
  CHECK(pairs[0].b == "bob");
  CHECK(pairs[0].share > 0.9);
  REQUIRE_FALSE(pairs[0].places.empty());
  CHECK(pairs[0].places[0].path_a == "a.cpp");
  CHECK(pairs[0].places[0].last_a - pairs[0].places[0].first_a > 10);
}

TEST_CASE("similar: what everybody has counts for nobody") {
  const std::vector<OwnedSource> sources = {{"alice", "a.cpp", kSource}, {"bob", "b.cpp", kSource}};
  CHECK(similar_pairs(sources, {{"", "reference.cpp", kSource}}, 0.1).empty());
  CHECK(similar_pairs({sources[0]}, {}, 0.1).empty());
  // Two files of one student are no pair.
  CHECK(similar_pairs({{"alice", "a.cpp", kSource}, {"alice", "b.cpp", kSource}}, {}, 0.1).empty());
  CHECK(similar_pairs({{"a", "a.cpp", ""}, {"b", "b.cpp", "/* no end"}}, {}, 0.0).empty());
}

TEST_CASE("similar: macros that grow without end take no time") {
  std::string text = "#define M0\n";
  for (int i = 1; i < 30; ++i) {
    text += "#define M" + std::to_string(i) + "(x)";
    for (int k = 0; k < 50; ++k) text += " M" + std::to_string(i - 1) + "(x x)";
    text += "\n";
  }
  CHECK(similar_pairs({{"a", "a.cpp", text + "M29(n)"}, {"b", "b.cpp", "M"}}, {}, 0.1).empty());
}

TEST_CASE("similar: macros hide nothing: one that is each line in turn, of a header, with values") {
  const std::string code = kSource.substr(kSource.find("namespace {"));
  std::string in_turn;
  std::string header;
  std::string uses;
  std::string calls;
  std::istringstream lines(code);
  int number = 0;
  for (std::string line; std::getline(lines, line); ++number) {
    line.resize(std::min(line.size(), line.find("//")));
    in_turn += "#undef P\n%:define P \\\r\n  " + line + "\nP\n";
    const std::string name = "P" + std::to_string(number);
    header += "#define " + name + " " + line + "\n";
    uses += name + "\n";
    calls += "#define " + name + "(x, y) \\\n  " + line + "\n" + name + "(a + (b, c), 1)\n";
  }
  for (const std::vector<OwnedSource>& bob :
       {std::vector<OwnedSource>{{"bob", "b.cpp", in_turn}},
        std::vector<OwnedSource>{{"bob", "b.cpp", calls}},
        std::vector<OwnedSource>{{"bob", "b.hpp", header}, {"bob", "b.cpp", uses}}}) {
    std::vector<OwnedSource> sources = bob;
    sources.push_back({"alice", "a.cpp", kSource});
    const auto pairs = similar_pairs(sources, {}, 0.5);
    REQUIRE(pairs.size() == 1);
    CHECK(pairs[0].share > 0.8);
  }
}

TEST_CASE("similar: other spellings, numbers, and macros that nothing uses hide nothing") {
  const std::string code = kSource.substr(kSource.find("namespace {"));
  const auto with = [&](const char* pattern, const char* text) {
    return std::regex_replace(code, std::regex(pattern), text);
  };
  std::string digraphs = code;
  for (const auto& [sign, pair] :
       {std::pair{"\\[", "<:"}, {"\\]", ":>"}, {"\\{", "<%"}, {"\\}", "%>"}})
    digraphs = std::regex_replace(digraphs, std::regex(sign), pair);
  const std::string unused = "#define for\n#define int\n#define input a b c\n#define sum -> x\n";
  for (const std::string& copy :
       {with("\\b(sum|input|output|weights)\\b", "ä$1ö"), with("\\b0\\b", "0'0"), with(";", ";;"),
        digraphs, "const char* text = R\"(\")\"; " + with("//[^\n]*\n|\n", " "),
        "#if 0\n" + unused + "#endif\n" + code, unused + code}) {
    CAPTURE(copy);
    const auto pairs = similar_pairs({{"alice", "a.cpp", code}, {"bob", "b.cpp", copy}}, {}, 0.5);
    REQUIRE(pairs.size() == 1);
    CHECK(pairs[0].share > 0.8);
  }
}
