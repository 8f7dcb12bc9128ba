// Single precision from half-precision tensor cores.
//
// Idea     Two halves hold 11 + 11 of the 24 bits of a float. Three products of halves replace one
//          of floats, and tensor cores do 15 times as many products as the other cores.
// Picture  split_halves.cuh            value = high + low, and which products count
//          below                       the first layer: roofline's kernel with three products
//          split_by_warpgroups.cuh     the second layer: wgmma, and warps with different tasks
//          split_by_warps.cuh          the same where warpgroups do not multiply
// Cost     three times the matrix operations. A pass over the data for its largest value, because
//          halves reach only from 2^-24 to 65504 and each strip or image gets its own scale
// Expect   the first layer near the time of its copy (0.34 ms at 10 000 images), because tensor
//          cores were idle there. Tensor cores limit the second: 6 512 cycles for an image, if they
//          never wait. It takes about 8 100, because conversion and stores use the shared memory at
//          the same time. At full load they draw so much power that the GPU lowers its clock.
// Run      build/bin/m4 10000 --stage fp32-split --solution reference
//          build/bin/grader check m4 --stage fp32-split --solution reference
//
// The grader's bound for single precision is 32 units of 2^-24 · Σ|a||b|. Half precision alone has
// an error of about 5000, this stage 24 on random data, with both signs and with one.

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "captured_graph.cuh"
#include "column_pairs.cuh"
#include "common/device/bulk_copy.cuh"
#include "common/device/matrix_fragments.cuh"
#include "common/stage/device_convolution.cuh"
#include "direct_convolution.cuh"
#include "reference/solutions/m4_optimizations/any_shape.cuh"
#include "reference/solutions/m4_optimizations/device_room.cuh"
#include "split_by_warpgroups.cuh"
#include "split_by_warps.cuh"
#include "split_halves.cuh"

