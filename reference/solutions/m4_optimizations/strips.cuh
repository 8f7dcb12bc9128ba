#pragma once

// How the tensor-core stages cut images into strips whose input fits into shared memory.

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "common/stage/device_convolution.cuh"
#include "reference/solutions/m4_optimizations/device_room.cuh"

namespace convlab::tensor_cores {

/// Output columns that one window of 16 input columns serves: 8 + kernel - 1 <= 16.
inline constexpr int kGroupColumns = 8;
inline constexpr int kWindowColumns = 16;

inline constexpr int kThreads = 256;  // of a block
inline constexpr int kWarps = kThreads / 32;

/// Strips of output rows; a block works on one strip of one image at a time.
struct Strips {
  int groups = 0;  ///< of kGroupColumns outputs in a row, the last one perhaps not full
  int rows = 0;    ///< of a strip; 0: not even a short strip fits
  int count = 0;   ///< strips of an image

  [[nodiscard]] bool fit() const { return rows > 0; }
};

/// The position of a thread in a strip's input: channel after channel, row after row. It advances
/// by the number of threads without a division, which would take longer than all the rest.
class StripWalk {
 public:
  __device__ StripWalk(int row_elements, int input_rows, int threads)
      : row_elements_(row_elements),
        input_rows_(input_rows),
        x_step_(threads % row_elements),
        y_step_(threads / row_elements % input_rows),
        channel_step_(threads / row_elements / input_rows) {
    const int row = static_cast<int>(threadIdx.x) / row_elements;
    x = static_cast<int>(threadIdx.x) % row_elements;
    y = row % input_rows;
    channel = row / input_rows;
  }

  __device__ void next() {
    x += x_step_;
    y += y_step_;
    channel += channel_step_;
    if (x >= row_elements_) {
      x -= row_elements_;
      ++y;
    }
    if (y >= input_rows_) {
      y -= input_rows_;
      ++channel;
    }
  }

  int x;
  int y;
  int channel;

