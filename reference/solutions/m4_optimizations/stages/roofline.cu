// At the roofline: tensor cores that are as fast as a copy of the data.
//
// Idea     At 10 000 images of network fa23 a convolution must read 0.30 and 0.26 GB and write 1.02
//          and 0.74 GB. That takes a copy 0.34 and 0.26 ms. Tensor cores do the products in a third
//          of the time, if they get their operands without detours: no matrix is unrolled, and each
//          element is loaded, converted and stored once.
// Picture  column_pairs.cuh: how a convolution becomes matrix products without shifted copies
//          half_convolution.cuh: the two kernels, for one channel and for several
//          many_maps.cuh: a third one, for layers with more weights than registers
// Cost     one load and one store of each element; per block of 4 maps × 2 rows × 16 columns four
//          matrix operations, of which 49 / 64 are products that count
// Expect   the time of a copy that moves the same tiles, plus a few per cent. What is left are the
//          beginning and the end of each block, where the memory waits for arithmetic.
// Run      build/bin/m4 10000 --stage roofline --solution reference
//          build/bin/grader check m4 --stage roofline --solution reference
//
// docs/performance.md has the measurements, and what did not help.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "common/stage/device_convolution.cuh"
#include "general_convolution.cuh"
#include "half_convolution.cuh"
#include "many_maps.cuh"

namespace {

using namespace convlab::column_pairs;
using convlab::ConvShape;

class Roofline final : public convlab::DeviceConvolution {
  void prepare() override {
    int device = 0;
    CONVLAB_CUDA_CHECK(cudaGetDevice(&device));
    CONVLAB_CUDA_CHECK(
        cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, device));
    CONVLAB_CUDA_CHECK(cudaDeviceGetAttribute(&most_shared_bytes_,
                                              cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    queue_ = convlab::DeviceBuffer<Queue>(1);
    CONVLAB_CUDA_CHECK(cudaMemset(queue_.data(), 0, sizeof(Queue)));
  }
  void release() override { queue_ = {}; }

  template <class Layer>
  bool launch_one_channel(float* output, const float* input, const float* weights,
                          const ConvShape& shape) {
    constexpr int kBytes = sizeof(OneChannelShared<Layer>);
    if (!Layer::fits(shape) || kBytes > most_shared_bytes_) return false;
    const auto kernel = convolve_one_channel<Layer>;
    CONVLAB_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            most_shared_bytes_));
    const dim3 grid(static_cast<unsigned>(shape.batch) * Layer::kStrips);
    kernel<<<grid, Layer::kThreads, kBytes>>>(output, input, weights);
    CONVLAB_CUDA_CHECK_LAUNCH(grid, Layer::kThreads, kBytes);
    return true;
  }

  template <class Layer>
  bool launch_sixteen_maps(float* output, const float* input, const float* weights,
                           const ConvShape& shape) {
    constexpr int kBytes = sizeof(SixteenMapsShared<Layer>);
    if (!Layer::fits(shape) || kBytes > most_shared_bytes_) return false;
    const auto kernel = convolve_sixteen_maps<Layer>;
    CONVLAB_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            most_shared_bytes_));
    const int blocks = std::min(shape.batch, kBlocksPerMultiprocessor * multiprocessors_);
    Queue* queue = shape.batch > kQueueFrom * blocks ? queue_.data() : nullptr;
    kernel<<<blocks, Layer::kThreads, kBytes>>>(output, input, weights, shape.batch, queue);
    CONVLAB_CUDA_CHECK_LAUNCH(blocks, Layer::kThreads, kBytes);
    return true;
  }

  template <class Layer>
  bool launch_many_maps(float* output, const float* input, const float* weights,
                        const ConvShape& shape) {
    constexpr int kBytes = sizeof(ManyMapsShared<Layer>);
    if (!Layer::fits(shape) || kBytes > most_shared_bytes_) return false;
    const auto kernel = convolve_many_maps<Layer>;
    CONVLAB_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            most_shared_bytes_));
    const int blocks = std::min(shape.batch, multiprocessors_);
    kernel<<<blocks, Layer::kThreads, kBytes>>>(output, input, weights, shape.batch);
    CONVLAB_CUDA_CHECK_LAUNCH(blocks, Layer::kThreads, kBytes);
    return true;
  }

  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    const bool done =
        launch_one_channel<OneChannel<4, 7, 86, 16>>(output, input, weights, shape) ||  // fa23
        launch_sixteen_maps<SixteenMaps<4, 7, 40, 2>>(output, input, weights, shape) ||
        launch_one_channel<OneChannel<12, 5, 70, 6>>(output, input, weights, shape) ||  // fa19
        launch_many_maps<ManyMaps<12, 24, 5, 33, 4>>(output, input, weights, shape) ||
        launch_one_channel<OneChannel<12, 7, 72, 6>>(output, input, weights, shape) ||  // fa18
        launch_many_maps<ManyMaps<12, 24, 7, 33, 4>>(output, input, weights, shape) ||
        launch_one_channel<OneChannel<6, 5, 64, 20>>(output, input, weights, shape) ||  // sp18
        launch_sixteen_maps<SixteenMaps<6, 5, 30, 2>>(output, input, weights, shape);
    if (!done) convlab::launch_general_convolution(output, input, weights, shape);
  }

  static constexpr int kBlocksPerMultiprocessor = 2;
  static constexpr int kQueueFrom = 8;  // images for each block; fewer are dealt out in turn
  int multiprocessors_ = 0;
  int most_shared_bytes_ = 0;  // of a block
  convlab::DeviceBuffer<Queue> queue_;
};

const convlab::ConvolutionStage<Roofline> stage({
    .id = "roofline",
    .title = "Tensor cores as fast as the memory",
    .baseline = "tensor-cores-fp16",
    .order = 150,
    .precision = convlab::Precision::kFp16,
    .needs = {7, 5},
});

}  // namespace
