#include "common/device/input_copies.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

namespace convlab {

namespace {

constexpr std::int64_t kKeyWords = 4;

/// The first numbers of an image, bit by bit; an image may have fewer.
using Key = std::array<std::uint32_t, kKeyWords>;

/// The searched array.
struct Wanted {
  std::map<Key, int> images{};  ///< by what they begin with
  std::vector<Key> ends{};      ///< what they end with: in padded rows it lies elsewhere
  std::int64_t image_bytes = 0;
  std::int64_t key_bytes = 0;
};

Key key_at(const std::byte* place, std::int64_t bytes) {
  Key key{};
  std::memcpy(key.data(), place, static_cast<std::size_t>(bytes));
  return key;
}

Wanted describe(const float* input, const ConvShape& shape) {
  constexpr auto kWord = static_cast<std::int64_t>(sizeof(float));
  Wanted wanted{.image_bytes = shape.input_image_size() * kWord,
                .key_bytes = std::min(shape.input_image_size(), kKeyWords) * kWord};
  const auto* const bytes = reinterpret_cast<const std::byte*>(input);
  for (int image = 0; image < shape.batch; ++image) {
    const std::byte* const begin = bytes + image * wanted.image_bytes;
    wanted.images.emplace(key_at(begin, wanted.key_bytes), image);
    wanted.ends.push_back(key_at(begin + wanted.image_bytes - wanted.key_bytes, wanted.key_bytes));
  }
  return wanted;
}

// The consecutive images at this place.
InputCopies::Part part_at(DeviceSession& device, std::byte* place, std::int64_t room,
                          const Wanted& wanted, int batch) {
  const int rows = static_cast<int>(std::min<std::int64_t>(room / wanted.image_bytes, batch));
  std::vector<std::byte> begins(static_cast<std::size_t>(rows * wanted.key_bytes));
  std::vector<std::byte> ends(begins.size());
  const auto read = [&](std::byte* from, std::vector<std::byte>& to) {
    return device.read_rows(from, wanted.image_bytes, wanted.key_bytes, rows, to.data());
  };
  if (rows <= 0 || !read(place, begins) ||
      !read(place + wanted.image_bytes - wanted.key_bytes, ends)) {
    return {};
  }
  InputCopies::Part part{.begin = place};
  for (; part.images < rows; ++part.images) {
    const std::int64_t at = part.images * wanted.key_bytes;
    const auto found = wanted.images.find(key_at(begins.data() + at, wanted.key_bytes));
    if (found == wanted.images.end()) break;
    if (part.images == 0) part.first = found->second;
    if (found->second != part.first + part.images) break;
    if (key_at(ends.data() + at, wanted.key_bytes) !=
        wanted.ends[static_cast<std::size_t>(found->second)]) {
      break;
    }
  }
  return part;
}

bool covers_all(const std::vector<InputCopies::Part>& parts, int batch) {
  std::vector<bool> present(static_cast<std::size_t>(batch));
  for (const InputCopies::Part& part : parts) {
    std::fill_n(present.begin() + part.first, part.images, true);
  }
  return std::ranges::find(present, false) == present.end();
}

}  // namespace

InputCopies find_copies(DeviceSession& device, const float* input, const ConvShape& shape) {
  InputCopies copies;
  const auto allocations = device.allocations();
  if (!allocations) return copies;
  copies.known = true;
  const Wanted wanted = describe(input, shape);
  const Key first = key_at(reinterpret_cast<const std::byte*>(input), wanted.key_bytes);
  const std::vector<std::uint32_t> words(
      first.begin(), first.begin() + wanted.key_bytes / std::int64_t{sizeof(std::uint32_t)});
  for (const MemoryRange& range : *allocations) {
    std::vector<std::byte*> places = {range.begin};
    for (std::byte* place : device.places_of(range, words)) {
      if (place != range.begin) places.push_back(place);
    }
    for (std::byte* place : places) {
      const std::int64_t room = range.bytes - (place - range.begin);
      const InputCopies::Part part = part_at(device, place, room, wanted, shape.batch);
      if (part.images > 0) copies.parts.push_back(part);
    }
  }
  copies.complete = covers_all(copies.parts, shape.batch);
  return copies;
}

void overwrite(DeviceSession& device, const InputCopies& copies, const float* input,
               const ConvShape& shape) {
  for (const InputCopies::Part& part : copies.parts) {
    device.overwrite(part.begin, input + part.first * shape.input_image_size(),
                     part.images * shape.input_image_size());
  }
}

}  // namespace convlab
