// Makes a stage of a file that implements the course's GPUInterface.
//
// All forms of the interface are declared; a file defines some of them. The rest is defined here,
// weakly: where the file has no definition, the linker takes this one, and each of these hands on
// to the form that the file may have instead. The stage always calls the form with a stride:
//
//     with a stride  ──(not defined)──→  without  ──(not defined)──→  FA20: host pointers
//
// That of FA20 hands on to conv_forward_gpu_full, the one function of another course.
//
// In each of the three, arrays of the host may also be without const, as in older headers: when the
// file is linked, objcopy gives those functions the names of the others (older_forms).
//
// A file without a stride computes every output, of which the stage then keeps each S-th row and
// column. So the grader's cases with strides try it as well; all networks have stride 1.

#include <cstdint>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "common/base/error.hpp"
#include "common/custom_submission/course_interface/gpu-new-forward.h"
#include "common/custom_submission/course_interface/matmul.h"
#include "common/stage/stage.hpp"

#pragma GCC diagnostic ignored "-Wunused-parameter"  // of the forms that another takes over

#define CONVLAB_UNLESS_DEFINED __attribute__((weak)) void GPUInterface::

namespace {

using convlab::ConvShape;

// What the forms without a stride, and the FA20 form in which one function does everything, need
// from one phase to the next.
struct HostArrays {
  const float* input = nullptr;
  const float* mask = nullptr;
  float* output = nullptr;           // where the file writes: the stage's output, or all_outputs
  bool one_function = false;         // the file is of the FA20 form
  std::vector<float> all_outputs{};  // of stride 1, where the stride is larger
};
HostArrays host;

}  // namespace

CONVLAB_UNLESS_DEFINED get_device_properties() {}

// ---- with a stride ------------------------------------------------------------------------------

CONVLAB_UNLESS_DEFINED conv_forward_gpu_prolog(const float* host_output, const float* host_input,
                                               const float* host_mask, CONVLAB_DEVICE_ARRAYS,
                                               CONVLAB_SIZES, const int S) {
  if (S > 1) {
    host.all_outputs.resize(std::size_t{1} * B * M * (H - K + 1) * (W - K + 1));
    host.output = host.all_outputs.data();
  }
  conv_forward_gpu_prolog(S > 1 ? host.output : host_output, host_input, host_mask,
                          device_output_ptr, device_input_ptr, device_mask_ptr, B, M, C, H, W, K);
}

CONVLAB_UNLESS_DEFINED conv_forward_gpu(float* device_output, const float* device_input,
                                        const float* device_mask, CONVLAB_SIZES, const int /*S*/) {
  if (host.one_function) {
    conv_forward_gpu(host.output, host.input, host.mask, B, M, C, H, W, K);
  } else {
    conv_forward_gpu(device_output, device_input, device_mask, B, M, C, H, W, K);
  }
}

CONVLAB_UNLESS_DEFINED conv_forward_gpu_epilog(float* host_output, float* device_output,
                                               float* device_input, float* device_mask,
                                               CONVLAB_SIZES, const int S) {
  conv_forward_gpu_epilog(S > 1 ? host.output : host_output, device_output, device_input,
                          device_mask, B, M, C, H, W, K);
  if (S == 1) return;
  const int all_rows = H - K + 1;
  const int all_columns = W - K + 1;
  for (std::int64_t map = 0; map < std::int64_t{B} * M; ++map) {
    for (int h = 0; h < all_rows; h += S) {
      const float* row = host.output + (map * all_rows + h) * all_columns;
      for (int w = 0; w < all_columns; w += S) *host_output++ = row[w];
    }
  }
}

// ---- without a stride ---------------------------------------------------------------------------

CONVLAB_UNLESS_DEFINED conv_forward_gpu_prolog(const float*, const float*, const float*,
                                               CONVLAB_DEVICE_ARRAYS, CONVLAB_SIZES) {
  host.one_function = true;
}

CONVLAB_UNLESS_DEFINED conv_forward_gpu_epilog(float*, float*, float*, float*, CONVLAB_SIZES) {}

// No file without a function that computes is linked.
CONVLAB_UNLESS_DEFINED conv_forward_gpu(float* output, const float* input, const float* mask,
                                        CONVLAB_SIZES) {
  ::conv_forward_gpu_full(output, input, mask, B, M, C, H, W, K);
}

__attribute__((weak)) void conv_forward_gpu_full(float*, const float*, const float*,
                                                 CONVLAB_SIZES) {
  throw convlab::NotImplementedError("There is no GPUInterface::conv_forward_gpu.");
}

namespace {

#define CONVLAB_SIZES_OF(s) \
  s.batch, s.out_channels, s.in_channels, s.height, s.width, s.kernel, s.stride

class GpuInterfaceConvolution final : public convlab::Convolution {
 public:
  void prolog(const ConvShape& shape, const float* input, const float* weights,
              float* output) override {
    shape_ = shape;
    host_output_ = output;
    host = {.input = input, .mask = weights, .output = output};
    const float* const host_output = output;
    interface_.conv_forward_gpu_prolog(host_output, input, weights, &output_, &input_, &mask_,
                                       CONVLAB_SIZES_OF(shape));
  }
  void convolve() override {
    const float* const input = input_;
    const float* const mask = mask_;
    interface_.conv_forward_gpu(output_, input, mask, CONVLAB_SIZES_OF(shape_));
  }
  void epilog() override {
    interface_.conv_forward_gpu_epilog(host_output_, output_, input_, mask_,
                                       CONVLAB_SIZES_OF(shape_));
  }

 private:
  GPUInterface interface_;
  ConvShape shape_;
  float* host_output_ = nullptr;
  float* output_ = nullptr;
  float* input_ = nullptr;
  float* mask_ = nullptr;
};

const convlab::ConvolutionStage<GpuInterfaceConvolution> stage({.id = "source",
                                                                .title = "The given source file"});

}  // namespace
