#pragma once

#include <cstdint>
#include <vector>

namespace convlab::training {

struct Loss {
  double sum = 0;   ///< over the images, of −log of the true class's probability
  int correct = 0;  ///< images whose largest logit is the true class
};

/// Softmax and cross-entropy.
/// @param logits    images × classes
/// @param d_logits  receives the gradient of the mean loss of these images
Loss cross_entropy(const float* logits, const std::uint8_t* labels, int images, int classes,
                   float* d_logits);

}  // namespace convlab::training
