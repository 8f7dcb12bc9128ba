#include "reference/training/batches.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/data/random.hpp"

namespace convlab::training {

namespace {

// A generator for each purpose, epoch and place.
Random random_for(std::uint64_t seed, int epoch, int place) {
  Random seeds(seed);
  const std::uint64_t mixed = seeds.next() + static_cast<std::uint64_t>(epoch);
  Random epochs(mixed);
  return Random(epochs.next() + static_cast<std::uint64_t>(place));
}

void copy_mirrored_and_shifted(const std::uint8_t* source, int height, int width, bool mirror,
                               int down, int right, std::uint8_t* target) {
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const int from_y = y - down;
      const int from_x = mirror ? width - 1 - (x - right) : x - right;
      const bool inside = from_y >= 0 && from_y < height && from_x >= 0 && from_x < width;
      target[y * width + x] = inside ? source[from_y * width + from_x] : std::uint8_t{0};
    }
  }
}

}  // namespace

std::vector<int> epoch_order(int count, std::uint64_t seed, int epoch) {
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  Random random = random_for(seed, epoch, -1);
  for (int i = count - 1; i > 0; --i) {
    std::swap(order[static_cast<std::size_t>(i)],
              order[static_cast<std::size_t>(random.below(i + 1))]);
  }
  return order;
}

Dataset batch_of(const Dataset& dataset, const std::vector<int>& order, int first, int count,
                 bool augment, std::uint64_t seed, int epoch) {
  Dataset batch{
      .count = count, .height = dataset.height, .width = dataset.width, .images = {}, .labels = {}};
  const int size = dataset.height * dataset.width;
  batch.images.resize(static_cast<std::size_t>(count) * static_cast<std::size_t>(size));
  for (int i = 0; i < count; ++i) {
    const std::size_t place = static_cast<std::size_t>(first) + static_cast<std::size_t>(i);
    const auto index = static_cast<std::size_t>(order[place]);
    const std::uint8_t* source = dataset.images.data() + index * static_cast<std::size_t>(size);
    std::uint8_t* target = batch.images.data() + static_cast<std::ptrdiff_t>(i) * size;
    if (augment) {
      Random random = random_for(seed, epoch, first + i);
      const bool mirror = random.below(2) == 1;
      const int down = random.between(-1, 1);
      const int right = random.between(-1, 1);
      copy_mirrored_and_shifted(source, dataset.height, dataset.width, mirror, down, right, target);
    } else {
      std::copy_n(source, size, target);
    }
    batch.labels.push_back(dataset.labels[index]);
  }
  return batch;
}

}  // namespace convlab::training
