#pragma once

// What threads of kernels tell common/emulation/trace, if the program was compiled for it, and
// nobody otherwise.

#include <cstddef>

#include "common/emulation/include/convlab_emulation/call_site.hpp"

namespace convlab::emulation {

/// The next accesses of the running thread to these bytes are one atomic operation.
/// @param orders  it also acquires and releases, as those of libcu++ do
void begin_atomic(const void* address, std::size_t bytes, bool orders);
void end_atomic();
/// A compare-and-swap will find out whether what the thread has just read there is still true.
void observe_verification(const void* address);

void observe_fence();
/// What the thread did before is known to each thread that acquires the same object later.
void observe_release(const void* object);
void observe_acquire(const void* object);
/// These bytes are an object whose operations order threads; its own accesses are no matter.
void observe_object(const void* object, std::size_t bytes);

/// The thread begins an asynchronous copy; it has waited for one.
void observe_copy(void* to, const void* from, std::size_t bytes, const CallSite& site);
void observe_copied(void* to, std::size_t bytes, const CallSite& site);

/// An access that some lane of the thread's warp makes; the layout of fragments leaves open which.
void observe_warp(const void* address, std::size_t bytes, bool writes, const CallSite& site);

}  // namespace convlab::emulation
