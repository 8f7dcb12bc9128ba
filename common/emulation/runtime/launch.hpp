#pragma once

#include "common/emulation/include/convlab_emulation/launch.hpp"
#include "common/emulation/runtime/graph.hpp"

namespace convlab::emulation {

/// Whether a kernel on a GPU could use the address: null, device, pinned or managed memory, or a
/// symbol, but no other memory of the host.
bool kernel_may_use(const void* address);

/// What launch_untyped would put into a stream.
/// @return what is wrong, recorded as the last error, or cudaSuccess
cudaError_t plan_untyped(const void* function, void** arguments, const LaunchSetup& setup,
                         Action& action);

}  // namespace convlab::emulation
