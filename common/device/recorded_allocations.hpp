#pragma once

#include <vector>

#include "common/device/device_session.hpp"

namespace convlab {

/// The memory that a custom submission's calls of cudaMalloc and similar functions have allocated
/// and not freed. These calls go through recorded_allocations.cu: custom_submission/recorded_calls
/// renames them when the file is linked.
std::vector<MemoryRange> recorded_allocations();

/// Called before each cudaHostRegister of such a submission, with its first argument.
void before_recorded_pinning(void (*prepare)(const void* memory));

/// Unpins what cudaHostRegister has pinned since the last time and cudaHostUnregister has not.
void release_recorded_pinning();

/// The kind of GPU memory that these calls return.
enum class AllocationMode {
  kUsual,     ///< what CUDA gives
  kPoisoned,  ///< every word is a NaN, as emulated, so that unwritten memory shows in the output
  kGuarded,   ///< poisoned, and memory from cudaMalloc ends at unmapped memory
};

/// Applies to later calls; memory that was allocated before stays unchanged.
void choose_allocation_mode(AllocationMode mode);

/// Whether this program's file was linked with the recording calls. The workbook's own programs,
/// such as a reference solution, are not.
inline bool& allocations_are_recorded() {
  static bool recorded = false;
  return recorded;
}

}  // namespace convlab
