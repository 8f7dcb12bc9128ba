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
// Run      build/bin/m4 1000 --stage fft --solution reference        (a GPU and cuFFT)
// Source   M. Mathieu, M. Henaff and Y. LeCun, Fast Training of Convolutional Networks through
//          FFTs, 2013.

#include "common/stage/stage.hpp"

#ifdef CONVLAB_HAS_CUFFT
#include <cuda_runtime.h>
#include <cufft.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "common/base/error.hpp"
#include "reference/solutions/m4_optimizations/unrolled_input.cuh"

namespace {

using convlab::ConvShape;
using Complex = cufftDoubleComplex;

constexpr int kThreads = 256;
constexpr std::int64_t kSliceBytes = std::int64_t{512} << 20;
// The error of the transforms is about 2^-48 of the largest output of a map. For outputs above this
// share of the largest one, that is within single precision.
constexpr double kSmall = 0x1p-24;

void check(cufftResult result, const char* call) {
  if (result == CUFFT_SUCCESS) return;
  throw convlab::EnvironmentError(std::string("cuFFT: ") + call + " failed with status " +
                                  std::to_string(static_cast<int>(result)) + ".");
}

// The smallest even number, n or larger, without a prime factor above 7: such lengths are fast.
int fast_length(int n) {
  for (int length = n + n % 2;; length += 2) {
    int rest = length;
    for (const int factor : {2, 3, 5, 7}) {
      while (rest % factor == 0) rest /= factor;
    }
    if (rest == 1) return length;
  }
}

// Size of the planes that are transformed: rows × columns numbers, rows × bins() frequencies.
struct Plane {
  int rows = 0;
  int columns = 0;
  [[nodiscard]] __host__ __device__ int numbers() const { return rows * columns; }
  [[nodiscard]] __host__ __device__ int frequencies() const { return rows * (columns / 2 + 1); }
};

// padded (planes, rows, columns) = from (planes, height, width), zeros around it.
__global__ void pad(double* padded, const float* from, int height, int width, Plane plane,
                    std::int64_t numbers) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= numbers) return;
  const int y = static_cast<int>(i % plane.numbers()) / plane.columns;
  const int x = static_cast<int>(i % plane.columns);
  const std::int64_t which = i / plane.numbers();
  const bool inside = y < height && x < width;
  padded[i] = inside ? from[(which * height + y) * width + x] : 0.0f;
}

// products (images, maps, frequencies) = Σ_c inputs (images, c, …) · conj(weights (maps, c, …)).
// grid: frequencies, images.
__global__ void multiply(Complex* products, const Complex* inputs, const Complex* weights,
                         ConvShape shape, int frequencies) {
  const int f = blockIdx.x * kThreads + threadIdx.x;
  if (f >= frequencies) return;
  const std::int64_t image = blockIdx.y;
  for (int m = 0; m < shape.out_channels; ++m) {
    Complex sum = {0.0, 0.0};
    for (int c = 0; c < shape.in_channels; ++c) {
      const Complex a = inputs[(image * shape.in_channels + c) * frequencies + f];
      const Complex b = weights[(std::int64_t{m} * shape.in_channels + c) * frequencies + f];
      sum.x += a.x * b.x + a.y * b.y;
      sum.y += a.y * b.x - a.x * b.y;
    }
    products[(image * shape.out_channels + m) * frequencies + f] = sum;
  }
}

// blank (images, pixels): true if the window of an output holds only zeros, in any map. grid:
// pixels, images.
__global__ void find_blank(bool* blank, const float* input, ConvShape shape) {
  const int pixels = shape.out_height() * shape.out_width();
  const int pixel = blockIdx.x * kThreads + threadIdx.x;
  if (pixel >= pixels) return;
  const float* window = input + blockIdx.y * shape.input_image_size() +
                        pixel / shape.out_width() * shape.stride * shape.width +
                        pixel % shape.out_width() * shape.stride;
  bool zeros = true;
  for (int c = 0; c < shape.in_channels && zeros; ++c) {
    for (int p = 0; p < shape.kernel && zeros; ++p) {
      for (int q = 0; q < shape.kernel; ++q) {
        zeros &= window[(c * shape.height + p) * shape.width + q] == 0.0f;
      }
    }
  }
  blank[std::int64_t{blockIdx.y} * pixels + pixel] = zeros;
}

