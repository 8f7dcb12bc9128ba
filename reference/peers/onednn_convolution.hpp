#pragma once

#include <memory>

#include "common/tensor/conv_shape.hpp"

namespace convlab {

/// The forward convolution of oneDNN, what a user on a CPU would call instead of writing one.
/// Links only into benchmarks and their test, never into anything that is handed in.
class OnednnConvolution {
 public:
  enum class Layout {
    kPlain,    ///< input and output in the order of ConvShape ("nchw"), as every stage has them
    kBlocked,  ///< whatever order oneDNN likes best ("any"); converting is left out of run()
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
