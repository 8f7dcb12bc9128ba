#include "common/base/error.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/message_of.hpp"
#include "common/data/gzip.hpp"
#include "common/data/random.hpp"

using Catch::Matchers::ContainsSubstring;
using convlab::EnvironmentError;
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

TEST_CASE("gzip: round trips of several lengths, up to exactly the limit") {
  for (std::size_t size : {0, 1, 100, 70'000, 1'000'000}) {
    const Bytes bytes = random_bytes(size);
    CHECK(gunzip(gzip(bytes), size, "test") == bytes);
  }
}

TEST_CASE("gzip: other bytes pass through") {
  CHECK(gunzip({}, 10, "test").empty());
  CHECK(gunzip({0x1f}, 10, "test") == Bytes{0x1f});
  CHECK(gunzip({0, 0, 8, 1}, 2, "test") == Bytes{0, 0, 8, 1});
}

TEST_CASE("gzip: truncated at every byte is one clear error") {
  const Bytes whole = gzip(random_bytes(500));
  for (std::size_t size = 2; size < whole.size(); ++size) {
    const Bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK(message_of([&] { gunzip(part, 500, "images.gz"); }) ==
          "images.gz is not a sound gzip file: it ends after " + std::to_string(size) +
              " bytes, in the middle of the data; fetch or install it again.");
  }
}

TEST_CASE("gzip: damaged data is refused") {
  const Bytes whole = gzip(random_bytes(300));
  const auto flipped = [&](std::size_t from_end) {
    Bytes damaged = whole;
    damaged[whole.size() - from_end] ^= 1;
    return message_of([&] { gunzip(damaged, 1000, "test"); });
  };
  CHECK_THAT(flipped(8), ContainsSubstring("incorrect data check"));
  CHECK_THAT(flipped(4), ContainsSubstring("incorrect length check"));
  CHECK_FALSE(flipped(100).empty());
}

TEST_CASE("gzip: trailing bytes, a second member too, are refused") {
  Bytes bytes = gzip(random_bytes(10));
  bytes.push_back(0);
  CHECK_THAT(message_of([&] { gunzip(bytes, 100, "test"); }),
             ContainsSubstring("1 bytes follow its end"));
  Bytes twice = gzip(random_bytes(10));
  const Bytes copy = twice;
  twice.insert(twice.end(), copy.begin(), copy.end());
  CHECK_THAT(message_of([&] { gunzip(twice, 100, "test"); }),
             ContainsSubstring("bytes follow its end"));
}

TEST_CASE("gzip: a bomb is refused at the limit") {
  const Bytes bomb = gzip(Bytes(20'000'000));
  CHECK(bomb.size() < 30'000);
  CHECK(message_of([&] { gunzip(bomb, 1'000'000, "bomb.gz"); }) ==
        "bomb.gz is not a sound gzip file: it unpacks to more than 1000000 bytes; fetch or install "
        "it again.");
  CHECK_THROWS_AS(gunzip(bomb, 19'999'999, "bomb.gz"), EnvironmentError);
}
