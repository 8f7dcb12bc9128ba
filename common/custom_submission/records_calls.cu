// Part of each program whose file is linked with the recording calls (recorded_calls).

#include "common/device/recorded_allocations.hpp"

[[maybe_unused]] static const bool recorded = convlab::allocations_are_recorded() = true;
