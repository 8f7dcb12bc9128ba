#pragma once

#include "common/emulation/include/convlab_emulation/launch.hpp"
#include "common/emulation/runtime/stream.hpp"

namespace convlab::emulation {

/// Makes the action that launch_untyped submits.
/// @return cudaSuccess, or the error, which is then the last error, too
cudaError_t plan_untyped(const void* function, void** arguments, const Configuration& configuration,
                         Action& action);

}  // namespace convlab::emulation
