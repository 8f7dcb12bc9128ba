// As many blocks as fit; each convolves image after image.
//
// Idea     An ordinary launch starts a block for every tile: at 10 000 images tens of thousands.
//          Each loads the weights again, computes its place and ends. Start only as many blocks as
//          the multiprocessors hold at once. A block loads the weights into shared memory once,
//          then convolves one image after the other.
// Picture  3 blocks, 8 images:
//
//              block 0   weights | image 0 | image 3 | image 6
//              block 1   weights | image 1 | image 4 | image 7
//              block 2   weights | image 2 | image 5 |
//
//          shared memory of a block: the whole image (29 or 26 KB) and all weights (0.8 or 12.5 KB)
// Cost     each input element leaves global memory exactly once, and so does each weight for a
//          block. Inside, a thread reads 14 inputs and 7 times 4 weights for 224 multiply-adds.
// Expect   about as fast as per-layer. But a block computes nothing while it loads. Other blocks of
//          the multiprocessor may fill the gap; double-buffered does.
// Run      build/bin/m4 1000 --stage persistent --solution reference

#include <cuda_runtime.h>

#include "reference/solutions/m4_optimizations/image_in_shared.cuh"

namespace {

using convlab::ConvShape;
namespace image_in_shared = convlab::image_in_shared;

template <int KernelSize, int Rows>
__global__ void __launch_bounds__(image_in_shared::kMostThreads, 3)
    conv_forward(float* __restrict__ output, const float* __restrict__ input,
                 const float* __restrict__ weights, ConvShape shape) {
  extern __shared__ __align__(16) float shared[];
  float* image = shared;  // (channels, height, width)
  float* weight_tile = image + image_in_shared::image_floats(shape, Rows);  // (weights)
  image_in_shared::load_weights(weight_tile, weights, shape);
  const int elements = static_cast<int>(shape.input_image_size());
  for (int b = blockIdx.x; b < shape.batch; b += gridDim.x) {
    const float* from = input + b * shape.input_image_size();
    for (int i = threadIdx.x; i < elements; i += blockDim.x) image[i] = from[i];
    __syncthreads();  // image and weights are complete
    image_in_shared::convolve<KernelSize, Rows>(output + b * shape.output_image_size(), image,
                                                weight_tile, shape);
    __syncthreads();  // all threads are done before the next image overwrites it
  }
}

class Persistent final : public image_in_shared::ImageAfterImage {
  void prepare() override {
    plan(1, [](auto kernel_size, auto rows) { return conv_forward<kernel_size(), rows()>; });
  }
};

const convlab::LadderStage<Persistent> stage("persistent",
                                             "As many blocks as fit, image after image");

}  // namespace
