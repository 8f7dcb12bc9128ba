// Fewer multiplications: Winograd's short filters.
//
// Idea     Two neighbouring outputs of a filter with three taps take six multiplications.
//          Winograd's method takes four, with sums of inputs and of weights that are computed
//          before:
//
//              m1 = (d0 - d2) · g0                    y0 = d0·g0 + d1·g1 + d2·g2 = m1 + m2 + m3
//              m2 = (d1 + d2) · (g0 + g1 + g2)/2      y1 = d1·g0 + d2·g1 + d3·g2 = m2 - m3 - m4
//              m3 = (d2 - d1) · (g0 - g1 + g2)/2
//              m4 = (d1 - d3) · g2
//
//          A row of 7 weights is two such filters and one more weight: 7 = 3 + 3 + 1. The m of both
//          filters and of all rows and channels are added first. Then y0 and y1 are computed once.
// Picture  one row of a window, outputs w and w + 1:
//
//              d0 d1 d2 d3 d4 d5 d6 d7
//              └─ F(2,3) ─┘                 4 multiplications
//                       └─ F(2,3) ─┘        4                      10 instead of 14
//                                d6 d7      2
//
// Cost     10/14 of the multiply-adds; 8 additions for each row of inputs, which 4 maps share; 4
//          sums instead of 2 for two outputs, so 48 registers for 2 × 3 outputs of 4 maps, and 72
//          for their inputs. A small kernel transforms the weights first, at each call.
// Expect   a gain over the same kernel without Winograd if arithmetic is the limit, but less than
//          1.4 times. Accuracy: m1 subtracts d2·g0 from y0, and m2 and m3 add it again. If g0 is
//          large and the weight of d2 is small, the error is that of the large product. On test
//          images it reached 46 units of 2^-24 · Σ|a||b|, and fp32 allows 32, so the stage declares
//          the next class. Windows of zeros give exactly zero, because y0 uses only d0 to d2.
// Run      cmake --build --preset lab --target m4 && build/bin/m4 100 --stage winograd
//          build/bin/grader check m4 --stage winograd
// Read     docs/ladder/winograd.md

#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

/// A thread computes two columns of some rows and maps. Fill in: about 60 lines, and a kernel of
/// about 20 lines that transforms the weights.
__global__ void conv_forward_kernel(float* output, const float* input, const float* weights,
                                    ConvShape shape) {}

class Winograd : public convlab::DeviceConvolution {
  /// Allocates memory for the transformed weights: 1 line.
  void prepare() override {}
  void release() override {}

  /// Transforms the weights, then convolves; a general kernel if the stride is not 1: 20 lines.
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    // Your code replaces this line.
    convlab::not_implemented("milestones/m4_optimizations/stages/winograd.cu");
  }

  convlab::DeviceBuffer<float> transformed_;
};

// Tells the program about your class; leave it as it is.
const convlab::LadderStage<Winograd> stage("winograd", "Your Winograd convolution");

}  // namespace
