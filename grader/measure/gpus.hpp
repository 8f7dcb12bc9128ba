#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace convlab::grader {

/// What one streaming multiprocessor holds.
struct MultiprocessorLimits {
  std::string capability{};  ///< "8.6"
  int threads = 0;
  int blocks = 0;
  std::int64_t shared_bytes = 0;
  std::int64_t reserved_bytes = 0;  ///< of shared memory, for each block
};

/// The published limits of a GPU; gpus.json names the source of each.
struct Gpu {
  std::string name{};
  MultiprocessorLimits multiprocessor{};
  double multiprocessors = 0.0;
  double clock = 0.0;  ///< Hz
  double bytes_per_second = 0.0;
  double fp32_per_second = 0.0;
  double fp16_tensor_per_second = 0.0;
  double tf32_tensor_per_second = 0.0;  ///< as FP16 if the GPU has no TF32
};

/// All in gpus.json, those of one capability side by side.
const std::vector<Gpu>& published_gpus();

/// @throws UsageError that lists the known ones
const Gpu& find_gpu(const std::string& name);

/// How many blocks a multiprocessor holds at the same time, and what limits them: "threads",
/// "blocks" or "shared memory".
struct ResidentBlocks {
  int blocks = 0;
  std::string limited_by{};
};

/// @param warps         of a block
/// @param shared_bytes  of a block
ResidentBlocks resident_blocks(const MultiprocessorLimits& limits, int warps,
                               std::int64_t shared_bytes);

}  // namespace convlab::grader
