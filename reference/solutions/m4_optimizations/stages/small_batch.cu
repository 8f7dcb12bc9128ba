// Small batches: little to do, so little around it.
//
// Idea     At 100 images the data of a layer is moved in 4 µs, and an empty launch takes 5 µs by
//          events and 10 µs by the host's clock. Only what happens before and after the arithmetic
//          counts: launches, attributes, latencies in a row.
// Picture  roofline's kernels. One launch for each layer; no queue between blocks, since each has
//          one image anyway; where an image has a multiprocessor for itself, eight warps share it.
//
//              prepare   what does not depend on the data: attributes of the kernels
//              launch    one kernel
//
// Cost     nothing that roofline does not have
// Expect   no gain at 10 000 images, where the queue helps, and some microseconds at few images.
// Run      build/bin/m4 100 --stage small-batch --solution reference
//          build/bin/grader check m4 --stage small-batch --solution reference

#include <cuda_runtime.h>

#include <algorithm>

#include "common/stage/device_convolution.cuh"
#include "general_convolution.cuh"
#include "half_convolution.cuh"

namespace {

using namespace convlab::column_pairs;
using convlab::ConvShape;

class SmallBatch final : public convlab::DeviceConvolution {
  using FirstLayer = OneChannel<4, 7, 86, 8>;
  using SecondLayer = SixteenMaps<4, 7, 40, 2>;       // two blocks share a multiprocessor
  using SecondLayerAlone = SixteenMaps<4, 7, 40, 4>;  // a block has one for itself

  template <class Kernel>
  void allow_shared_bytes(Kernel kernel, int bytes) const {
    if (bytes > most_shared_bytes_) return;  // then launch does without this kernel
    CONVLAB_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            most_shared_bytes_));
  }

  // Whatever does not depend on the data is done here, once.
  void prepare() override {
    int device = 0;
    CONVLAB_CUDA_CHECK(cudaGetDevice(&device));
    CONVLAB_CUDA_CHECK(
        cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, device));
    CONVLAB_CUDA_CHECK(cudaDeviceGetAttribute(&most_shared_bytes_,
                                              cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    allow_shared_bytes(convolve_one_channel<FirstLayer>, sizeof(OneChannelShared<FirstLayer>));
    allow_shared_bytes(convolve_sixteen_maps<SecondLayer>, sizeof(SixteenMapsShared<SecondLayer>));
    allow_shared_bytes(convolve_sixteen_maps<SecondLayerAlone>,
                       sizeof(SixteenMapsShared<SecondLayerAlone>));
  }

  template <class Layer>
  void launch_sixteen_maps(float* output, const float* input, const float* weights, int batch,
                           int most_blocks) {
    const int blocks = std::min(batch, most_blocks);
    constexpr std::size_t kBytes = sizeof(SixteenMapsShared<Layer>);
    convolve_sixteen_maps<Layer>
        <<<blocks, Layer::kThreads, kBytes>>>(output, input, weights, batch, nullptr);
    CONVLAB_CUDA_CHECK_LAUNCH(blocks, Layer::kThreads, kBytes);
  }

  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    const int batch = shape.batch;
    const bool fits_second =
        SecondLayer::fits(shape) &&
        static_cast<int>(sizeof(SixteenMapsShared<SecondLayer>)) <= most_shared_bytes_;
    if (FirstLayer::fits(shape)) {
      const dim3 grid(static_cast<unsigned>(batch) * FirstLayer::kStrips);
      constexpr std::size_t kBytes = sizeof(OneChannelShared<FirstLayer>);
      convolve_one_channel<FirstLayer>
          <<<grid, FirstLayer::kThreads, kBytes>>>(output, input, weights);
      CONVLAB_CUDA_CHECK_LAUNCH(grid, FirstLayer::kThreads, kBytes);
    } else if (fits_second && batch <= multiprocessors_) {
      launch_sixteen_maps<SecondLayerAlone>(output, input, weights, batch, multiprocessors_);
    } else if (fits_second) {
      launch_sixteen_maps<SecondLayer>(output, input, weights, batch, 2 * multiprocessors_);
    } else {
      convlab::launch_general_convolution(output, input, weights, shape);
    }
  }

  int multiprocessors_ = 0;
  int most_shared_bytes_ = 0;  // of a block
};

const convlab::ConvolutionStage<SmallBatch> stage({
    .id = "small-batch",
    .title = "Small batches: little to do, so little around it",
    .baseline = "roofline",
    .order = 178,
    .precision = convlab::Precision::kFp16,
    .needs = {7, 5},
});

}  // namespace
