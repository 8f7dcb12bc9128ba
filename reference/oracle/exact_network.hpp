#pragma once

#include <vector>

#include "common/network/network.hpp"

namespace convlab::oracle {

/// The answer of a network for one image, computed in double precision.
struct ExactPrediction {
  int predicted = 0;  ///< class of the largest logit
  /// False if another class may win when each layer errs by as much as fp32 allows. Such an image
  /// is undecided: it proves nothing about a submission.
  bool decided = true;
  std::vector<double> logits;
  std::vector<double> bounds;  ///< single precision stays within logit ± bound
};

/// The forward pass in double precision with an error bound for every number.
///
/// A layer passes on the error of its inputs and adds what single precision may add. For a
/// convolution or a dense layer with inputs x ± e,
///
///     e_out = Σ |w|·e + B·u·(Σ |w|·(|x| + e) + |bias|)        B = 32, u = 2^-24
///
/// with the B of error_bound(Precision::kFp32). ReLU and pooling take intervals; tanh is
/// 1-Lipschitz and is computed within a few units in the last place.
///
/// @param images  batch × image_size × image_size
std::vector<ExactPrediction> predict_exactly(const Network& network,
                                             const std::vector<float>& images, int batch);

}  // namespace convlab::oracle
