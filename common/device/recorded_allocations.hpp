#pragma once

#include <vector>

#include "common/device/device_session.hpp"

namespace convlab {

/// What a given file's calls of cudaMalloc and its relatives have allocated and not freed. Those
/// calls go through recorded_allocations.cu: given_file/recorded_calls renames them when it is
/// linked.
std::vector<MemoryRange> recorded_allocations();

/// What memory of a GPU these calls hand out.
enum class AllocationMode {
  kUsual,     ///< what CUDA gives
  kPoisoned,  ///< every word is a NaN, as emulated, so that what nobody wrote shows in the output
  kGuarded,   ///< poisoned, and what cudaMalloc gives ends where nothing is mapped
};

/// For the calls from now on; memory that is handed out stays as it is.
void choose_allocation_mode(AllocationMode mode);

/// Whether this program's file was linked with the calls that record. The workbook's own programs,
/// such as a reference solution, are not.
inline bool& allocations_are_recorded() {
  static bool recorded = false;
  return recorded;
}

}  // namespace convlab
