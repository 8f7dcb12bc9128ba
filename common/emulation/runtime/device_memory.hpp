#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/emulation/runtime/handles.hpp"
#include "common/emulation/runtime/poison.hpp"
#include "common/emulation/runtime/report.hpp"

namespace convlab::emulation {

enum class MemoryKind { kDevice, kPinned, kManaged };

/// One piece of memory that kernels may touch.
struct Allocation {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
  MemoryKind kind = MemoryKind::kDevice;
  std::byte* pages = nullptr;  ///< the pages mapped for it, at one end of which it lies
  std::size_t page_bytes = 0;
  std::uint64_t number = 0;  ///< counts allocations from 1
  std::uint64_t told = 0;    ///< the same since the device was empty: one convolution's own
  Redzone redzone{};
  int users = 0;  ///< DeviceAccess objects that keep it accessible
  bool is_open = true;
  bool is_kept = false;
  std::array<void*, 8> made_by = {};  ///< return addresses of the call that made it
  int made_by_count = 0;
  std::uint64_t launch = 0;  ///< that got it last
  int argument = 0;          ///< its position among the arguments of `kernel`, from 1
  const char* kernel = "";   ///< the last kernel that got it
};

/// Memory that is allocated from now on is aligned to at least so many bytes, at most 256.
void align_to(std::size_t bytes);

/// The memory of the emulated device: one reserved range of addresses, in which every allocation
/// ends at an inaccessible gap. Addresses of freed memory are used again only after all others, or,
/// where reads beside arrays are forgiven, after sixteen.
/// Memory from cudaMalloc is accessible only while a DeviceAccess lives, so that a host that uses a
/// device pointer faults, as with a GPU.
class DeviceMemory {
 public:
  static constexpr std::size_t kRangeBytes = std::size_t{1} << 40U;
  /// Inaccessible between two allocations: an index that is off by some rows must not hit another.
  static constexpr std::size_t kGap = std::size_t{1} << 20U;

  DeviceMemory();

  /// New memory, filled with poison; null when the device or the machine has no more. Aligned to
  /// the largest power of two that divides `bytes`, at most 256, at least 4 or 16 (see above).
  std::byte* allocate(std::size_t bytes, MemoryKind kind);
  /// @return false unless `address` is the start of an allocation of this kind
  bool release(void* address, MemoryKind kind);
  /// `release` does nothing any more: a graph that is launched again gets the memory again.
  void keep(const void* address);

  void release_all();
  /// The same, and addresses are used again from the first one on.
  void begin_again();

  /// From now on copies of this process share device memory, and the room for messages.
  void share();
  /// The same in a sandbox, where nothing can be shared later: before any code of a submission.
  static void share_early();
  /// Where kernels allocate (kernel_heap.hpp).
  static constexpr std::size_t kHeapBytes = std::size_t{16} << 30U;
  [[nodiscard]] std::byte* heap() const { return range_ + kGap; }
  [[nodiscard]] bool is_on_heap(const void* address) const {
    return address >= heap() && address < heap() + kHeapBytes;
  }
  /// Room that copies of this process share, and that the host cannot open.
  static constexpr std::size_t kMessageBytes = std::size_t{1} << 38U;
  [[nodiscard]] std::byte* messages() const { return range_ - kMessageBytes; }
  /// Counts what was allocated, registered and freed, and copies to variables.
  [[nodiscard]] std::uint64_t changes() const {
    const std::lock_guard lock(mutex_);
    return changes_;
  }
  void note_change() {
    const std::lock_guard lock(mutex_);
    ++changes_;
  }
  /// While it lives, no other thread changes what is allocated.
  [[nodiscard]] std::unique_lock<std::mutex> hold() { return std::unique_lock(mutex_); }

  /// Remembers as which argument a kernel gets the allocation that contains the address.
  /// @param launch  a number of its own: two arguments of it may be parts of one allocation
  void note_argument(const void* address, const char* kernel, int position, std::uint64_t launch);
  /// The call that made the allocation with this number, live or freed.
  [[nodiscard]] ReportPlace made_at(std::uint64_t number) const;
  /// The latest allocation whose number ends in these bits (poison.hpp).
  [[nodiscard]] std::optional<ReportMemory> find_poisoned(unsigned object,
                                                          std::int64_t offset) const;

