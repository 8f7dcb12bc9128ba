#pragma once

#include <cstdint>

#include "common/base/fault_record.hpp"

namespace convlab::emulation {

/// Whether threads can meet at this address: in shared memory of the running block, in memory of
/// the device or in a `__device__` variable; not in constant memory, which no kernel writes.
bool is_traced_memory(std::uintptr_t address);

/// What lies at an address of traced memory, for the running kernel.
FaultMemory memory_at(std::uintptr_t address);

}  // namespace convlab::emulation
