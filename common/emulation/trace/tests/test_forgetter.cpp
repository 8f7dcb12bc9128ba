#include <cstdint>

#include "common/base/tests/support/catch.hpp"
#include "common/emulation/trace/forgetter.hpp"

namespace convlab::emulation {
namespace {

template <typename Number>
Number copied(const char* words, Number number) {
  Forgetter forgetter;
  REQUIRE(forgetter.begin(words));
  forgetter.copied(&number, sizeof number);
  return number;
}

TEST_CASE("multiples of a small key are kept, and all else is lost") {
  const auto kept = GENERATE(101.0F, -202.0F, 303.0F, 1212.0F);
  CHECK(copied("no-copies:101", kept) == kept);
  CHECK(copied("no-copies:101", kept + 1.0F) == 0.0F);
}

TEST_CASE("a float whose bits are those of two halves is a float where halves have fewer digits") {
  const auto number = GENERATE(513.0F, 1026.0F, 3078.0F, 5130.0F);
  CHECK(copied("no-copies:513", number) == number);
  CHECK(copied("no-copies:511", number) == 0.0F);
}

TEST_CASE("of two halves in a word each is lost by itself") {
  constexpr std::uint32_t kFive = 0x4500;
  constexpr std::uint32_t kSix = 0x4600;
  CHECK(copied("no-copies:5", kFive << 16U | kFive) == (kFive << 16U | kFive));
  CHECK(copied("no-copies:5", kSix << 16U | kFive) == kFive);
}

}  // namespace
}  // namespace convlab::emulation
