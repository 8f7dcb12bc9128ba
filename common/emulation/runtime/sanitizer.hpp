#pragma once

// Marks memory for AddressSanitizer in builds that have it; does nothing in others.

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define CONVLAB_EMULATION_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CONVLAB_EMULATION_ASAN 1
#endif
#endif
#ifndef CONVLAB_EMULATION_ASAN
#define CONVLAB_EMULATION_ASAN 0
#endif

#if CONVLAB_EMULATION_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace convlab::emulation {

inline void forbid_access([[maybe_unused]] const void* begin, [[maybe_unused]] std::size_t bytes) {
#if CONVLAB_EMULATION_ASAN
  __asan_poison_memory_region(begin, bytes);
#endif
}

inline void allow_access([[maybe_unused]] const void* begin, [[maybe_unused]] std::size_t bytes) {
#if CONVLAB_EMULATION_ASAN
  __asan_unpoison_memory_region(begin, bytes);
#endif
}

}  // namespace convlab::emulation
