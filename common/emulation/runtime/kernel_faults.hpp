#pragma once

#include "common/emulation/runtime/fault.hpp"

namespace convlab::emulation {

/// Ends the running block with a fault of the whole block: no thread of it is named.
[[noreturn]] void fail_block(Fault::Kind kind, KernelFault error);

}  // namespace convlab::emulation
