#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <type_traits>
#include <unordered_map>

struct CUevent_st;

namespace convlab::emulation {

/// Streams and graphs that were made and not destroyed.
inline std::atomic<int> live_objects{0};

/// The live handles of one kind. Any other handle is an error.
template <typename Object>
class Handles {
 public:
  Object* add(std::unique_ptr<Object> object) {
    const std::lock_guard lock(mutex_);
    Object* const handle = object.get();
    objects_.emplace(handle, std::move(object));
    live_objects += kCounted;
    return handle;
  }
  [[nodiscard]] bool contain(Object* handle) const {
    const std::lock_guard lock(mutex_);
    return objects_.contains(handle);
  }
  /// @return what was removed; null if the handle is none
  std::unique_ptr<Object> remove(Object* handle) {
    const std::lock_guard lock(mutex_);
    auto node = objects_.extract(handle);
    if (node.empty()) return nullptr;
    live_objects -= kCounted;
    return std::move(node.mapped());
  }

 private:
  // An event takes a few bytes, and right programs keep one for each call.
  static constexpr int kCounted = std::is_same_v<Object, CUevent_st> ? 0 : 1;

  mutable std::mutex mutex_;
  std::unordered_map<Object*, std::unique_ptr<Object>> objects_;
};

/// The one object of a type, made at its first use. Never destroyed: destructors of static objects
/// may use the device.
template <typename Object>
Object& only() {
  static auto* const instance = new Object;
  return *instance;
}

/// The handles of one kind.
template <typename Object>
Handles<Object>& handles() {
  return only<Handles<Object>>();
}

template <typename Object>
bool is_live(Object* handle) {
  return handles<Object>().contain(handle);
}

}  // namespace convlab::emulation
