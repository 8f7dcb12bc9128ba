#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/json_text.hpp"
#include "grader/measure/stage_counts.hpp"

namespace convlab::grader {

/// A number that tells one technique from another, for all kernels of a stage together.
struct Counter {
  std::string_view id;                  ///< in scores.json: "loads-per-product"
  std::string_view title;               ///< "loads for each multiply-add"
  bool is_share;                        ///< shown in percent
  double (*value)(const StageCounts&);  ///< NaN if the stage has nothing of this kind
};

/// All counters, in the order of tables. docs/profile.md defines each.
const std::vector<Counter>& counters();

/// @return null if there is none with this id
const Counter* find_counter(std::string_view id);

/// How many blocks of a kernel a multiprocessor holds at the same time.
struct Occupancy {
  std::string gpus{};  ///< "A40, RTX 3060 (8.6)"
  int blocks = 0;
  double share = 0.0;  ///< of the threads that it could hold
  std::string limited_by{};
};

/// Bytes of shared memory that a block of the kernel was seen to use, by array.
std::int64_t shared_bytes_of(const KernelCounts& kernel);

/// One for each kind of GPU. Registers, which may limit it further, are known to a compiler for
/// GPUs only.
std::vector<Occupancy> occupancy_of(const KernelCounts& kernel);

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

/// @throws UsageError that lists the known ones
const Gpu& find_gpu(const std::string& name);

/// How many blocks a multiprocessor holds at the same time, and what limits them: "threads",
/// "blocks", "shared memory" or "registers".
struct ResidentBlocks {
  int blocks = 0;
  std::string limited_by{};
};

/// @param warps         of a block
/// @param shared_bytes  of a block
/// @param registers     of a thread; 0: unknown
ResidentBlocks resident_blocks(const MultiprocessorLimits& limits, int warps,
                               std::int64_t shared_bytes, int registers = 0);

}  // namespace convlab::grader
