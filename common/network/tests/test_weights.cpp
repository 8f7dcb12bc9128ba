#include <zlib.h>

#include <cmath>
#include <limits>
#include <string>

#include "common/base/error.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/base/tests/support/message_of.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
#include "common/network/weights.hpp"

using namespace convlab;
using convlab::testing::contains;
using convlab::testing::message_of;

namespace {

Weights example() {
  Weights weights;
  weights.parameters.push_back(
      {"conv1.weights", Encoding::kFloat32, {2, 1, 2, 2}, {1, -2, 3, 4.5f, 5, 6e-20f, 7, -8}});
  weights.parameters.push_back(
      {"dense1.weights", Encoding::kInt8PerRow, {2, 3}, {127, -127, 64, 0, 0, 0}});
  weights.parameters.push_back({"dense1.bias", Encoding::kFloat32, {2}, {0.25f, -1}});
  return weights;
}

std::vector<std::uint8_t> bytes_of(const Weights& weights) {
  const convlab::testing::TemporaryFolder folder;
  write_weights(folder.path() / "x.clw", weights);
  return read_bytes(folder.path() / "x.clw", 1 << 20);
}

// Makes the checksum right again after a change on purpose.
void seal(std::vector<std::uint8_t>& bytes) {
  const auto crc = static_cast<std::uint32_t>(crc32_z(0, bytes.data(), bytes.size() - 4));
  for (std::size_t i = 0; i < 4; ++i) {
    bytes[bytes.size() - 4 + i] = static_cast<std::uint8_t>(crc >> (8 * i));
  }
}

// Empty if they are accepted.
std::string complaint_about(const std::vector<std::uint8_t>& bytes) {
  return message_of([&] { parse_weights(bytes, "x.clw"); });
}

}  // namespace

TEST_CASE("weights: what is written is read") {
  const Weights written = example();
  const Weights read = parse_weights(bytes_of(written), "x.clw");
  REQUIRE(read.parameters.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(read.parameters[i].name == written.parameters[i].name);
    CHECK(read.parameters[i].dims == written.parameters[i].dims);
    CHECK(read.parameters[i].encoding == written.parameters[i].encoding);
    // The example's int8 values are whole multiples of their row's scale, so they survive too.
    CHECK(read.parameters[i].values == written.parameters[i].values);
  }
}

TEST_CASE("weights: int8 rows are off by half a step at most, and stable once stored") {
  Weights weights;
  Parameter dense{"dense1.weights", Encoding::kInt8PerRow, {3, 100}, {}};
  for (int i = 0; i < 300; ++i) dense.values.push_back(std::sin(static_cast<float>(i) * 1.7f));
  weights.parameters.push_back(dense);
  const Weights stored = parse_weights(bytes_of(weights), "x.clw");
  for (std::size_t i = 0; i < 300; ++i) {
    CHECK(std::fabs(stored.parameters[0].values[i] - dense.values[i]) <= 0.5f / 127 + 1e-6f);
  }
  CHECK(bytes_of(stored) == bytes_of(weights));
}

TEST_CASE("weights: the format on disk is little-endian, byte for byte") {
  Weights weights;
  weights.parameters.push_back({"b", Encoding::kFloat32, {1}, {1.0f}});
  const std::vector<std::uint8_t> bytes = bytes_of(weights);
  const std::vector<std::uint8_t> expected = {'C', 'L', 'W', '1', 1, 0, 0, 0,    1,   0,
                                              0,   0,   'b', 0,   0, 0, 0, 1,    0,   0,
                                              0,   1,   0,   0,   0, 0, 0, 0x80, 0x3f};
  REQUIRE(bytes.size() == expected.size() + 4);
  CHECK(std::equal(expected.begin(), expected.end(), bytes.begin()));
}

TEST_CASE("weights: a file cut anywhere is refused") {
  const std::vector<std::uint8_t> whole = bytes_of(example());
  REQUIRE(complaint_about(whole).empty());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    std::vector<std::uint8_t> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK(contains(complaint_about(cut), "The weight file x.clw "));
    // The checksum matches the cut file, so the check of the structure must notice.
    if (size > 12) {
      seal(cut);
      CHECK_FALSE(complaint_about(cut).empty());
    }
  }
}

TEST_CASE("weights: damage, trailing bytes and absurd sizes are refused") {
  const std::vector<std::uint8_t> whole = bytes_of(example());
  for (std::size_t i = 4; i < whole.size(); ++i) {
    std::vector<std::uint8_t> damaged = whole;
    damaged[i] ^= 0x10;
    CHECK(contains(complaint_about(damaged), "is damaged or truncated (checksum)"));
  }
  std::vector<std::uint8_t> other = whole;
  other[3] = '2';
  CHECK(contains(complaint_about(other), "does not start with CLW1"));

  std::vector<std::uint8_t> longer = whole;
  longer.insert(longer.end() - 4, {1, 2, 3});
  seal(longer);
  CHECK(contains(complaint_about(longer), "has 3 bytes too many"));

  std::vector<std::uint8_t> huge = whole;
  const std::size_t first_dim = 8 + 4 + 13 + 4 + 4;
  huge[first_dim + 3] = 0x7f;
  seal(huge);
  CHECK(contains(complaint_about(huge), "claims a parameter of absurd size"));

  std::vector<std::uint8_t> infinite = whole;
  infinite[first_dim + 4 * 4 + 2] = 0x80;
  infinite[first_dim + 4 * 4 + 3] = 0x7f;
  seal(infinite);
  CHECK(contains(complaint_about(infinite), "holds a value that is not finite"));

  // A finite scale whose largest code is beyond a float.
  std::vector<std::uint8_t> overflowing = whole;
  const std::size_t first_scale = first_dim + 4 * 4 + 8 * 4 + 4 + 14 + 4 + 4 + 2 * 4;
  overflowing[first_scale + 3] = 0x7f;
  overflowing[first_scale + 2] = 0;
  seal(overflowing);
  CHECK(contains(complaint_about(overflowing), "holds a value that is not finite"));
}

TEST_CASE("weights: missing files and unwritable folders are one sentence") {
  CHECK_THROWS_AS(read_weights("/nonexistent/x.clw"), EnvironmentError);
  CHECK_THROWS_AS(write_weights("/dev/null/x.clw", example()), EnvironmentError);
}

TEST_CASE("weights: they must fit the preset") {
  const Preset preset = load_preset("fa23");
  Weights weights = empty_weights(preset);
  REQUIRE(weights.parameters.size() == 6);
  CHECK(weights.parameters[2].name == "dense1.weights");
  CHECK(weights.parameters[2].dims == std::vector<int>{32, 1296});
  CHECK_NOTHROW(check_weights(preset, weights));
  weights.parameters[1].dims[0] = 17;
  CHECK(message_of([&] { check_weights(preset, weights); }) ==
        "Network fa23 needs conv2.weights of 16×4×7×7, its weight file has conv2.weights of "
        "17×4×7×7; train the preset again.");
  weights.parameters.pop_back();
  CHECK_THROWS_AS(check_weights(preset, weights), EnvironmentError);
}
