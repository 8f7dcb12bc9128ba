// Copies and kernels at the same time.
//
// Idea     A user of the layer waits for the copies: at 10 000 images the copy to the GPU takes
//          tens of milliseconds, the copy back takes longer, and the kernel takes two. The copy
//          engines of the GPU copy in both directions at once, while the multiprocessors compute.
//          Cut the batch into chunks: copy chunk i + 1 in while chunk i is computed and chunk i - 1
//          is copied out.
// Picture  up to 8 lanes, each a host thread with its own stream and buffers:
//
//              lane 0   copy | in 0 | kernel 0 | out 0 | copy |   copy | in 3 | …
//              lane 1     copy | in 1 | kernel 1 | out 1 | copy |   …
//              lane 2       copy | in 2 | kernel 2 | out 2 | copy | …
//
//          A copy is asynchronous only from or to pinned memory. The caller's arrays are not
//          pinned, and pinning them would take time for each of their pages. So each lane has a
//          pinned buffer for its input and one for its output, and its thread copies between them
//          and the caller's arrays. While one lane waits for the GPU, the others copy.
// Cost     the host copies every byte once more; it has enough memory bandwidth. The device needs
//          memory for a few chunks only, so a small GPU is enough.
// Expect   layer time: that of the longer direction, instead of in + kernel + out. Op time: the
//          same, because convolve contains all the work, also the copies. So judge this stage by
//          its layer time.
// Run      cmake --build --preset lab --target m4 && build/bin/m4 100 --stage streams
//          build/bin/grader check m4 --stage streams
// Read     docs/ladder/streams.md

#include <cuda_runtime.h>

#include "common/base/conv_shape.hpp"
#include "common/device/cuda_check.cuh"
#include "common/stage/stage.hpp"

namespace {

using convlab::ConvShape;

class Streams : public convlab::Convolution {
 public:
  /// Allocates buffers and copies the weights; the images stay where they are. Fill in: about 25
  /// lines.
  void prolog(const ConvShape& shape, const float* input, const float* weights,
              float* output) override {
    // Your code replaces this line.
    convlab::not_implemented("milestones/m4_optimizations/stages/streams.cu");
  }

  /// Chunk after chunk: to the GPU, kernel, back; returns when the whole output is there: 40 lines.
  void convolve() override {}

  /// Frees: about 8 lines.
  void epilog() override {}

 private:
  // Your streams, buffers and events.
};

// Tells the program about your class; leave it as it is.
const convlab::LadderStage<Streams> stage("streams", "Your copies and kernels at the same time");

}  // namespace
