// At the roofline: tensor cores that are as fast as a copy of the data.
//
// Idea     At 10 000 images of network fa23 a convolution must read 0.30 and 0.26 GB and write 1.02
//          and 0.74 GB. That takes a copy 0.34 and 0.26 ms. Tensor cores do the products in a third
//          of the time, if they get their operands without detours: no matrix is unrolled, and each
//          element is loaded, converted and stored once.
// Picture  column_pairs.cuh: how a convolution becomes matrix products without shifted copies
//          half_convolution.cuh: the two kernels, for one channel and for several
//          many_maps.cuh: a third one, for layers with more weights than registers
//          many_maps_by_warpgroups.cuh: the same on GPUs whose warpgroups multiply
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
#include <cstddef>

#include "common/stage/device_convolution.cuh"
#include "half_convolution.cuh"
#include "many_maps.cuh"
#include "many_maps_by_warpgroups.cuh"
#include "reference/solutions/m4_optimizations/any_shape.cuh"

namespace {

using namespace convlab::column_pairs;
using convlab::ConvShape;

class Roofline final : public convlab::DeviceConvolution {
  using Launch = void (Roofline::*)(float* output, const float* input, const float* weights,
                                    const ConvShape& shape);

  // Whatever does not depend on the data is done here: setting an attribute takes microseconds.
  void prepare() override {
    int device = 0;
    CONVLAB_CUDA_CHECK(cudaGetDevice(&device));
    CONVLAB_CUDA_CHECK(
        cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, device));
    CONVLAB_CUDA_CHECK(cudaDeviceGetAttribute(&most_shared_bytes_,
                                              cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    queue_ = convlab::DeviceBuffer<Queue>(1);
    CONVLAB_CUDA_CHECK(cudaMemset(queue_.data(), 0, sizeof(Queue)));
    launch_ = &Roofline::launch_general;
    const bool done = choose_strips<OneChannel<4, 7, 86, 8>>() ||  // fa23
                      choose_sixteen_maps<SixteenMaps<4, 7, 40, 2>>() ||
                      choose_strips<OneChannel<12, 5, 70, 6>>() ||  // fa19
                      choose_by_warpgroups<WarpgroupMaps<12, 5, 33, 4>>() ||
                      choose_many_maps<ManyMaps<12, 24, 5, 33, 8, 4>>() ||
                      choose_strips<OneChannel<12, 7, 72, 6>>() ||  // fa18
                      choose_by_warpgroups<WarpgroupMaps<12, 7, 33, 3>>() ||
                      choose_many_maps<ManyMaps<12, 24, 7, 33, 7, 4>>() ||
                      choose_strips<OneChannel<6, 5, 64, 20>>() ||  // sp18
                      choose_sixteen_maps<SixteenMaps<6, 5, 30, 2>>();
    static_cast<void>(done);
  }
  void release() override { queue_ = {}; }

  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    (this->*launch_)(output, input, weights, shape);
  }

  /// Takes this kernel if it is for the layer and its shared memory is there.
  template <class Layer, class Shared, class Kernel>
  bool choose(Kernel kernel, Launch launch) {
    if (!Layer::fits(shape()) || static_cast<int>(sizeof(Shared)) > most_shared_bytes_) {
      return false;
    }
    CONVLAB_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            most_shared_bytes_));
    launch_ = launch;
    return true;
  }

  void launch_general(float* output, const float* input, const float* weights,
                      const ConvShape& shape) {
    convlab::convolve_any_shape(output, input, weights, shape);
  }

  template <class Layer>
  bool choose_strips() {
    return choose<Layer, OneChannelShared<Layer>>(convolve_one_channel<Layer>,
                                                  &Roofline::launch_strips<Layer>);
  }
  template <class Layer>
  void launch_strips(float* output, const float* input, const float* weights,
                     const ConvShape& shape) {
    constexpr std::size_t kBytes = sizeof(OneChannelShared<Layer>);
    const dim3 grid(static_cast<unsigned>(shape.batch) * Layer::kStrips);
    convolve_one_channel<Layer><<<grid, Layer::kThreads, kBytes>>>(output, input, weights);
    CONVLAB_CUDA_CHECK_LAUNCH(grid, Layer::kThreads, kBytes);
  }

  template <class Layer>
  bool choose_sixteen_maps() {
    return choose<Layer, SixteenMapsShared<Layer>>(convolve_sixteen_maps<Layer>,
                                                   &Roofline::launch_sixteen_maps<Layer>);
  }
  template <class Layer>
  void launch_sixteen_maps(float* output, const float* input, const float* weights,
                           const ConvShape& shape) {
    constexpr std::size_t kBytes = sizeof(SixteenMapsShared<Layer>);
    const int blocks = std::min(shape.batch, kBlocksPerMultiprocessor * multiprocessors_);
    Queue* queue = shape.batch > kQueueFrom * blocks ? queue_.data() : nullptr;
    convolve_sixteen_maps<Layer>
        <<<blocks, Layer::kThreads, kBytes>>>(output, input, weights, shape.batch, queue);
    CONVLAB_CUDA_CHECK_LAUNCH(blocks, Layer::kThreads, kBytes);
  }

  template <class Layer>
  bool choose_many_maps() {
    return choose<Layer, ManyMapsShared<Layer>>(convolve_many_maps<Layer>,
                                                &Roofline::launch_many_maps<Layer>);
  }
  template <class Layer>
  void launch_many_maps(float* output, const float* input, const float* weights,
                        const ConvShape& shape) {
    constexpr std::size_t kBytes = sizeof(ManyMapsShared<Layer>);
    const int blocks = std::min(shape.batch, multiprocessors_);
    convolve_many_maps<Layer>
        <<<blocks, Layer::kThreads, kBytes>>>(output, input, weights, shape.batch);
    CONVLAB_CUDA_CHECK_LAUNCH(blocks, Layer::kThreads, kBytes);
  }

  template <class Layer>
  bool choose_by_warpgroups() {
    const auto kernel = convolve_by_warpgroups<Layer>;
    return Layer::fits(shape()) && convlab::has_warpgroup_code(kernel) &&
           choose<Layer, WarpgroupMapsShared<Layer>>(kernel,
                                                     &Roofline::launch_by_warpgroups<Layer>);
  }
  template <class Layer>
  void launch_by_warpgroups(float* output, const float* input, const float* weights,
                            const ConvShape& shape) {
    constexpr std::size_t kBytes = sizeof(WarpgroupMapsShared<Layer>);
    const int blocks = std::min(shape.batch, multiprocessors_);
    convolve_by_warpgroups<Layer>
        <<<blocks, Layer::kThreads, kBytes>>>(output, input, weights, shape.batch);
    CONVLAB_CUDA_CHECK_LAUNCH(blocks, Layer::kThreads, kBytes);
  }

  static constexpr int kBlocksPerMultiprocessor = 2;
  static constexpr int kQueueFrom = 8;  // images for each block; fewer are dealt out in turn
  Launch launch_ = nullptr;
  int multiprocessors_ = 0;
  int most_shared_bytes_ = 0;  // of a block
  convlab::DeviceBuffer<Queue> queue_;
};

const convlab::ConvolutionStage<Roofline> stage({
    .id = "roofline",
    .title = "Tensor cores as fast as the memory",
    .baseline = "tensor-cores-fp16",
    .order = 174,
    .precision = convlab::Precision::kFp16,
    .needs = {7, 5},
});

}  // namespace