namespace {

using namespace convlab::column_pairs;
using namespace convlab::split_halves;
namespace by_warpgroups = convlab::split_by_warpgroups;
namespace by_warps = convlab::split_by_warps;
using convlab::BlockLoad;
using convlab::ConvShape;
using convlab::HalfPair;
using convlab::LeftFragment;
using convlab::RightFragment;
using convlab::SumFragment;
using convlab::direct::DirectLayer;
using convlab::direct::launch_direct;

// ---------------------------------------------------------------------------------------------
// One input channel.

template <class Layer>
struct OneChannelShared {
  // (input rows, pairs), two strips in turn; floats at first
  alignas(128) SplitPair pixels[2][Layer::kStripInputs / 2 + Layer::kPadding];
  SplitPair table[Layer::kTable];  // (parity, map, kernel row, 4 pairs of taps)
  float weights[Layer::kWeights];
  float input_max[2][Layer::kWarps];
  float weight_max[Layer::kWarps];
  alignas(128) float staged[Layer::kStaged];  // (map, strip rows, out)
  BlockLoad load;
};

// A block computes `strips` strips of one image, one after the other, so that splitting the weights
// pays.
template <class Layer>
__global__ void __launch_bounds__(Layer::kThreads, Layer::kMapTiles > 1 ? 2 : 4)
    convolve_one_channel(float* __restrict__ output, const float* __restrict__ input,
                         const float* __restrict__ weights, int strips) {
  extern __shared__ __align__(128) char memory[];
  auto& shared = *reinterpret_cast<OneChannelShared<Layer>*>(memory);
  constexpr int kOut = Layer::kOut;
  constexpr int kKernel = Layer::kKernel;
  constexpr int kRowPairs = Layer::kSize / 2;
  const int thread = threadIdx.x;
  const int lane = thread % kWarp;
  const int tile = thread / kWarp;
  const int blocks_per_image = Layer::kStrips / strips;
  const int image = blockIdx.x / blocks_per_image;
  const int first_strip = blockIdx.x % blocks_per_image * strips;
  const float* source = input + std::int64_t{image} * Layer::kSize * Layer::kSize +
                        first_strip * Layer::kStripRows * Layer::kSize;

  shared.load.init();
  shared.load.start(shared.pixels[0], source, sizeof(float) * Layer::kStripInputs);
  float weight_max = 0.0f;
  for (int i = thread; i < Layer::kWeights; i += Layer::kThreads) {
    shared.weights[i] = weights[i];
    weight_max = fmaxf(weight_max, fabsf(shared.weights[i]));
  }
  weight_max = warp_max(weight_max);
  if (lane == 0) shared.weight_max[tile] = weight_max;
  if (thread < Layer::kPadding) {
    for (int i = 0; i < 2; ++i) shared.pixels[i][Layer::kStripInputs / 2 + thread] = {0, 0};
  }
  __syncthreads();
  for (int i = 0; i < Layer::kWarps; ++i) weight_max = fmaxf(weight_max, shared.weight_max[i]);
  const Scale weight_scale = scale_for(weight_max);
#pragma unroll
  for (int i = thread; i < Layer::kTableEntries; i += Layer::kThreads) {
    const typename Layer::TableEntry entry(i);
    const float2 two = weight_pair(shared.weights + entry.weight_row(), kKernel, entry.parity,
                                   entry.q, entry.real());
    shared.table[entry.place()] = split(weight_scale.up * two.x, weight_scale.up * two.y);
  }
  __syncthreads();

  const int g = lane / 4;
  const int q = lane % 4;
  const int row_of_two = g / 4;
  const int column = min(tile * kTileColumns, kOut - kTileColumns);
  LeftFragment high[Layer::kMapTiles][Layer::kSteps];  // (16 map-rows, 16 taps) each
  LeftFragment low[Layer::kMapTiles][Layer::kSteps];
#pragma unroll
  for (int t = 0; t < Layer::kMapTiles; ++t) {
#pragma unroll
    for (int j = 0; j < Layer::kSteps; ++j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const SplitPair pair =
            shared.table[Layer::table_place(i % 2, t * 4 + g % 4, 2 * j + i / 2 - row_of_two, q)];
        high[t][j].pair[i] = pair.high;
        low[t][j].pair[i] = pair.low;
      }
    }
  }

#pragma unroll 1
  for (int strip = 0; strip < strips; ++strip) {
    SplitPair* pixels = shared.pixels[strip % 2];
    shared.load.wait(strip % 2);
    constexpr int kFours = Layer::kStripInputs / 4;
    constexpr int kFoursPerThread = (kFours + Layer::kThreads - 1) / Layer::kThreads;
    float4 fours[kFoursPerThread];
    float input_max = 0.0f;
#pragma unroll
    for (int i = 0; i < kFoursPerThread; ++i) {
      const int place = i * Layer::kThreads + thread;
      if (place < kFours) {
        fours[i] = reinterpret_cast<const float4*>(pixels)[place];
        input_max = fmaxf(input_max, largest(fours[i]));
      }
    }
    input_max = warp_max(input_max);
    if (lane == 0) shared.input_max[strip % 2][tile] = input_max;
    __syncthreads();  // the strip before is computed, so its buffer is free
    if (strip + 1 < strips) {
      shared.load.start(shared.pixels[(strip + 1) % 2],
                        source + (strip + 1) * Layer::kStripRows * Layer::kSize,
                        sizeof(float) * Layer::kStripInputs);
    }
    for (int i = 0; i < Layer::kWarps; ++i) {
      input_max = fmaxf(input_max, shared.input_max[strip % 2][i]);
    }
    const Scale input_scale = scale_for(input_max);
#pragma unroll
    for (int i = 0; i < kFoursPerThread; ++i) {
      const int place = i * Layer::kThreads + thread;
      if (place < kFours) {
        const float up = input_scale.up;
        const SplitPair first = split(up * fours[i].x, up * fours[i].y);
        const SplitPair second = split(up * fours[i].z, up * fours[i].w);
        reinterpret_cast<uint4*>(pixels)[place] =
            make_uint4(first.high, first.low, second.high, second.low);
      }
    }
    if constexpr (Layer::kDirect) {
      __syncthreads();
    } else {
      convlab::block_store_wait();  // of the strip before; also a barrier
    }

    const int first_row = (first_strip + strip) * Layer::kStripRows;
    const SplitPair* taps = pixels + column / 2 + g + q;
    SplitPair row[Layer::kStripInputRows];
#pragma unroll
    for (int y = 0; y < kKernel - 1; ++y) row[y] = taps[y * kRowPairs];
#pragma unroll
    for (int y = 0; y < Layer::kStripRows; y += 2) {
#pragma unroll
      for (int i = kKernel - 1; i <= kKernel; ++i) row[y + i] = taps[(y + i) * kRowPairs];
#pragma unroll
      for (int t = 0; t < Layer::kMapTiles; ++t) {
        SumFragment sums = {};
        SumFragment corrections = {};
#pragma unroll
        for (int j = 0; j < Layer::kSteps; ++j) {
          const SplitPair& upper = row[y + 2 * j];
          const SplitPair& lower = row[y + 2 * j + 1];
          const RightFragment right_high = {{upper.high, lower.high}};
          const RightFragment right_low = {{upper.low, lower.low}};
          convlab::multiply_add(sums, high[t][j], right_high);
          convlab::multiply_add(corrections, low[t][j], right_high);
          convlab::multiply_add(corrections, high[t][j], right_low);
        }
        for (int i = 0; i < 4; ++i) {
          sums.sum[i] =
              join(sums.sum[i], corrections.sum[i]) * input_scale.down * weight_scale.down;
        }
        const float4 four = make_float4(sums.sum[0], sums.sum[2], sums.sum[1], sums.sum[3]);
        const int map = t * 4 + g % 4;
        if (Layer::kMaps % 4 != 0 && map >= Layer::kMaps) continue;
        const int strip_row = y + row_of_two;
        if constexpr (Layer::kDirect) {
          const std::int64_t place = (std::int64_t{image} * Layer::kMaps + map) * kOut * kOut +
                                     (first_row + strip_row) * kOut + column + 4 * q;
          store_four<convlab::Keep::kLong>(output + place, four);
        } else {
          store_new_columns(shared.staged + (map * Layer::kStripRows + strip_row) * kOut,
                            column + 4 * q, tile * kTileColumns, four);
        }
      }
    }
    if constexpr (!Layer::kDirect) {
      convlab::block_store(
          output + std::int64_t{image} * Layer::kMaps * kOut * kOut + first_row * kOut,
          shared.staged, sizeof(float) * Layer::kStripRows * kOut, Layer::kMaps,
          sizeof(float) * kOut * kOut);
    }
  }
  if constexpr (!Layer::kDirect) convlab::block_store_wait();
}

