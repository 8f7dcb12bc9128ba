#pragma once

// cuda::std: the host's standard library under libcu++'s name. What synchronises threads is
// cuda's own.

#include "common/emulation/extended/libcuxx_barrier.hpp"

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's

namespace cuda::std {

using namespace ::std;

template <class T>
using atomic = ::cuda::atomic<T, thread_scope_system>;
template <class T>
using atomic_ref = ::cuda::atomic_ref<T, thread_scope_system>;
template <class Completion = detail::no_completion>
using barrier = ::cuda::barrier<thread_scope_system, Completion>;

}  // namespace cuda::std

// NOLINTEND(readability-identifier-naming)
