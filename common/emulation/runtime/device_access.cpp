#include "common/emulation/runtime/device_access.hpp"

#include <mutex>

namespace convlab::emulation {

void DeviceAccess::open(DeviceMemory& memory, Allocation& allocation) {
  if (allocation.kind != MemoryKind::kDevice) return;
  memory.open(allocation);
  ++allocation.users;
  opened_.push_back(allocation.pages);
}

DeviceAccess::DeviceAccess() {
  if (threads_have_rights()) return;
  DeviceMemory& memory = device_memory();
  const std::lock_guard lock(memory.mutex_);
  opened_.reserve(memory.live_.size());
  for (auto& [pages, allocation] : memory.live_) open(memory, allocation);
}

DeviceAccess::DeviceAccess(std::initializer_list<const void*> addresses) {
  if (threads_have_rights()) return;
  DeviceMemory& memory = device_memory();
  const std::lock_guard lock(memory.mutex_);
  opened_.reserve(addresses.size());  // whoever asks for memory may call the program
  for (const void* address : addresses) {
    if (!memory.contains(address)) continue;
    if (Allocation* const found = DeviceMemory::last_before(memory.live_, address))
      open(memory, *found);
  }
}

DeviceAccess::~DeviceAccess() {
  if (opened_.empty()) return;
  DeviceMemory& memory = device_memory();
  const std::lock_guard lock(memory.mutex_);
  for (const std::byte* pages : opened_) {
    const auto entry = memory.live_.find(pages);
    if (entry == memory.live_.end()) continue;  // freed meanwhile
    if (--entry->second.users == 0) memory.close(entry->second);
  }
}

}  // namespace convlab::emulation
