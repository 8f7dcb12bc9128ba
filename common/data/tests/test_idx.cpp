#include "common/base/error.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/message_of.hpp"
#include "common/data/tests/made_up_data.hpp"

using Catch::Matchers::ContainsSubstring;
using convlab::EnvironmentError;
using convlab::IdxArray;
using convlab::parse_idx;
using convlab::testing::message_of;
using Bytes = std::vector<std::uint8_t>;

TEST_CASE("idx: dimensions are big-endian, values follow") {
  const IdxArray array = parse_idx({0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6}, "test");
  CHECK(array.dims == std::vector<int>{2, 3});
  CHECK(array.values == Bytes{1, 2, 3, 4, 5, 6});

  Bytes long_row = {0, 0, 8, 1, 0x00, 0x01, 0x02, 0x03};
  long_row.resize(8 + 0x010203);
  CHECK(parse_idx(long_row, "test").dims == std::vector<int>{0x010203});
}

TEST_CASE("idx: what is formatted is parsed") {
  const IdxArray array{{3, 1, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255}};
  const IdxArray again = parse_idx(convlab::format_idx(array), "test");
  CHECK(again.dims == array.dims);
  CHECK(again.values == array.values);
}

TEST_CASE("idx: truncated at every byte, and one byte too many") {
  const Bytes whole = convlab::format_idx({{2, 3, 4}, Bytes(24, 7)});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK_THAT(
        message_of([&] { parse_idx(part, "images"); }),
        (ContainsSubstring("images is not a sound IDX file: it") && ContainsSubstring("has")) ||
            ContainsSubstring("ends after") || ContainsSubstring("follow the header"));
  }
  CHECK_NOTHROW(parse_idx(whole, "images"));
  Bytes longer = whole;
  longer.push_back(0);
  CHECK(message_of([&] { parse_idx(longer, "images"); }) ==
        "images is not a sound IDX file: its dimensions 2×3×4 ask for 24 bytes of data, but 25 "
        "follow the header; fetch or install it again.");
}

TEST_CASE("idx: wrong magic") {
  const Bytes whole = convlab::format_idx({{2, 2}, Bytes(4)});
  const auto with = [&whole](std::size_t index, std::uint8_t value) {
    Bytes bytes = whole;
    bytes[index] = value;
    return message_of([&] { parse_idx(bytes, "test"); });
  };
  CHECK_THAT(with(0, 1), ContainsSubstring("two zero bytes"));
  CHECK_THAT(with(1, 8), ContainsSubstring("two zero bytes"));
  CHECK_THAT(with(2, 0x0d), ContainsSubstring("element type is 13, not 8"));
  CHECK_THAT(with(3, 0), ContainsSubstring("states 0 dimensions"));
  CHECK_THAT(with(3, 5), ContainsSubstring("states 5 dimensions"));
  CHECK_THAT(with(3, 255), ContainsSubstring("states 255 dimensions"));
  CHECK_THAT(with(3, 4), ContainsSubstring("ends after 16 bytes, inside its header of 20"));
}

TEST_CASE("idx: absurd dimensions cost nothing and overflow nothing") {
  const auto message = [](const std::vector<std::uint32_t>& dims) {
    Bytes bytes = {0, 0, 8, static_cast<std::uint8_t>(dims.size())};
    for (std::uint32_t dim : dims) {
      for (int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<std::uint8_t>(dim >> shift));
    }
    return message_of([&] { parse_idx(bytes, "test"); });
  };
  CHECK_THAT(message({0xffffffff}), ContainsSubstring("dimensions 4294967295 are not"));
  CHECK_THAT(message({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}),
             ContainsSubstring("are not"));
  CHECK_THAT(message({0x10000, 0x10000, 0x10000, 0x10000}),
             ContainsSubstring("are not"));  // product 2⁶⁴
  CHECK_THAT(message({0x80000000, 2}), ContainsSubstring("are not"));
  CHECK_THAT(message({0, 5}), ContainsSubstring("dimensions 0×5 are not"));
  CHECK_THAT(message({5, 0xffffffff, 0}), ContainsSubstring("are not"));
  CHECK_THAT(message({1 << 28}),
             ContainsSubstring("ask for 268435456 bytes of data, but 0 follow"));
  CHECK_THAT(message({(1 << 28) + 1}), ContainsSubstring("are not"));
}
