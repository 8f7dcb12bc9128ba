#include "common/base/tests/support/catch.hpp"
#include "common/base/text.hpp"

using namespace convlab;

TEST_CASE("words are found in a hostile megabyte") {
  const std::string letters(1'000'000, 'a');
  const std::string spaces(1'000'000, ' ');
  CHECK(find_word(letters, "a") == std::string::npos);
  CHECK(word_at(letters, 0) == letters);
  CHECK(word_before(letters, letters.size()) == letters);
  CHECK(digits_at(letters, 0).empty());
  CHECK(after_spaces(spaces, 0) == spaces.size());
}

TEST_CASE("words are found whole") {
  CHECK(find_word("sums, sum_of sum sum", "sum", 1) == 13);
  CHECK(word_at("a1_b + c", 0) == "a1_b");
  CHECK(word_at("a", 7).empty());
  CHECK(digits_at("x12y", 1) == "12");
  CHECK(word_before("int tile_2[", 10) == "tile_2");
  CHECK(after_spaces("a \t b", 1) == 4);
}