class Fp32Split final : public convlab::DeviceConvolution {
  using Fa23First = OneChannel<4, 7, 86, 16>;
  using Fa23Second = by_warpgroups::SixteenMaps<7, 40>;
  using Fa23SecondByWarps = ManyMaps<4, 16, 7, 40, 5, 0>;
  using Fa19First = OneChannel<12, 5, 70, 6>;
  using Fa18First = OneChannel<12, 7, 72, 6>;
  using Sp18First = OneChannel<6, 5, 64, 20>;

  // All work that does not depend on the data is done here: setting an attribute takes
  // microseconds.
  void prepare() override {
    room_ = convlab::DeviceRoom::of_current();
    ordered_ = convlab::DeviceBuffer<float>(convlab::direct::kConstantFloats);
    allow_one_channel<Fa23First>();
    allow_one_channel<Fa19First>();
    allow_one_channel<Fa18First>();
    allow_one_channel<Sp18First>();
    const auto second = by_warpgroups::convolve_sixteen_maps<Fa23Second>;
    has_warpgroup_code_ = convlab::has_warpgroup_code(second);
    if (has_warpgroup_code_) convlab::allow_shared_bytes(second, room_.block_bytes);
    const auto by_single_warps = by_warps::convolve_split_maps<Fa23SecondByWarps>;
    if (has_room_for_warps()) convlab::allow_shared_bytes(by_single_warps, room_.block_bytes);
    graph_ = convlab::CapturedGraph([this](cudaStream_t stream) { submit(stream); });
  }
  void release() override {
    graph_ = {};
    ordered_ = {};
  }

  template <class Layer>
  void allow_one_channel() const {
    if (Layer::fits(shape())) {
      convlab::allow_shared_bytes(convolve_one_channel<Layer>, room_.block_bytes);
    }
  }