 private:
  int row_elements_;
  int input_rows_;
  int x_step_;
  int y_step_;
  int channel_step_;
};

/// Divides repeatedly by the same number: it multiplies by the reciprocal. The result is exact if
/// dividend · divisor is below 2^32.
class Divider {
 public:
  __device__ explicit Divider(int divisor)
      : divisor_(divisor),
        reciprocal_(divisor > 1 ? 0xffff'ffffU / static_cast<unsigned>(divisor) + 1 : 0) {}

  [[nodiscard]] __device__ int quotient(int dividend) const {
    return divisor_ > 1 ? static_cast<int>(__umulhi(static_cast<unsigned>(dividend), reciprocal_))
                        : dividend;
  }
  [[nodiscard]] __device__ int remainder(int dividend) const {
    return dividend - quotient(dividend) * divisor_;
  }

 private:
  int divisor_;
  unsigned reciprocal_;
};

/// Loads a strip of an image: pairs of neighbouring columns of all channels, zeros right of the
/// image and below it. A thread starts eight loads before it stores the first value.
/// @param image     its first element
/// @param store     store(where, pair) for each pair; where.x counts pairs, where.y strip rows
template <int Threads, class Store>
__device__ void load_strip(const float* __restrict__ image, const ConvShape& shape, int first_row,
                           int input_rows, int row_pairs, Store store) {
  constexpr int kAtOnce = 8;
  const int pairs = shape.in_channels * input_rows * row_pairs;
  const int real_rows = min(input_rows, shape.height - first_row);
  const bool aligned = shape.width % 2 == 0;  // then all pairs of all rows are aligned
  StripWalk load_at(row_pairs, input_rows, Threads);
  StripWalk store_at = load_at;
  for (int begin = threadIdx.x; begin < pairs; begin += kAtOnce * Threads) {
    float2 pair[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int x = 2 * load_at.x;
      const float* from =
          image + (load_at.channel * shape.height + first_row + load_at.y) * shape.width + x;
      const bool real = begin + k * Threads < pairs && load_at.y < real_rows && x < shape.width;
      pair[k] = make_float2(0.0f, 0.0f);
      if (aligned) {
        if (real) pair[k] = *reinterpret_cast<const float2*>(from);
      } else {
        if (real) pair[k].x = from[0];
        if (real && x + 1 < shape.width) pair[k].y = from[1];
      }
      load_at.next();
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      if (begin + k * Threads < pairs) store(store_at, pair[k]);
      store_at.next();
    }
  }
}

/// Whether windows of 16 columns hold all inputs of 8 neighbouring outputs.
inline bool windows_cover(const ConvShape& shape) {
  return shape.stride == 1 && shape.kernel <= kWindowColumns - kGroupColumns + 1;
}

/// Strips as high as shared memory allows, with two blocks on a multiprocessor, so that one
/// computes while the other loads. With one block if the strips would otherwise be very low.
/// @param fixed_bytes  of shared memory that a block needs besides its input
/// @param row_bytes    of one input row of all channels
/// @param map_blocks   blocks that share an image's maps among them
inline Strips cut_into_strips(const ConvShape& shape, std::int64_t fixed_bytes,
                              std::int64_t row_bytes, int map_blocks) {
  constexpr int kMostBlocks = 2;                 // on a multiprocessor
  constexpr std::int64_t kReservedBytes = 1024;  // by CUDA, for each block
  constexpr int kLowestStrip = 8;  // a lower strip loads many more rows than it computes
  const DeviceRoom room = DeviceRoom::of_current();
  const int rows = shape.out_height();
  const int lowest = std::min(kLowestStrip, rows);
  for (int blocks = kMostBlocks; blocks >= 1; --blocks) {
    const std::int64_t budget = std::min<std::int64_t>(
        room.block_bytes, room.multiprocessor_bytes / blocks - kReservedBytes);
    const std::int64_t input_rows = (budget - fixed_bytes) / row_bytes;
    const std::int64_t fitting = input_rows - (shape.kernel - 1);
    if (fitting < lowest) continue;
    // Strips of a small batch are lower, so that every multiprocessor has work.
    const int wanted = 2 * room.multiprocessors / (shape.batch * map_blocks);
    const auto highest = static_cast<int>(std::min<std::int64_t>(rows, fitting));
    const int count = std::max((rows + highest - 1) / highest, std::min(wanted, rows / lowest));
    Strips strips;
    strips.groups = (shape.out_width() + kGroupColumns - 1) / kGroupColumns;
    strips.rows = (rows + count - 1) / count;
    strips.count = (rows + strips.rows - 1) / strips.rows;
    return strips;
  }
  return {};
}

/// A stage whose blocks all run at the same time and process one strip after the other.
class StripConvolution : public DeviceConvolution {
 protected:
  using Kernel = void (*)(float*, const float*, const float*, ConvShape, Strips);

  /// Calls plan() for the possible kernels, the best one first.
  virtual void choose() = 0;

  /// Launches the product of any_shape_product.cuh; called if no kernel fits.
  virtual void launch_product(float* output, const float* input, const float* weights,
                              const ConvShape& shape) = 0;

  /// Chooses this kernel if its shared memory suffices.
  /// @param maps         of a block
  /// @param fixed_bytes  of shared memory that a block needs besides its input
  /// @param row_bytes    of one input row of all channels
  bool plan(Kernel kernel, int maps, std::int64_t fixed_bytes, std::int64_t row_bytes) {
    const int map_blocks = (shape().out_channels + maps - 1) / maps;
    strips_ = cut_into_strips(shape(), fixed_bytes, row_bytes, map_blocks);
    if (!strips_.fit()) return false;
    kernel_ = kernel;
    bytes_ = fixed_bytes + row_bytes * (strips_.rows + shape().kernel - 1);
    allow_shared_bytes(kernel, static_cast<int>(bytes_));
    const std::int64_t resident =
        std::max(1, resident_blocks(kernel, kThreads, bytes_) / map_blocks);
    const std::int64_t strips = std::int64_t{shape().batch} * strips_.count;
    grid_ = dim3(static_cast<unsigned>(std::min(resident, strips)), map_blocks);
    return true;
  }

 private:
  void prepare() override {
    kernel_ = nullptr;
    if (windows_cover(shape())) choose();
  }

  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    if (kernel_ == nullptr) return launch_product(output, input, weights, shape);
    kernel_<<<grid_, kThreads, bytes_>>>(output, input, weights, shape, strips_);
    CONVLAB_CUDA_CHECK_LAUNCH(grid_, kThreads, bytes_);
  }

  Kernel kernel_ = nullptr;
  Strips strips_;
  std::int64_t bytes_ = 0;
  dim3 grid_;
};

}  // namespace convlab::tensor_cores
