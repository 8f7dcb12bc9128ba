// Copies and kernels at the same time.
//
// Idea     A user of the layer waits for the copies: at 10 000 images the input takes tens of
//          milliseconds to the GPU and the output longer back, the kernel two. The copy engines of
//          the GPU work in both directions at once, and beside the multiprocessors. Cut the batch
//          into chunks and let chunk i + 1 travel in while chunk i is computed and chunk i - 1
//          travels out.
// Picture  3 streams, each with buffers of its own, used in turn:
//
//              stream 0   in 0 | kernel 0 | out 0 |        in 3 | kernel 3 | out 3
//              stream 1          in 1     | kernel 1 | out 1 |        in 4 | …
//              stream 2                     in 2     | kernel 2 | out 2 | …
//
//          A copy is asynchronous only from or to pinned memory. The arrays of a caller are not
//          pinned, and pinning them would cost time for each of their pages. So each stream has a
//          pinned buffer for its input and one for its output, and several threads of the host
//          copy between them and the caller's arrays.
// Cost     every byte is copied once more, by the host, which has memory bandwidth to spare; the
//          device needs memory for 3 chunks, not for the batch: any card will do.
// Expect   layer time: the longer direction alone, instead of in + kernel + out. Op time: as long,
//          because here all of the work, copies too, is in convolve. So this stage is judged by its
//          layer time, and loses by its op time.
// Run      cmake --build --preset lab --target m4 && build/bin/m4 100 --stage streams
//          build/bin/grader check m4 --stage streams
// Read     docs/ladder/streams.md

#include <cuda_runtime.h>

#include "common/device/cuda_check.cuh"
#include "common/stage/stage.hpp"
#include "common/tensor/conv_shape.hpp"

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
