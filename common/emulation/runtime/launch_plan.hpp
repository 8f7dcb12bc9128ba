#pragma once

#include "common/emulation/include/convlab_emulation/launch.hpp"
#include "common/emulation/runtime/stream.hpp"

namespace convlab::emulation {

/// What launch_untyped would put into a stream.
/// @return what is wrong, recorded as the last error, or cudaSuccess
cudaError_t plan_untyped(const void* function, void** arguments, const Configuration& configuration,
                         Action& action);

}  // namespace convlab::emulation
