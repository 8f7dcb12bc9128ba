#include <regex>

#include "common/file/whole_file.hpp"
#include "common/testing/catch.hpp"
#include "grader/class/similar.hpp"

using namespace convlab;
using namespace convlab::grader;

namespace {

const std::string kSource =
    read_text(CONVLAB_SOURCE_DIR "/grader/exploits/controls/chunked_im2col.cpp");

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

TEST_CASE("similar: one function taken over is found with its lines") {
  const std::string other =
      read_text(CONVLAB_SOURCE_DIR "/grader/exploits/controls/looks_at_the_processor.cpp");
  const std::string mixed = other + "\n" + kSource.substr(kSource.find("namespace {"));
  const auto pairs = similar_pairs({{"alice", "a.cpp", kSource}, {"bob", "b.cpp", mixed}}, {}, 0.3);
  REQUIRE(pairs.size() == 1);
  CHECK(pairs[0].places[0].first_b > 10);
}

TEST_CASE("similar: what everybody has counts for nobody") {
  const std::vector<OwnedSource> sources = {{"alice", "a.cpp", kSource}, {"bob", "b.cpp", kSource}};
  CHECK(similar_pairs(sources, {{"", "reference.cpp", kSource}}, 0.1).empty());
  CHECK(similar_pairs({sources[0]}, {}, 0.1).empty());
  // Two files of one student are no pair.
  CHECK(similar_pairs({{"alice", "a.cpp", kSource}, {"alice", "b.cpp", kSource}}, {}, 0.1).empty());
  CHECK(similar_pairs({{"a", "a.cpp", ""}, {"b", "b.cpp", "/* no end"}}, {}, 0.0).empty());
}