// One output by its definition.
__device__ double direct_sum(const float* image, const float* weights, const ConvShape& shape,
                             int h, int w) {
  double sum = 0.0;
  for (int c = 0; c < shape.in_channels; ++c) {
    for (int p = 0; p < shape.kernel; ++p) {
      for (int q = 0; q < shape.kernel; ++q) {
        sum += static_cast<double>(image[(c * shape.height + h + p) * shape.width + w + q]) *
               weights[(c * shape.kernel + p) * shape.kernel + q];
      }
    }
  }
  return sum;
}

// A block computes one map of one image: the largest output says how large the noise may be.
// Outputs of blank windows are 0; other small outputs are summed directly.
__global__ void crop(float* output, const double* planes, const float* input, const float* weights,
                     const bool* blank, ConvShape shape, Plane plane) {
  __shared__ double largest[kThreads];
  const double* from = planes + std::int64_t{blockIdx.x} * plane.numbers();
  const std::int64_t which = blockIdx.x / shape.out_channels;
  const float* image = input + which * shape.input_image_size();
  const float* filter =
      weights + static_cast<std::int64_t>(blockIdx.x % shape.out_channels) * shape.taps();
  const int pixels = shape.out_height() * shape.out_width();
  blank += which * pixels;
  const auto row = [&](int pixel) { return pixel / shape.out_width() * shape.stride; };
  const auto column = [&](int pixel) { return pixel % shape.out_width() * shape.stride; };
  const auto value = [&](int pixel) {  // cuFFT does not scale
    return from[row(pixel) * plane.columns + column(pixel)] / plane.numbers();
  };
  double mine = 0.0;
  for (int i = threadIdx.x; i < pixels; i += kThreads) mine = fmax(mine, fabs(value(i)));
  largest[threadIdx.x] = mine;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      largest[threadIdx.x] = fmax(largest[threadIdx.x], largest[threadIdx.x + half]);
    }
  }
  __syncthreads();
  const double small = largest[0] * kSmall;
  for (int i = threadIdx.x; i < pixels; i += kThreads) {
    double exact = blank[i] ? 0.0 : value(i);
    if (!blank[i] && fabs(exact) <= small) {
      exact = direct_sum(image, filter, shape, row(i), column(i));
    }
    output[std::int64_t{blockIdx.x} * pixels + i] = static_cast<float>(exact);
  }
}

// A spectrum is kept as pairs of numbers.
Complex* complex(convlab::DeviceBuffer<double>& spectra) {
  return reinterpret_cast<Complex*>(spectra.data());
}

// A plan for `planes` transforms at a time, created in prepare and destroyed in release.
class Plan {
 public:
  Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() { destroy(); }

  void make(const Plane& plane, cufftType type, std::int64_t planes) {
    int sizes[] = {plane.rows, plane.columns};
    check(cufftPlanMany(&handle_, 2, sizes, nullptr, 1, 0, nullptr, 1, 0, type,
                        static_cast<int>(planes)),
          "cufftPlanMany");
    made_ = true;
  }

  void destroy() {
    if (made_) cufftDestroy(handle_);
    made_ = false;
  }

  void forward(double* from, Complex* to) const {
    check(cufftExecD2Z(handle_, from, to), "cufftExecD2Z");
  }
  void back(Complex* from, double* to) const {
    check(cufftExecZ2D(handle_, from, to), "cufftExecZ2D");
  }

 private:
  cufftHandle handle_ = 0;
  bool made_ = false;
};

