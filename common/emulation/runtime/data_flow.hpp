#pragma once

#include <mutex>
#include <optional>

#include "common/emulation/include/convlab_emulation/kernel_call.hpp"
#include "common/emulation/runtime/device_memory.hpp"

namespace convlab::emulation {

// What goes into kernels and what comes out of them, for record_words (activity.hpp).

/// While it lives, a kernel runs. First notes what the host has changed since the last kernel, in
/// the end what the kernel has changed. Does nothing unless words are recorded.
class NotedKernel {
 public:
  /// Device memory must be accessible.
  explicit NotedKernel(const KernelCall& call);
  NotedKernel(const NotedKernel&) = delete;
  NotedKernel& operator=(const NotedKernel&) = delete;
  ~NotedKernel();

 private:
  std::unique_lock<std::mutex> lock_{};  ///< one at a time, or one would see what another writes
};

/// While it lives, the device copies from memory that kernels reach to other such memory: what that
/// changes is nobody's work. Does nothing unless words are recorded.
class NotedCopy {
 public:
  NotedCopy();
  NotedCopy(const NotedCopy&) = delete;
  NotedCopy& operator=(const NotedCopy&) = delete;
  ~NotedCopy();

 private:
  std::optional<DeviceAccess> access_{};
  std::unique_lock<std::mutex> lock_{};
};

}  // namespace convlab::emulation
