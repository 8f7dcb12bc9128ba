#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/emulation/runtime/emulation_report.hpp"

namespace convlab::emulation {

enum class MemoryKind { kDevice, kPinned, kManaged };

/// One piece of memory that kernels may touch.
struct Allocation {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
  MemoryKind kind = MemoryKind::kDevice;
  std::byte* pages = nullptr;  ///< what is mapped for it; the allocation ends at its end
  std::size_t page_bytes = 0;
  std::uint64_t number = 0;  ///< counts allocations from 1
  int users = 0;             ///< DeviceAccess that want it open
  bool is_open = true;
  std::array<void*, 8> made_by = {};  ///< return addresses of the call that made it
  int made_by_count = 0;
};

/// The memory of the emulated device: one reserved range of addresses, in which every allocation
/// ends (to 16 bytes) at an inaccessible page. Freed memory becomes inaccessible and its addresses
/// are used again only when all others have been. What cudaMalloc gives is accessible only while a
/// DeviceAccess lives: the host that uses a device pointer faults, as it does beside a GPU.
class DeviceMemory {
 public:
  static DeviceMemory& instance();

  /// Fresh memory full of poison, or null when the device or the machine has no more. Aligned to
  /// the largest power of two from 16 to 256 that divides `bytes`.
  std::byte* allocate(std::size_t bytes, MemoryKind kind);
  /// @return false unless `address` is the start of an allocation of this kind
  bool release(void* address, MemoryKind kind);

  void release_all();

  /// The allocation that contains the address.
  [[nodiscard]] std::optional<Allocation> find(const void* address) const;
  /// Everything that is allocated now.
  [[nodiscard]] std::vector<Allocation> live() const;
  /// Whether the address lies in the reserved range at all.
  [[nodiscard]] bool contains(const void* address) const;
  /// The allocation that contains the address, a freed one that did, or the nearest one; none while
  /// nothing is allocated.
  [[nodiscard]] std::optional<ReportMemory> nearest(const void* address) const;
  /// As a report says it: "4 bytes past the end of allocation 3 of 1024 bytes at 0x…".
  [[nodiscard]] std::string describe(const void* address) const;
  /// Says where somebody wrote around an allocation since it was last asked: around device memory,
  /// or around memory that the host uses too. None if nowhere.
  /// @param writer  how a line begins, "kernel k"
  [[nodiscard]] std::optional<EmulationReport> damage(bool of_device_memory,
                                                      const std::string& writer);
  /// What to tell whoever touched the address from the host: all but the place and the text.
  [[nodiscard]] EmulationReport describe_host_access(const void* address) const;

  [[nodiscard]] std::size_t total() const { return total_; }
  [[nodiscard]] std::size_t free() const;

 private:
  DeviceMemory();
  void unmap(const Allocation& allocation);
  std::byte* find_gap(std::size_t bytes);
  void forget_freed(const std::byte* begin, const std::byte* end);
  static void fill_surroundings(const Allocation& allocation);

  friend class DeviceAccess;
  using Clock = std::chrono::steady_clock;
  void open(Allocation& allocation);
  static void close(Allocation& allocation);
  /// Takes the time since then from the credit.
  void pay(Clock::time_point since) { credit_ -= Clock::now() - since; }

  mutable std::mutex mutex_;
  std::byte* range_ = nullptr;
  std::size_t range_bytes_ = 0;
  std::byte* cursor_ = nullptr;
  std::map<const std::byte*, Allocation> live_;   ///< by pages
  std::map<const std::byte*, Allocation> freed_;  ///< by pages, for reports
  std::size_t total_ = 0;
  std::size_t used_ = 0;
  std::uint64_t count_ = 0;
  Clock::duration credit_;  ///< what opening and closing may still cost
};

inline DeviceMemory& device_memory() {
  return DeviceMemory::instance();
}

/// Device memory is accessible as long as this lives: for a kernel, or the runtime's own copies.
///
/// Closing it again costs by the page, which a program of many tiny kernels would feel. It is left
/// open when all the opening and closing has taken more than a twentieth of the work between.
class DeviceAccess {
 public:
  DeviceAccess();  ///< all that is allocated now
  explicit DeviceAccess(std::initializer_list<const void*> addresses);  ///< what contains these
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;

 private:
  void open(DeviceMemory& memory, Allocation& allocation);

  std::vector<const std::byte*> opened_;  ///< by pages
  DeviceMemory::Clock::time_point start_;
};

/// Stands for an address so wild that the processor does not tell it.
// NOLINTNEXTLINE(performance-no-int-to-ptr): no object is there
inline const void* const kNoAddress = reinterpret_cast<const void*>(UINTPTR_MAX);

/// DeviceMemory::describe, or words about an address that is not the device's.
std::string describe_address(const void* address);

}  // namespace convlab::emulation
