#include "common/emulation/include/convlab_emulation/activity.hpp"

#include <mutex>

#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/stream.hpp"

namespace convlab::emulation {

namespace {

std::mutex record_mutex;

Activity& record() {
  // Never destroyed: other static objects may use the device in their destructors.
  static auto* const instance = new Activity;
  return *instance;
}

}  // namespace

std::vector<MemoryRange> allocated_memory() {
  std::vector<MemoryRange> ranges;
  for (const Allocation& allocation : device_memory().live()) {
    ranges.push_back({allocation.begin, static_cast<std::int64_t>(allocation.bytes)});
  }
  return ranges;
}

bool has_pending_work() {
  return streams().pending();
}

Activity activity() {
  const std::lock_guard lock(record_mutex);
  return record();
}

void note_launch(const std::string& kernel) {
  const std::lock_guard lock(record_mutex);
  ++record().launches[kernel];
}

void note_call(const char* function) {
  const std::lock_guard lock(record_mutex);
  ++record().calls[function];
}

void note_copy(bool from_device, bool to_device, std::int64_t bytes) {
  const std::string direction =
      std::string(from_device ? "device" : "host") + " to " + (to_device ? "device" : "host");
  const std::lock_guard lock(record_mutex);
  Activity::Copies& copies = record().copies[direction];
  ++copies.calls;
  copies.bytes += bytes;
}

}  // namespace convlab::emulation
