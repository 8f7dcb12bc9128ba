#pragma once

#include <cstddef>

namespace convlab::emulation {

/// The calling thread may use device memory while it lives, where threads have rights of their own
/// (device_rights.cpp); elsewhere it does nothing, and DeviceAccess opens the pages for all.
class DeviceRights {
 public:
  DeviceRights();
  DeviceRights(const DeviceRights&) = delete;
  DeviceRights& operator=(const DeviceRights&) = delete;
  ~DeviceRights();

  /// After a handler of a signal that has not returned.
  void renew() const;
};

/// Whether threads have rights of their own.
[[nodiscard]] bool threads_have_rights();

/// Leaves pages, which are accessible now, to threads that have the right. @return success
bool leave_to_rights(void* pages, std::size_t bytes);

/// Closes such pages to everybody, until they are given out again as any others: a change of their
/// protection alone would leave them to the right.
void take_from_rights(void* pages, std::size_t bytes);

}  // namespace convlab::emulation
