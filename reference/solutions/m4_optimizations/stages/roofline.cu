// At the roofline: tensor cores that are as fast as a copy of the data.
//
// Idea     At 10 000 images of network fa23 a convolution must read 0.30 and 0.26 GB and write 1.02
//          and 0.74 GB. A copy takes 0.34 and 0.26 ms for that. Tensor cores compute the products
//          in a third of the time, if no matrix is unrolled and each element is loaded, converted
//          and stored once.
// Picture  column_pairs.cuh: how a convolution becomes matrix products without shifted copies
//          half_convolution.cuh: the two kernels, for one channel and for several
//          many_maps.cuh: a third one, for layers with more weights than registers
//          many_maps_by_warpgroups.cuh: the same on GPUs whose warpgroups multiply
// Cost     one load and one store of each element; per block of 4 maps × 2 rows × 16 columns four
//          matrix operations, of which 49 / 64 are products with weights
// Expect   the time of a copy that moves the same tiles, plus a few per cent for the beginning and
//          the end of each block, when memory waits for arithmetic.
// Run      build/bin/m4 10000 --stage roofline --solution reference
//          build/bin/grader check m4 --stage roofline --solution reference
//
// docs/performance.md has the measurements, and what did not help.

#include <cuda_runtime.h>

#include <algorithm>
#include <functional>

#include "common/stage/device_convolution.cuh"
#include "half_convolution.cuh"
#include "many_maps.cuh"
#include "many_maps_by_warpgroups.cuh"
#include "reference/solutions/m4_optimizations/any_shape.cuh"
#include "reference/solutions/m4_optimizations/device_room.cuh"

namespace {

using namespace convlab::column_pairs;
using convlab::ConvShape;

class Roofline final : public convlab::DeviceConvolution {
  // All work that does not depend on the data is done here: setting an attribute takes
  // microseconds.
  void prepare() override {
    room_ = convlab::DeviceRoom::of_current();
    queue_ = convlab::DeviceBuffer<Queue>(1);
    CONVLAB_CUDA_CHECK(cudaMemset(queue_.data(), 0, sizeof(Queue)));
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
    if (!done) launch_ = nullptr;
  }
  void release() override { queue_ = {}; }

  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    if (launch_ == nullptr) return convlab::convolve_any_shape(output, input, weights, shape);
    launch_(output, input, weights);
  }

  /// Chooses this kernel if it fits the layer and the GPU has its shared memory.
  /// @param more  its arguments after the arrays
  template <class Layer, class Shared, class Kernel, class... More>
  bool choose(Kernel kernel, unsigned blocks, More... more) {
    if (!Layer::fits(shape()) || static_cast<int>(sizeof(Shared)) > room_.block_bytes) return false;
    convlab::allow_shared_bytes(kernel, room_.block_bytes);
    launch_ = [=](float* output, const float* input, const float* weights) {
      kernel<<<blocks, Layer::kThreads, sizeof(Shared)>>>(output, input, weights, more...);
      CONVLAB_CUDA_CHECK_LAUNCH(blocks, Layer::kThreads, sizeof(Shared));
    };
    return true;
  }

  template <class Layer>
  bool choose_strips() {
    return choose<Layer, OneChannelShared<Layer>>(
        convolve_one_channel<Layer>, static_cast<unsigned>(shape().batch) * Layer::kStrips);
  }

  template <class Layer>
  bool choose_sixteen_maps() {
    const int blocks = std::min(shape().batch, kBlocksPerMultiprocessor * room_.multiprocessors);
    Queue* queue = shape().batch > kQueueFrom * blocks ? queue_.data() : nullptr;
    return choose<Layer, SixteenMapsShared<Layer>>(convolve_sixteen_maps<Layer>, blocks,
                                                   shape().batch, queue);
  }

  template <class Layer>
  bool choose_many_maps() {
    return choose<Layer, ManyMapsShared<Layer>>(
        convolve_many_maps<Layer>, std::min(shape().batch, room_.multiprocessors), shape().batch);
  }

  template <class Layer>
  bool choose_by_warpgroups() {
    const auto kernel = convolve_by_warpgroups<Layer>;
    return Layer::fits(shape()) && convlab::has_warpgroup_code(kernel) &&
           choose<Layer, WarpgroupMapsShared<Layer>>(
               kernel, std::min(shape().batch, room_.multiprocessors), shape().batch);
  }

  static constexpr int kBlocksPerMultiprocessor = 2;
  static constexpr int kQueueFrom = 8;  // images for each block; with fewer, no queue
  std::function<void(float*, const float*, const float*)> launch_;  // empty: no kernel fits
  convlab::DeviceRoom room_;
  convlab::DeviceBuffer<Queue> queue_;
};

const convlab::LadderStage<Roofline> stage("roofline", "Tensor cores as fast as the memory");

}  // namespace
