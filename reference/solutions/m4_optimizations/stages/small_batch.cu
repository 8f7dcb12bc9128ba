// Small batches: less overhead around little work.
//
// Idea     At 100 images a copy of a layer's data takes 4 µs, and an empty launch 5 µs by events
//          and 10 µs by the host's clock. So the time before and after the arithmetic counts: the
//          launch, and waits one after the other.
// Picture  one_image.cuh, for the second layer: all loads in flight at once, one barrier, no loop
//          over images. If there are enough multiprocessors, two blocks share an image.
//
//              prepare   all that does not depend on the data: attributes, and the launch itself,
//                        captured as a graph
//              launch    one call, which launches the graph
//
// Cost     a few microseconds more in the prolog
// Expect   no gain at 10 000 images, where the queue of roofline helps; some microseconds at few
//          images. The graph gains half of them: an ordinary launch looks up the kernel and copies
//          its arguments each time, and other work may have removed these data from the caches of
//          the CPU.
// Run      build/bin/m4 100 --stage small-batch --solution reference
//          build/bin/grader check m4 --stage small-batch --solution reference
//
// docs/performance.md has the measurements, and what did not help.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>

#include "captured_graph.cuh"
#include "common/stage/device_convolution.cuh"
#include "half_convolution.cuh"
#include "one_image.cuh"
#include "reference/solutions/m4_optimizations/any_shape.cuh"
#include "reference/solutions/m4_optimizations/device_room.cuh"

namespace {

using namespace convlab::column_pairs;
using convlab::ConvShape;

class SmallBatch final : public convlab::DeviceConvolution {
  using FirstLayer = OneChannel<4, 7, 86, 16>;
  using SecondLayer = SixteenMaps<4, 7, 40, 2>;           // two blocks share a multiprocessor
  using SecondLayerAlone = SixteenMaps<4, 7, 40, 4>;      // one block on a multiprocessor
  using SecondLayerHalves = SixteenMaps<4, 7, 40, 2, 2>;  // two blocks for each image

  // All work that does not depend on the data is done here, once.
  void prepare() override {
    room_ = convlab::DeviceRoom::of_current();
    graph_ = convlab::CapturedGraph([this](cudaStream_t stream) { submit(stream); });
  }
  void release() override { graph_ = {}; }

  void launch(float* /*output*/, const float* /*input*/, const float* /*weights*/,
              const ConvShape& /*shape*/) override {
    graph_.launch();  // the graph holds the arguments
  }

  void submit(cudaStream_t stream) {
    const int batch = shape().batch;
    const auto strips = static_cast<unsigned>(batch) * FirstLayer::kStrips;
    const auto fits = [this](auto layer, std::size_t bytes) {
      return decltype(layer)::fits(shape()) && static_cast<int>(bytes) <= room_.block_bytes;
    };
    constexpr std::size_t kSecondBytes = sizeof(SixteenMapsShared<SecondLayer>);
    if (fits(FirstLayer(), sizeof(OneChannelShared<FirstLayer>))) {
      start<FirstLayer, sizeof(OneChannelShared<FirstLayer>)>(convolve_one_channel<FirstLayer>,
                                                              strips, stream);
    } else if (!fits(SecondLayer(), kSecondBytes)) {
      convlab::convolve_any_shape(device_output(), device_input(), device_weights(), shape(),
                                  stream);
    } else if (2 * batch <= room_.multiprocessors) {
      start<SecondLayerHalves, sizeof(OneImageShared<SecondLayerHalves>)>(
          convolve_one_image<SecondLayerHalves>, 2U * batch, stream);
    } else if (batch <= room_.multiprocessors) {
      start<SecondLayerAlone, sizeof(OneImageShared<SecondLayerAlone>)>(
          convolve_one_image<SecondLayerAlone>, batch, stream);
    } else {
      start<SecondLayer, kSecondBytes>(convolve_sixteen_maps<SecondLayer>,
                                       std::min(batch, 2 * room_.multiprocessors), stream, batch,
                                       nullptr);
    }
  }

  template <class Layer, std::size_t Bytes, class Kernel, class... More>
  void start(Kernel kernel, unsigned blocks, cudaStream_t stream, More... more) {
    convlab::allow_shared_bytes(kernel, room_.block_bytes);
    kernel<<<blocks, Layer::kThreads, Bytes, stream>>>(device_output(), device_input(),
                                                       device_weights(), more...);
    CONVLAB_CUDA_CHECK_LAUNCH(blocks, Layer::kThreads, Bytes);
  }

  convlab::CapturedGraph graph_;
  convlab::DeviceRoom room_;
};

const convlab::LadderStage<SmallBatch> stage("small-batch",
                                             "Small batches: little to do, so little around it");

}  // namespace
