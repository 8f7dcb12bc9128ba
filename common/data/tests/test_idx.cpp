#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/message_of.hpp"
#include "common/data/tests/made_up_data.hpp"

using Catch::Matchers::ContainsSubstring;
using convlab::parse_idx;
using convlab::testing::message_of;
using Bytes = std::vector<std::uint8_t>;

// Damaged ones: grader/class/tests/fuzz_files.cpp.
TEST_CASE("idx: what is not exactly one array is refused") {
  const auto message = [](const Bytes& bytes, std::size_t dims = 3) {
    return message_of([&] { parse_idx(bytes, dims, "images"); });
  };
  Bytes bytes = convlab::format_idx({{2, 3, 4}, Bytes(24, 7)});
  CHECK(message(bytes).empty());
  CHECK_THAT(message(bytes, 2), ContainsSubstring("its header is not that of an array"));
  bytes.push_back(0);
  CHECK(message(bytes) ==
        "images is not a sound IDX file: its dimensions are 2×3×4, but 25 bytes follow the header; "
        "fetch or install it again.");
  bytes.resize(15);
  CHECK_THAT(message(bytes), ContainsSubstring("its header is not that of an array"));
  // Products of 2⁶⁴ and beyond, and none.
  for (const std::vector<int>& dims : std::vector<std::vector<int>>{
           {-1}, {0x10000, 0x10000, 0x10000, 0x10000}, {5, -1, 0}, {1 << 28}}) {
    CHECK_THAT(message(convlab::format_idx({dims, {}}), dims.size()),
               ContainsSubstring("but 0 bytes follow the header"));
  }
}
