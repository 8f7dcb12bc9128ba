#include "reference/training/evaluate.hpp"

#include <algorithm>
#include <vector>

#include "common/data/resize.hpp"
#include "reference/training/layer.hpp"

namespace convlab::training {

int count_correct(const Network& network, const Dataset& dataset) {
  // In pieces, to save memory.
  constexpr int kPiece = 500;
  const Preset& preset = network.preset();
  const auto size = static_cast<std::ptrdiff_t>(dataset.height) * dataset.width;
  int correct = 0;
  for (int first = 0; first < dataset.count; first += kPiece) {
    const int count = std::min(kPiece, dataset.count - first);
    const auto begin = dataset.images.begin() + first * size;
    const Dataset piece{.count = count,
                        .height = dataset.height,
                        .width = dataset.width,
                        .images = {begin, begin + count * size},
                        .labels = {}};
    const std::vector<float> logits = network.forward(
        resize_images(piece, count, preset.image_size), count,
        [](int /*conv_index*/, const ConvShape& shape, const float* input, const float* weights,
           float* output) { convolve(shape, input, weights, output); });
    const std::vector<int> classes = argmax(logits, preset.classes);
    for (int i = 0; i < count; ++i) {
      const auto image = static_cast<std::size_t>(i);
      if (classes[image] == dataset.labels[static_cast<std::size_t>(first) + image]) ++correct;
    }
  }
  return correct;
}

}  // namespace convlab::training
