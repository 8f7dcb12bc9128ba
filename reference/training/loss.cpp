#include "reference/training/loss.hpp"

#include <algorithm>
#include <cmath>

namespace convlab::training {

Loss cross_entropy(const float* logits, const std::uint8_t* labels, int images, int classes,
                   float* d_logits) {
  Loss loss;
  std::vector<double> powers(static_cast<std::size_t>(classes));
  for (int i = 0; i < images; ++i, logits += classes, d_logits += classes) {
    const int label = labels[i];
    // The largest exponent becomes 0, so that no power overflows.
    const float* largest = std::max_element(logits, logits + classes);
    double sum = 0;
    for (int c = 0; c < classes; ++c) {
      powers[static_cast<std::size_t>(c)] = std::exp(double{logits[c]} - double{*largest});
      sum += powers[static_cast<std::size_t>(c)];
    }
    for (int c = 0; c < classes; ++c) {
      const double probability = powers[static_cast<std::size_t>(c)] / sum;
      d_logits[c] = static_cast<float>((probability - (c == label ? 1 : 0)) / images);
    }
    loss.sum += std::log(sum) - (double{logits[label]} - double{*largest});
    if (largest - logits == label) ++loss.correct;
  }
  return loss;
}

}  // namespace convlab::training