class Fft final : public convlab::SlicedConvolution {
  void prepare() override {
    const ConvShape& all = shape();
    plane_ = {fast_length(all.height), fast_length(all.width)};
    const std::int64_t image_planes = std::int64_t{all.in_channels} + all.out_channels;
    const std::int64_t image_bytes =
        image_planes * static_cast<std::int64_t>(plane_.numbers() * sizeof(double) +
                                                 plane_.frequencies() * sizeof(Complex));
    constexpr int kMaxGridY = 65535;
    choose_slice(kSliceBytes, image_bytes);
    images_at_once_ = std::min(images_at_once_, kMaxGridY);
    const std::int64_t inputs = std::int64_t{images_at_once_} * all.in_channels;
    const std::int64_t outputs = std::int64_t{images_at_once_} * all.out_channels;
    const std::int64_t weights = std::int64_t{all.in_channels} * all.out_channels;
    numbers_ =
        convlab::DeviceBuffer<double>(std::max({inputs, outputs, weights}) * plane_.numbers());
    input_spectra_ = convlab::DeviceBuffer<double>(2 * inputs * plane_.frequencies());
    output_spectra_ = convlab::DeviceBuffer<double>(2 * outputs * plane_.frequencies());
    weight_spectra_ = convlab::DeviceBuffer<double>(2 * weights * plane_.frequencies());
    blank_ = convlab::DeviceBuffer<bool>(std::int64_t{images_at_once_} * all.out_height() *
                                         all.out_width());
    // The last slice may be smaller; the rest of its planes is transformed and not used.
    CONVLAB_CUDA_CHECK(cudaMemset(numbers_.data(), 0, numbers_.bytes()));
    CONVLAB_CUDA_CHECK(cudaMemset(output_spectra_.data(), 0, output_spectra_.bytes()));
    input_plan_.make(plane_, CUFFT_D2Z, inputs);
    weight_plan_.make(plane_, CUFFT_D2Z, weights);
    output_plan_.make(plane_, CUFFT_Z2D, outputs);
  }

  void release() override {
    input_plan_.destroy();
    weight_plan_.destroy();
    output_plan_.destroy();
    numbers_ = {};
    blank_ = {};
    input_spectra_ = {};
    output_spectra_ = {};
    weight_spectra_ = {};
  }

  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    const std::int64_t filters = std::int64_t{shape.out_channels} * shape.in_channels;
    pad_planes(weights, shape.kernel, shape.kernel, filters);
    weight_plan_.forward(numbers_.data(), complex(weight_spectra_));
    SlicedConvolution::launch(output, input, weights, shape);
  }

  void pad_planes(const float* from, int height, int width, std::int64_t planes) {
    const std::int64_t numbers = planes * plane_.numbers();
    const dim3 grid(static_cast<unsigned>((numbers + kThreads - 1) / kThreads));
    pad<<<grid, kThreads>>>(numbers_.data(), from, height, width, plane_, numbers);
    CONVLAB_CUDA_CHECK_LAUNCH(grid, kThreads, 0);
  }

  void convolve_slice(float* output, const float* input, const float* weights,
                      const ConvShape& slice) override {
    pad_planes(input, slice.height, slice.width, std::int64_t{slice.batch} * slice.in_channels);
    input_plan_.forward(numbers_.data(), complex(input_spectra_));
    const dim3 grid((plane_.frequencies() + kThreads - 1) / kThreads, slice.batch);
    multiply<<<grid, kThreads>>>(complex(output_spectra_), complex(input_spectra_),
                                 complex(weight_spectra_), slice, plane_.frequencies());
    CONVLAB_CUDA_CHECK_LAUNCH(grid, kThreads, 0);
    output_plan_.back(complex(output_spectra_), numbers_.data());
    const int pixels = slice.out_height() * slice.out_width();
    const dim3 outputs((pixels + kThreads - 1) / kThreads, slice.batch);
    find_blank<<<outputs, kThreads>>>(blank_.data(), input, slice);
    CONVLAB_CUDA_CHECK_LAUNCH(outputs, kThreads, 0);
    const unsigned maps = static_cast<unsigned>(slice.batch) * slice.out_channels;
    crop<<<maps, kThreads>>>(output, numbers_.data(), input, weights, blank_.data(), slice, plane_);
    CONVLAB_CUDA_CHECK_LAUNCH(maps, kThreads, 0);
  }

  Plane plane_;
  convlab::DeviceBuffer<double> numbers_;  // before the transforms and after those back
  convlab::DeviceBuffer<bool> blank_;
  convlab::DeviceBuffer<double> input_spectra_;
  convlab::DeviceBuffer<double> output_spectra_;
  convlab::DeviceBuffer<double> weight_spectra_;
  Plan input_plan_;
  Plan weight_plan_;
  Plan output_plan_;
};

const convlab::LadderStage<Fft> stage("fft", "Fourier transforms (cuFFT), in double precision");

}  // namespace

#else

namespace {

const convlab::StageLeftOut left_out(
    "fft", "it needs a GPU and NVIDIA's library cuFFT, which this program was built without");

}  // namespace

#endif
