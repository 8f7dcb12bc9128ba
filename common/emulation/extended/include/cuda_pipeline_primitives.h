#pragma once

// __pipeline_memcpy_async and its companions: see async_copy.hpp for when a copy happens.

#include <cstddef>

#include "common/emulation/include/convlab_emulation/async_copy.hpp"

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the names are CUDA's

/// Begins a copy of 4, 8 or 16 bytes from global to shared memory, both aligned to that size.
/// @param zfill  bytes at the end that become 0 instead of being read
inline void __pipeline_memcpy_async(void* dst_shared, const void* src_global,
                                    std::size_t size_and_align, std::size_t zfill = 0,
                                    CONVLAB_CALL_SITE) {
  convlab::emulation::begin_async_copy("__pipeline_memcpy_async", dst_shared, src_global,
                                       size_and_align, zfill, site);
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
