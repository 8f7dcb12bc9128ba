#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "common/base/device_notes.hpp"
#include "common/base/error.hpp"
#include "common/base/fault_record.hpp"
#include "common/device/device_info.hpp"
#include "common/device/physical_bound.hpp"
#include "common/device/profile.hpp"
#include "common/timing/statistics.hpp"

namespace convlab {

/// A call of the CUDA runtime that failed, or a kernel that did.
class DeviceError : public Error {
 public:
  /// @param fault  what is known of it; without a text the message is its text
  DeviceError(ExitCode exit_code, const std::string& message, FaultRecord fault = {})
      : Error(exit_code, message), fault_(std::move(fault)) {}

  [[nodiscard]] const FaultRecord& fault() const noexcept { return fault_; }

 private:
  FaultRecord fault_;
};

/// One allocation of device memory and what it holds: its first 16 MiB at most, as 32-bit words.
struct MemoryContent {
  std::byte* begin = nullptr;
  std::vector<std::uint32_t> words{};
};

/// A piece of device memory.
struct MemoryRange {
  std::byte* begin = nullptr;
  std::int64_t bytes = 0;
  bool here = true;  ///< the session's device holds it: neither another one nor the host
};

/// The setting for memory that a custom submission's program gets on a GPU.
inline const std::string kGpuMemorySetting = "CONVLAB_GPU_MEMORY=";

/// A device and the measurements on it that a reader of times needs; zeros on an emulated device.
struct MeasuredDevice {
  DeviceInfo info{};
  DeviceLimits limits{};         ///< as measured
  double start_up_ms = 0.0;      ///< context and loading of kernels, in no other time
  double empty_launch_ms = 0.0;  ///< a kernel that does nothing, by the same clock as an op time
};

/// The open device of a program: a GPU, or its emulation. Through this interface the milestones'
/// main uses a device without CUDA headers. What only an emulated device can do does nothing here.
class DeviceSession {
 public:
  DeviceSession() = default;
  DeviceSession(const DeviceSession&) = delete;
  DeviceSession& operator=(const DeviceSession&) = delete;
  virtual ~DeviceSession() = default;

  [[nodiscard]] virtual const DeviceInfo& info() const = 0;

  /// Measures what the device's properties do not say; takes about ten milliseconds on a GPU.
  virtual MeasuredDevice measure() { return {info(), {}, 0.0, 0.0}; }

  /// Waits until the device is idle.
  /// @param phase  what started its work, for the message
  /// @throws DeviceError if something failed unnoticed
  virtual void fence(const char* phase) = 0;

  /// What device memory holds; on a GPU only the allocations of the last profile.
  virtual std::vector<MemoryContent> memory() = 0;

  /// The memory that a submission has allocated and not freed; empty without a record.
  virtual std::optional<std::vector<MemoryRange>> allocations() { return std::nullopt; }

  /// Calls this with the beginning of any host memory that a submission is about to pin.
  virtual void before_pinning(void (* /*prepare*/)(const void* memory)) {}

  /// Unpins the host memory that a submission has pinned and not unpinned: in the course's program
  /// each call has memory of its own.
  virtual void release_pinned() {}

  /// Copies the first `width` bytes of each of `rows` rows, `pitch` bytes apart, out of device
  /// memory, one behind the other.
  /// @return false if that memory does not exist any more
  virtual bool read_rows(const std::byte* from, std::int64_t pitch, std::int64_t width, int rows,
                         std::byte* to) = 0;

  /// Where `words` begin in this memory. This implementation copies all of it out.
  virtual std::vector<std::byte*> places_of(const MemoryRange& range,
                                            const std::vector<std::uint32_t>& words);

  /// Writes numbers into device memory. Skips memory that has been freed.
  virtual void overwrite(std::byte* place, const float* numbers, std::int64_t count) = 0;

  /// Withholds numbers from the stages (withhold_numbers, activity.hpp) until stop_withholding.
  /// Meanwhile make_tokens fills an array of the host with tokens of numbers, and reveal replaces
  /// tokens by what they stand for.
  virtual void withhold(std::uint64_t /*key*/) {}
  virtual void stop_withholding() {}
  [[nodiscard]] virtual bool withholds() const { return false; }
  virtual void make_tokens(const float* /*numbers*/, float* /*tokens*/, std::int64_t /*count*/) {}
  virtual void reveal(float* /*numbers*/, std::int64_t /*count*/) {}

  /// Overrides settings of the environment: for the emulation, "CONVLAB_EMU_ORDER=reverse"; for a
  /// GPU, kGpuMemorySetting with "usual", "poisoned" or "guarded" (recorded_allocations.hpp).
  virtual void choose_settings(const std::vector<std::string>& /*settings*/) {}

  /// After a timed operation: whether streams still have work that an event on the default stream
  /// does not wait for. Known only with lazy streams.
  virtual bool has_unjoined_work() { return false; }

  /// The requests to the device since the last call, and the state of an output on the host.
  virtual DeviceNotes take_notes(const float* /*output*/, std::int64_t /*count*/) { return {}; }

  /// Ends a kernel that takes longer.
  virtual void limit_kernels(double /*seconds*/) {}

  /// Records what runs on the device until stop_profile.
  /// @throws EnvironmentError if no profile can be recorded
  virtual void start_profile() = 0;
  virtual Profile stop_profile() = 0;

  /// Leaves none of the device's data in its cache. Nothing in a profile.
  virtual void empty_cache() = 0;

  /// Times `op` between two fences of the whole device. The sample has no clock.
  virtual OpSample time_now(const std::function<void()>& op) = 0;

  /// Of the multiprocessors, now; 0 if unknown.
  virtual int clock_mhz() = 0;

  /// A whole sample, with none of the device's data in the cache.
  OpSample time(const std::function<void()>& op) {
    empty_cache();
    OpSample timed = time_now(op);
    timed.clock_mhz = clock_mhz();
    return timed;
  }
};

/// The true numbers of an array of the host. Leaves none behind, because stages share the memory.
class TrueNumbers {
 public:
  TrueNumbers(DeviceSession* device, const float* numbers, std::int64_t count);
  TrueNumbers(const TrueNumbers&) = delete;
  TrueNumbers& operator=(const TrueNumbers&) = delete;
  ~TrueNumbers();

  [[nodiscard]] const float* data() const { return copy_.empty() ? numbers_ : copy_.data(); }

 private:
  const float* numbers_;
  std::vector<float> copy_{};
};

/// @param user  what needs it, "Stage 'wgmma'"
/// @throws EnvironmentError if the device has less than `needed`
void require_capability(const DeviceInfo& info, ComputeCapability needed, const char* user);

}  // namespace convlab
