#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

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
};

/// The memory of the emulated device: one reserved range of addresses, in which every allocation
/// ends (to 16 bytes) at an inaccessible page. Freed memory becomes inaccessible and its addresses
/// are used again only when all others have been.
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
  /// As a report says it: "4 bytes past the end of allocation 3 of 1024 bytes at 0x…".
  [[nodiscard]] std::string describe(const void* address) const;
  /// A sentence for every allocation around which somebody wrote since it was last asked.
  [[nodiscard]] std::string damage();

  [[nodiscard]] std::size_t total() const { return total_; }
  [[nodiscard]] std::size_t free() const;

 private:
  DeviceMemory();
  void unmap(const Allocation& allocation);
  std::byte* find_gap(std::size_t bytes);
  void forget_freed(const std::byte* begin, const std::byte* end);
  static void fill_surroundings(const Allocation& allocation);

  mutable std::mutex mutex_;
  std::byte* range_ = nullptr;
  std::size_t range_bytes_ = 0;
  std::byte* cursor_ = nullptr;
  std::map<const std::byte*, Allocation> live_;   ///< by pages
  std::map<const std::byte*, Allocation> freed_;  ///< by pages, for reports
  std::size_t total_ = 0;
  std::size_t used_ = 0;
  std::uint64_t count_ = 0;
};

/// DeviceMemory::describe, or a sentence about an address that is not the device's.
std::string describe_address(const void* address);

}  // namespace convlab::emulation
