#pragma once

// The kernels of the benchmark of device emulation. Sizes are the convolutions of network fa23.

#include <cstddef>
#include <vector>

#include "common/base/conv_shape.hpp"

/// Layer 1 and 2 of fa23.
inline constexpr convlab::ConvShape kFirstLayer{100, 4, 1, 86, 86, 7};
inline constexpr convlab::ConvShape kSecondLayer{100, 16, 4, 40, 40, 7};

/// The convolution as plain loops on one thread.
void convolve_on_host(const float* input, const float* weights, float* output,
                      const convlab::ConvShape& size);

/// Device memory of so many bytes each, for as long as it lives. All of it is 0.
class LiveMemory {
 public:
  explicit LiveMemory(const std::vector<std::size_t>& bytes);
  ~LiveMemory();
  LiveMemory(const LiveMemory&) = delete;
  LiveMemory& operator=(const LiveMemory&) = delete;

  template <class T>
  [[nodiscard]] T* piece(std::size_t number) const {
    return static_cast<T*>(pieces_[number]);
  }

 private:
  std::vector<void*> pieces_;
};

/// Holds one layer on the emulated device.
class EmulatedConvolution {
 public:
  explicit EmulatedConvolution(const convlab::ConvShape& size);
  void run_naive();
  void run_tiled();

 private:
  convlab::ConvShape size_;
  LiveMemory arrays_;  ///< input, weights, output
};

/// Runs `count` barriers, or shuffles, in each of `blocks` × 256 threads.
void run_barriers(int blocks, int count);
void run_shuffles(int blocks, int count);

/// `count` times two loads of 16×16 halves and their product, in each of `blocks` × 8 warps.
void run_products(int blocks, int count);

/// Launches a kernel of one thread that does nothing, and waits for it.
void run_empty();
