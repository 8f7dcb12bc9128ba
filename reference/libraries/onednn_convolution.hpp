#pragma once

#include <memory>

#include "common/base/conv_shape.hpp"

namespace convlab {

/// The forward convolution of oneDNN, which a user on a CPU would call instead of writing one.
/// Linked only into benchmarks and their test, never into a submission.
class OnednnConvolution {
 public:
  enum class Layout {
    kPlain,    ///< input and output in the order of ConvShape ("nchw"), as every stage has them
    kBlocked,  ///< the order that oneDNN prefers ("any"); run() does not include the conversion
  };

  /// Creates the primitive and, for kBlocked, converts the arrays. They outlive this object.
  OnednnConvolution(const ConvShape& shape, Layout layout, const float* input, const float* weights,
                    float* output);
  ~OnednnConvolution();
  OnednnConvolution(const OnednnConvolution&) = delete;
  OnednnConvolution& operator=(const OnednnConvolution&) = delete;

  /// The convolution alone, with as many threads as OpenMP has. Returns when it is done.
  void run();

  /// Puts the result into `output` in the order of ConvShape; needed after run() with kBlocked.
  void fetch_output();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace convlab
