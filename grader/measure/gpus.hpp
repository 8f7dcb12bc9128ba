#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/json_text.hpp"

namespace convlab::grader {

/// What one streaming multiprocessor holds.
struct MultiprocessorLimits {
  int threads = 0;
  int blocks = 0;
  int shared_kib = 0;
  int reserved_kib = 0;  ///< of shared memory, for each block
};

/// The published limits of a GPU; gpus.json names the source of each.
struct Gpu {
  std::string name{};
  std::string capability{};  ///< "8.6"
  MultiprocessorLimits multiprocessor{};
  int multiprocessors = 0;
  double clock_mhz = 0.0;
  double dram_gb_per_s = 0.0;
  double fp32_tflops = 0.0;
  double fp16_tensor_tflops = 0.0;
  double tf32_tensor_tflops = 0.0;  ///< as FP16 if the GPU has no TF32
};

/// A JSON file of this folder.
Json measure_file(const std::string& name);

/// All in gpus.json, those of one capability side by side.
const std::vector<Gpu>& published_gpus();

/// How many blocks a multiprocessor holds at the same time.
struct ResidentBlocks {
  int blocks = 0;
  std::string limited_by{};  ///< "threads", "blocks", "shared memory" or "registers"
  double share = 0.0;        ///< of the threads that it could hold
};

/// @param warps         of a block
/// @param shared_bytes  of a block
/// @param registers     of a thread; 0: unknown
ResidentBlocks resident_blocks(const MultiprocessorLimits& limits, int warps,
                               std::int64_t shared_bytes, int registers = 0);

}  // namespace convlab::grader
