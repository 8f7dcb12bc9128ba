#pragma once

// __pipeline_memcpy_async and its companions: see async_copy.hpp for when a copy happens.

#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "common/emulation/include/convlab_emulation/async_copy.hpp"

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the names are CUDA's

/// Begins a copy of 4, 8 or 16 bytes from global to shared memory, both aligned to that size.
/// @param zfill  bytes at the end that become 0 instead of being read
inline void __pipeline_memcpy_async(void* dst_shared, const void* src_global,
                                    std::size_t size_and_align, std::size_t zfill = 0,
                                    CONVLAB_CALL_SITE) {
  using convlab::emulation::KernelFault;
  char message[160];
  if (size_and_align != 4 && size_and_align != 8 && size_and_align != 16) {
    std::snprintf(message, sizeof message,
                  "__pipeline_memcpy_async copies 4, 8 or 16 bytes, not %zu", size_and_align);
    convlab::emulation::fail_kernel(KernelFault::kIllegalInstruction, message, site);
  }
  if (zfill > size_and_align) {
    std::snprintf(message, sizeof message,
                  "__pipeline_memcpy_async: zfill is %zu, more than the %zu bytes of the copy",
                  zfill, size_and_align);
    convlab::emulation::fail_kernel(KernelFault::kIllegalInstruction, message, site);
  }
  const auto to = reinterpret_cast<std::uintptr_t>(dst_shared);
  const auto from = reinterpret_cast<std::uintptr_t>(src_global);
  if (to % size_and_align != 0 || from % size_and_align != 0) {
    std::snprintf(message, sizeof message,
                  "__pipeline_memcpy_async: the %s is not aligned to the %zu bytes of the copy",
                  to % size_and_align != 0 ? "destination" : "source", size_and_align);
    convlab::emulation::fail_kernel(KernelFault::kMisalignedAddress, message, site);
  }
  if (!convlab::emulation::is_shared(dst_shared)) {
    convlab::emulation::fail_kernel(KernelFault::kInvalidAddressSpace,
                                    "__pipeline_memcpy_async: the destination is not in the "
                                    "block's shared memory",
                                    site);
  }
  convlab::emulation::async_copies().add(dst_shared, src_global, size_and_align, zfill, site);
}

/// Closes the batch of all copies begun since the last commit.
inline void __pipeline_commit() {
  convlab::emulation::async_copies().commit();
}

/// Waits for the calling thread's batches, except the `prior` last ones.
inline void __pipeline_wait_prior(std::size_t prior) {
  convlab::emulation::async_copies().wait_prior(prior);
}

// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
