#pragma once

#include "common/emulation/runtime/fault.hpp"

namespace convlab::emulation {

/// Ends the running block with a fault of the whole block: no thread of it is named.
[[noreturn]] void fail_block(EmulationFault kind, KernelFault error);

/// fail_kernel (collective.hpp) for a fault of a certain kind.
[[noreturn]] void fail_thread(EmulationFault kind, KernelFault error, const char* message,
                              CallSite site);

}  // namespace convlab::emulation
