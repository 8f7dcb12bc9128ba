// The convolution as a product of Fourier transforms, by cuFFT.
//
// Idea     Sliding a window over an image becomes a product of their Fourier transforms, frequency
//          by frequency. A transform of N points costs about N · log N operations, whatever the
//          size of the window.
// Picture  image b, channel c → transform X[b][c] ┐
//          weights m, c       → transform W[m][c] ┴→ Y[b][m] = Σ_c X[b][c] · conj(W[m][c])
//                                                    ↓ back
//                                            output b, m: the part where no window wraps around
//
// Cost     second convolution, an image: 20 transforms of 40 × 40 and 64 products of spectra, 1.3
//          million operations instead of 7.3; the first: 1.4 instead of 2.5. But every number
//          passes through memory six times, in double precision: 1.4 MB and 1.2 MB for an image
//          where the direct method moves 132 KB and 100 KB. At 4.3 TB/s that is 3.3 ms and 2.7 ms
//          for 10 000.
// Expect   slower than per-layer: it has fewer operations, but memory is the limit. The method wins
//          if windows are several times as large as 7 × 7. Accuracy: a transform mixes all pixels
//          of an image, so each output gets an error as large as that of the largest one. A window
//          of zeros gives noise and not 0. In single precision that noise breaks the bound of every
//          precision class, so the transforms are double, and outputs that are tiny compared with
//          the largest are computed directly.
// Run      cmake --build --preset lab && build/bin/m4 100 --stage fft
//          build/bin/grader check m4 --stage fft
// Read     docs/ladder/fft.md

#include "common/stage/stage.hpp"

#ifdef CONVLAB_HAS_CUFFT
#include <cuda_runtime.h>
#include <cufft.h>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

class Fft : public convlab::DeviceConvolution {
  /// Chooses sizes and makes the plans: about 20 lines. Three kernels of about 12 lines each pad
  /// planes, multiply spectra and crop.
  void prepare() override {}
  void release() override {}

  /// Pads, transforms, multiplies, transforms back and crops some images at a time.
  /// Fill in: about 25 lines.
  ///
  /// Each call returns a status; check it:
  ///
  ///     cufftPlanMany(&plan_, 2, sizes, nullptr, 1, 0, nullptr, 1, 0, CUFFT_D2Z, planes);
  ///     cufftExecD2Z(plan_, numbers, spectra);   // and CUFFT_Z2D, cufftExecZ2D to transform back
  ///
  /// A plane of rows × columns numbers has rows × (columns / 2 + 1) frequencies. After transforming
  /// back, every number is rows · columns times too large.
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    // Your code replaces this line.
    convlab::not_implemented("milestones/m4_optimizations/stages/fft.cu");
  }
};

// Tells the program about your class; leave it as it is.
const convlab::LadderStage<Fft> stage("fft", "Your convolution by Fourier transforms");

}  // namespace

#else

namespace {

// Without a GPU or the library the stage is left out.
const convlab::StageLeftOut stage(
    "fft", "it calls NVIDIA's library cuFFT, which needs a GPU; this program was built without it");

}  // namespace

#endif
