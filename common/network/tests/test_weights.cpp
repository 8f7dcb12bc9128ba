#include <zlib.h>

#include <cmath>
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

Preset small() {
  return {.name = "small",
          .title = "",
          .image_size = 2,
          .layers = {ConvLayer{.out_channels = 2, .kernel = 2}, DenseLayer{.units = 2}}};
}

Weights example() {
  Weights weights = empty_weights(small());
  weights.parameters[0].values = {1, -2, 3, 4.5f, 5, 6e-20f, 7, -8};
  // Whole multiples of their row's scale, which int8 keeps.
  weights.parameters[1].values = {127, -127, 0, 0};
  weights.parameters[2].values = {0.25f, -1};
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
  return message_of([&] { parse_weights(bytes, small(), "x.clw"); });
}

constexpr std::size_t kFirstValue = 8 + 4 + 13 + 4 + 4 + 4 * 4;

}  // namespace

TEST_CASE("weights: what is written is read, little-endian") {
  const Weights written = example();
  const std::vector<std::uint8_t> bytes = bytes_of(written);
  const Weights read = parse_weights(bytes, small(), "x.clw");
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(read.parameters[i].values == written.parameters[i].values);
  }
  const std::vector<std::uint8_t> head = {'C', 'L', 'W', '1', 3, 0, 0, 0, 13, 0, 0, 0, 'c'};
  CHECK(std::equal(head.begin(), head.end(), bytes.begin()));
  CHECK(std::vector(bytes.begin() + kFirstValue, bytes.begin() + kFirstValue + 4) ==
        std::vector<std::uint8_t>{0, 0, 0x80, 0x3f});
}

TEST_CASE("weights: int8 rows are off by half a step at most, and stable once stored") {
  Preset preset = small();
  preset.layers = {DenseLayer{.units = 75}};
  Weights weights = empty_weights(preset);
  std::vector<float>& values = weights.parameters[0].values;
  for (int i = 0; i < 300; ++i) values.push_back(std::sin(static_cast<float>(i) * 1.7f));
  weights.parameters[1].values.resize(75);
  const Weights stored = parse_weights(bytes_of(weights), preset, "x.clw");
  for (std::size_t i = 0; i < 300; ++i) {
    CHECK(std::fabs(stored.parameters[0].values[i] - values[i]) <= 0.5f / 127 + 1e-6f);
  }
  CHECK(bytes_of(stored) == bytes_of(weights));
}

// Other damage: grader/class/tests/fuzz_files.cpp.
TEST_CASE("weights: a file that is cut, damaged, longer or of another network is refused") {
  const std::vector<std::uint8_t> whole = bytes_of(example());
  REQUIRE(complaint_about(whole).empty());
  const auto complaint = [&](std::size_t at, std::uint8_t value, bool fits = true) {
    std::vector<std::uint8_t> bytes = whole;
    bytes[at] = value;
    if (fits) seal(bytes);  // so that the check of the structure must notice
    return complaint_about(bytes);
  };
  CHECK(contains(complaint(3, '2'), "The weight file x.clw does not start with CLW1"));
  CHECK(contains(complaint(40, 9, false), "is damaged or truncated (checksum)"));
  for (std::size_t at = 4; at < kFirstValue; ++at) {  // every byte in front of values is known
    CHECK(contains(complaint(at, whole[at] ^ 0x10), "does not have the layers of network small"));
  }
  std::vector<std::uint8_t> bytes(whole.begin(), whole.end() - 1);
  CHECK(contains(complaint_about(bytes), "is damaged or truncated (checksum)"));
  seal(bytes);
  CHECK(contains(complaint_about(bytes), "is truncated"));
  bytes = whole;
  bytes.insert(bytes.end() - 4, {1, 2, 3});
  seal(bytes);
  CHECK(contains(complaint_about(bytes), "has 3 bytes too many"));
  bytes = whole;
  bytes[kFirstValue + 2] = 0x80;
  bytes[kFirstValue + 3] = 0x7f;
  seal(bytes);
  CHECK(contains(complaint_about(bytes), "holds a value that is not finite"));
}
