#pragma once

// The kernels of the benchmark of device emulation. Sizes are the convolutions of network fa23.

#include <cstddef>
#include <vector>

struct ConvolutionSize {
  int batch, out_channels, in_channels, height, width, kernel;

  [[nodiscard]] int out_height() const { return height - kernel + 1; }
  [[nodiscard]] int out_width() const { return width - kernel + 1; }
  [[nodiscard]] std::size_t inputs() const {
    return static_cast<std::size_t>(batch) * in_channels * height * width;
  }
  [[nodiscard]] std::size_t weights() const {
    return static_cast<std::size_t>(out_channels) * in_channels * kernel * kernel;
  }
  [[nodiscard]] std::size_t outputs() const {
    return static_cast<std::size_t>(batch) * out_channels * out_height() * out_width();
  }
};

/// Layer 1 and 2 of fa23.
inline constexpr ConvolutionSize kFirstLayer{100, 4, 1, 86, 86, 7};
inline constexpr ConvolutionSize kSecondLayer{100, 16, 4, 40, 40, 7};

/// The convolution as plain loops on one thread.
void convolve_on_host(const float* input, const float* weights, float* output,
                      const ConvolutionSize& size);

/// Holds one layer on the emulated device.
class EmulatedConvolution {
 public:
  explicit EmulatedConvolution(const ConvolutionSize& size);
  ~EmulatedConvolution();
  EmulatedConvolution(const EmulatedConvolution&) = delete;
  EmulatedConvolution& operator=(const EmulatedConvolution&) = delete;

  void run_naive();
  void run_tiled();

 private:
  ConvolutionSize size_;
  float* input_ = nullptr;
  float* weights_ = nullptr;
  float* output_ = nullptr;
};

/// Runs `count` barriers, or shuffles, in each of `blocks` × 256 threads.
void run_barriers(int blocks, int count);
void run_shuffles(int blocks, int count);

/// `count` times two loads of 16×16 halves and their product, in each of `blocks` × 8 warps.
void run_products(int blocks, int count);

/// Device memory that is allocated while kernels run.
class LiveMemory {
 public:
  LiveMemory(int pieces, std::size_t bytes_each);
  ~LiveMemory();
  LiveMemory(const LiveMemory&) = delete;
  LiveMemory& operator=(const LiveMemory&) = delete;

 private:
  std::vector<void*> pieces_;
};

/// Launches a kernel of one thread that does nothing, and waits for it.
void run_empty();