  template <class Layer>
  bool submit_one_channel(cudaStream_t stream) {
    if (!Layer::fits(shape())) return false;
    const int batch = shape().batch;
    const auto kernel = convolve_one_channel<Layer>;
    constexpr int kBytes = sizeof(OneChannelShared<Layer>);
    // With few images, many short blocks fill the GPU. With many, one block computes an image.
    const int strips =
        batch >= kImagesPerMultiprocessor * room_.multiprocessors ? Layer::kStrips : 1;
    const dim3 grid(static_cast<unsigned>(batch) * (Layer::kStrips / strips));
    kernel<<<grid, Layer::kThreads, kBytes, stream>>>(device_output(), device_input(),
                                                      device_weights(), strips);
    CONVLAB_CUDA_CHECK_LAUNCH(grid, Layer::kThreads, kBytes);
    return true;
  }

  template <class Layer>
  bool submit_sixteen_maps(cudaStream_t stream) {
    if (!Layer::fits(shape()) || !has_warpgroup_code_) return false;
    const int batch = shape().batch;
    const auto kernel = by_warpgroups::convolve_sixteen_maps<Layer>;
    constexpr int kBytes = sizeof(by_warpgroups::SixteenMapsShared<Layer>);
    const int blocks = std::min(batch, room_.multiprocessors);
    kernel<<<blocks, by_warpgroups::kThreads, kBytes, stream>>>(device_output(), device_input(),
                                                                device_weights(), batch);
    CONVLAB_CUDA_CHECK_LAUNCH(blocks, by_warpgroups::kThreads, kBytes);
    return true;
  }

  using ByWarpsShared = by_warps::SplitMapsShared<Fa23SecondByWarps>;
  [[nodiscard]] bool has_room_for_warps() const {
    return Fa23SecondByWarps::fits(shape()) &&
           static_cast<int>(sizeof(ByWarpsShared)) <= room_.block_bytes;
  }

  bool submit_by_warps(cudaStream_t stream) {
    using Layer = Fa23SecondByWarps;
    if (!has_room_for_warps()) return false;
    const dim3 grid(static_cast<unsigned>(shape().batch));
    const auto kernel = by_warps::convolve_split_maps<Layer>;
    kernel<<<grid, Layer::kThreads, sizeof(ByWarpsShared), stream>>>(
        device_output(), device_input(), device_weights());
    CONVLAB_CUDA_CHECK_LAUNCH(grid, Layer::kThreads, sizeof(ByWarpsShared));
    return true;
  }

  void launch(float* /*output*/, const float* /*input*/, const float* /*weights*/,
              const ConvShape& /*shape*/) override {
    graph_.launch();  // the graph holds the arguments
  }

  void submit(cudaStream_t stream) {
    // Shapes without a kernel for these tensor cores: second layers of other networks; other GPUs.
    const auto direct = [&](auto layer) {
      return launch_direct<decltype(layer)>(device_output(), device_input(), device_weights(),
                                            ordered_.data(), shape(), stream);
    };
    const bool done = submit_one_channel<Fa23First>(stream) ||  // fa23
                      submit_sixteen_maps<Fa23Second>(stream) || submit_by_warps(stream) ||
                      submit_one_channel<Fa19First>(stream) ||  // fa19
                      direct(DirectLayer<12, 24, 5, 33, 29, 4, 12>{}) ||
                      submit_one_channel<Fa18First>(stream) ||  // fa18
                      direct(DirectLayer<12, 24, 7, 33, 27, 4, 12>{}) ||
                      submit_one_channel<Sp18First>(stream) ||  // sp18
                      direct(DirectLayer<6, 16, 5, 30, 26, 4, 16>{});
    if (done) return;
    convlab::convolve_any_shape(device_output(), device_input(), device_weights(), shape(), stream);
  }

  static constexpr int kImagesPerMultiprocessor = 4;
  convlab::DeviceRoom room_;
  bool has_warpgroup_code_ = false;
  convlab::CapturedGraph graph_;
  convlab::DeviceBuffer<float> ordered_;  // weights in the order of constant memory
};

const convlab::ConvolutionStage<Fp32Split> stage({
    .id = "fp32-split",
    .title = "Single precision from half-precision tensor cores",
    .baseline = "roofline",
    .order = 176,
    .precision = convlab::Precision::kFp32,
    .needs = {7, 5},
});

}  // namespace
