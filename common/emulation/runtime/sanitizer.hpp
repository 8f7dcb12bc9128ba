#pragma once

// Marks memory for AddressSanitizer in builds that have it; does nothing in others.

#include <cstddef>

#include "common/base/address_sanitizer.hpp"

#if CONVLAB_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace convlab::emulation {

inline void forbid_access([[maybe_unused]] const void* begin, [[maybe_unused]] std::size_t bytes) {
#if CONVLAB_ADDRESS_SANITIZER
  __asan_poison_memory_region(begin, bytes);
#endif
}

inline void allow_access([[maybe_unused]] const void* begin, [[maybe_unused]] std::size_t bytes) {
#if CONVLAB_ADDRESS_SANITIZER
  __asan_unpoison_memory_region(begin, bytes);
#endif
}

}  // namespace convlab::emulation