  /// Whether the address lies in the pages of memory that the host may use, too.
  [[nodiscard]] bool is_beside_host_memory(const void* address) const;

  /// The allocation that contains the address.
  [[nodiscard]] std::optional<Allocation> find(const void* address) const;
  /// Everything that is allocated now.
  [[nodiscard]] std::vector<Allocation> live() const;
  /// Whether the address lies in the reserved range at all.
  [[nodiscard]] static bool contains(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) - range_begin < kRangeBytes;
  }
  /// The allocation that contains the address, a freed one that did, or the nearest one; none while
  /// nothing is allocated.
  [[nodiscard]] std::optional<ReportMemory> nearest(const void* address) const;
  /// As a report says it: "4 bytes past the end of allocation 3 of 1024 bytes at 0x…".
  [[nodiscard]] std::string describe(const void* address) const;
  /// Finds writes just outside of allocations since the last call: of device memory, or of memory
  /// that the host uses, too. None if there are none.
  /// @param writer  how a line begins, "kernel k"
  [[nodiscard]] std::optional<EmulationReport> damage(bool of_device_memory,
                                                      const std::string& writer);
  /// The report about an access by the host, without the place of the access and the text.
  [[nodiscard]] EmulationReport describe_host_access(const void* address) const;

  /// That of the device, or CONVLAB_EMU_MEMORY, which may change between two requests.
  [[nodiscard]] std::size_t total() const;
  [[nodiscard]] std::size_t free() const;

 private:
  /// Of range_, for contains(); before that is reserved, nothing lies in it.
  static inline std::uintptr_t range_begin = UINTPTR_MAX - kRangeBytes;
  [[nodiscard]] std::size_t unused() const;  ///< the mutex is held
  void unmap(const Allocation& allocation);
  void discard(const Allocation& allocation) const;
  std::byte* take_kept(std::size_t page_bytes, MemoryKind kind);
  void begin_at_first_places();
  std::byte* find_gap(std::size_t bytes, bool of_device);
  static std::byte* make_range();
  static bool share_from(std::byte* range);
  void forget_freed(const std::byte* begin, const std::byte* end);
  static void fill_surroundings(const Allocation& allocation);
  static constinit inline std::byte* shared_early = nullptr;

  /// The last of these allocations, by pages, that does not begin behind the address; null if all
  /// do.
  template <typename Allocations>
  static auto* last_before(Allocations& allocations, const void* address) {
    const auto after = allocations.upper_bound(static_cast<const std::byte*>(address));
    return after == allocations.begin() ? nullptr : &std::prev(after)->second;
  }

  friend class DeviceAccess;
  void open(Allocation& allocation);
  static void close(Allocation& allocation);

  mutable std::mutex mutex_;
  std::byte* range_ = nullptr;
  bool is_shared_ = false;
  /// Where the next allocation begins: of device memory, which copies of this process may share, in
  /// the first half of the range, and of what the host uses, too, in the second.
  std::array<std::byte*, 2> cursors_ = {};
  std::map<const std::byte*, Allocation> live_;   ///< by pages
  std::map<const std::byte*, Allocation> freed_;  ///< by pages, for reports
  /// Freed where reads beside them are forgiven, with what surrounds them: a new one of the same
  /// size takes the place of the one that has been free longest, once there are so many.
  static constexpr std::size_t kKept = 16;
  std::vector<Allocation> kept_;
  std::size_t used_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t before_ = 0;  ///< of them, when the device was empty last
  std::uint64_t changes_ = 0;
};

inline DeviceMemory& device_memory() {
  return only<DeviceMemory>();
}

/// Stands for an address that the processor does not report, because no program can have it.
// NOLINTNEXTLINE(performance-no-int-to-ptr): no object is there
inline const void* const kNoAddress = reinterpret_cast<const void*>(UINTPTR_MAX);

/// Whether it lies so low that a null pointer with an index leads there.
bool is_null(const void* address);

/// DeviceMemory::describe, or words about an address that is not the device's.
std::string describe_address(const void* address);

}  // namespace convlab::emulation
