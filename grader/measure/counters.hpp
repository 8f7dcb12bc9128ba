#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace convlab::grader
