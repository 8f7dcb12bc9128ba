#pragma once

#include <optional>

#include "common/emulation/runtime/report.hpp"

namespace convlab::emulation {

// The pages in which __device__ and __constant__ variables lie, and nothing else. On a GPU the host
// has another variable under each of these names, which no kernel sees. Here it has none: the pages
// are closed while no kernel and no copy runs, so that a host that uses such a name faults.

/// Opens them while it lives.
class VariableAccess {
 public:
  VariableAccess();
  VariableAccess(const VariableAccess&) = delete;
  VariableAccess& operator=(const VariableAccess&) = delete;
  ~VariableAccess();
};

/// The nearest variable, for an address that lies in one or between them.
std::optional<ReportMemory> memory_of_variable(const void* address);

}  // namespace convlab::emulation
