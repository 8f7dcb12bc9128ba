#pragma once

// cooperative_groups::memcpy_async: a group copies into shared memory. Every member does its part,
// at the time it waits (async_copy.hpp); a copy to another place is done at once.

#include <cooperative_groups.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "common/emulation/include/convlab_emulation/async_copy.hpp"

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's

namespace cooperative_groups {

/// Begins to copy `bytes` bytes. All members call it with the same arguments.
template <class Group, class T>
void memcpy_async(const Group& group, T* to, const T* from, std::size_t bytes, CONVLAB_CALL_SITE) {
  const auto copy = convlab::emulation::member_copy(group, to, from, bytes, site);
  if (convlab::emulation::is_shared(to))
    convlab::emulation::async_copies().add(copy);
  else
    std::memcpy(copy.to, copy.from, copy.bytes);
  convlab::emulation::async_copies().commit();
}

/// The same of elements: as many as both ends have.
template <class Group, class T, class Room, class Count>
void memcpy_async(const Group& group, T* to, Room room, const T* from, Count count,
                  CONVLAB_CALL_SITE) {
  const std::size_t elements = std::min<std::size_t>(room, count);
  memcpy_async(group, to, from, elements * sizeof(T), site);
}

/// Waits until all copies of all members but the last kPrior are done.
template <unsigned kPrior, class Group>
void wait_prior(const Group& group, CONVLAB_CALL_SITE) {
  convlab::emulation::async_copies().wait_prior(kPrior);
  group.sync(site);
}

template <class Group>
void wait(const Group& group, CONVLAB_CALL_SITE) {
  wait_prior<0>(group, site);
}

}  // namespace cooperative_groups

// NOLINTEND(readability-identifier-naming)
