#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/message_of.hpp"
#include "common/data/gzip.hpp"
#include "common/data/random.hpp"

using Catch::Matchers::ContainsSubstring;
using convlab::gunzip;
using convlab::gzip;
using convlab::testing::message_of;
using Bytes = std::vector<std::uint8_t>;

namespace {

Bytes random_bytes(std::size_t size) {
  convlab::Random random(size);
  Bytes bytes(size);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.below(50));
  return bytes;
}

}  // namespace

TEST_CASE("gzip: round trips of several lengths, up to exactly the limit; others pass through") {
  for (std::size_t size : {0, 1, 100, 70'000, 1'000'000}) {
    const Bytes bytes = random_bytes(size);
    CHECK(gunzip(gzip(bytes), size, "test") == bytes);
  }
  for (const Bytes& bytes : {Bytes{}, Bytes{0x1f}, Bytes{0, 0, 8, 1}}) {
    CHECK(gunzip(bytes, 2, "test") == bytes);
  }
}

TEST_CASE("gzip: what is cut, damaged, followed by more or a bomb is refused") {
  const auto complaint = [](const Bytes& bytes) {
    return message_of([&] { gunzip(bytes, 1000, "images.gz"); });
  };
  const Bytes whole = gzip(random_bytes(500));
  for (std::size_t size = 2; size < whole.size(); ++size) {
    const Bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK(complaint(part) ==
          "images.gz is not a sound gzip file: it ends in the middle of the data; fetch or install "
          "it again.");
  }
  const auto flipped = [&](std::size_t from_end) {
    Bytes damaged = whole;
    damaged[whole.size() - from_end] ^= 1;
    return complaint(damaged);
  };
  CHECK_THAT(flipped(8), ContainsSubstring("incorrect data check"));
  CHECK_THAT(flipped(4), ContainsSubstring("incorrect length check"));
  CHECK_FALSE(flipped(100).empty());
  Bytes twice = whole;
  twice.insert(twice.end(), whole.begin(), whole.end());
  CHECK_THAT(complaint(twice), ContainsSubstring("bytes follow its end"));
  CHECK_THAT(complaint(gzip(Bytes(20'000'000))), ContainsSubstring("to more than 1000 bytes;"));
}
