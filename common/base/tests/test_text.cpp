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
