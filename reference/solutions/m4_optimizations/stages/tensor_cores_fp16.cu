// Tensor cores, half precision.
//
// Idea     A tensor core multiplies a 16×16 by a 16×16 matrix of halves in one warp-wide operation
//          and adds in single precision. fused-gemm fills its tile too slowly for that: it stores
//          every input K·K times in shared memory. Here a matrix column is not the window of one
//          output but a window of 16 input columns that serves 8 neighbouring outputs. The next
//          window begins 8 columns further on, so every input is stored twice instead of 49 times.
// Picture  one row p of the kernel and one channel, K = 7:
//
//              weights, 8 rows for each map                  windows of the input row h + p
//              w0 w1 w2 w3 w4 w5 w6 0  0  0  0  0  0 0 0 0     x0  x8  x16 …
//              0  w0 w1 w2 w3 w4 w5 w6 0  0  0  0  0 0 0 0     x1  x9  x17 …
//              0  0  w0 w1 w2 w3 w4 w5 w6 0  0  0  0 0 0 0  ×  …
//              …                                               x14 x22 x30 …
//              0  0  0  0  0  0  0  w0 w1 w2 w3 w4 w5 w6 0 0   x15 x23 x31 …
//
//          Row j of a map times window g is the part of output column 8·g + j that comes from this
//          kernel row. The sum over all K rows and C channels stays in accumulator fragments. The
//          windows of all rows lie one after the other in shared memory, so that the matrix for the
//          next row p is the same memory, one row of windows further on.
// Cost     7 of 16 products are with weights, the others with zeros: 16/7 of the arithmetic, but
//          tensor cores are fast enough. Shared memory: 2 stores for an input, and one fragment
//          load for 1.3 operations (fused: 49 stores, and one load for an operation).
// Expect   tensor cores or memory are the limit, no longer the filling of the tile. Inputs are
//          rounded to 11 bits: precision class fp16. Strides above 1 and kernels above 9 use
//          any_shape_product.cuh.
// Code     the loops are in ../wmma_strips.cuh, because tensor-cores-tf32 has the same loops
// Run      build/bin/m4 1000 --stage tensor-cores-fp16 --solution reference

#include <cuda_fp16.h>
#include <mma.h>

#include "reference/solutions/m4_optimizations/wmma_strips.cuh"

namespace {

using namespace convlab::tensor_cores;
using convlab::ConvShape;

// One chunk of 16 halves for each window.
struct HalfWindows : HalfOperand {
  template <class Fragment>
  static __device__ void load(Fragment& fragment, const half* from) {
    nvcuda::wmma::load_matrix_sync(fragment, from, kWindowColumns);
  }

  // windows (channels, input_rows, groups, 16): every pair of columns goes into two windows.
  static __device__ void load_input(half* windows, const float* image, const ConvShape& shape,
                                    int first_row, int input_rows, int groups) {
    constexpr int kGroupPairs = kGroupColumns / 2;
    constexpr int kWindowPairs = kWindowColumns / 2;
    half2* pairs = reinterpret_cast<half2*>(windows);
    const auto store = [=](const auto& at, float2 pair) {
      const half2 both = __floats2half2_rn(pair.x, pair.y);
      const int group = at.x / kGroupPairs;
      half2* window = pairs + ((at.channel * input_rows + at.y) * groups + group) * kWindowPairs +
                      at.x % kGroupPairs;
      if (group < groups) *window = both;
      if (group > 0) *(window - kWindowPairs + kGroupPairs) = both;  // as its right half
    };
    load_strip<kThreads>(image, shape, first_row, input_rows, (groups + 1) * kGroupPairs, store);
  }
};

class TensorCoresFp16 final : public WmmaStrips<HalfWindows> {
  void choose() override {
    // 8 maps in a block if that leaves room for the input, otherwise 4.
    if (shape().out_channels % 8 != 0 || !plan_tiles<4, 2>()) plan_tiles<2, 4>();
  }

  void launch_product(float* output, const float* input, const float* weights,
                      const ConvShape& shape) override {
    // Few maps: the operation with the fewest rows, 8×32×16.
    const auto product = shape.out_channels <= 8 ? launch_any_shape<HalfOperand, 8, 32>
                                                 : launch_any_shape<HalfOperand, 16, 16>;
    product(output, input, weights, shape);
  }
};

const convlab::LadderStage<TensorCoresFp16> stage("tensor-cores-fp16",
                                                  "Tensor cores (WMMA), half precision");

}  // namespace
