#pragma once

// The kernels of the benchmark of device emulation. Sizes are the convolutions of network fa23.

#include <cstddef>
#include <vector>

#include "common/tensor/conv_shape.hpp"

/// Layer 1 and 2 of fa23.
inline constexpr convlab::ConvShape kFirstLayer{100, 4, 1, 86, 86, 7};
inline constexpr convlab::ConvShape kSecondLayer{100, 16, 4, 40, 40, 7};

/// The convolution as plain loops on one thread.
void convolve_on_host(const float* input, const float* weights, float* output,
                      const convlab::ConvShape& size);

/// Holds one layer on the emulated device.
class EmulatedConvolution {
 public:
  explicit EmulatedConvolution(const convlab::ConvShape& size);
  ~EmulatedConvolution();
  EmulatedConvolution(const EmulatedConvolution&) = delete;
  EmulatedConvolution& operator=(const EmulatedConvolution&) = delete;

  void run_naive();
  void run_tiled();

 private:
  convlab::ConvShape size_;
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
