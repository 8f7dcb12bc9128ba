#include "common/emulation/runtime/device_memory.hpp"

#include <execinfo.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "common/base/error.hpp"
#include "common/emulation/include/convlab_emulation/shared_variable.hpp"
#include "common/emulation/runtime/copy.hpp"
#include "common/emulation/runtime/device_rights.hpp"
#include "common/emulation/runtime/gpu_model.hpp"
#include "common/emulation/runtime/host_pointers.hpp"
#include "common/emulation/runtime/pages.hpp"
#include "common/emulation/runtime/poison.hpp"
#include "common/emulation/runtime/report.hpp"
#include "common/emulation/runtime/settings.hpp"
#include "common/emulation/runtime/signals.hpp"
#include "common/emulation/runtime/variable_pages.hpp"
#include "common/emulation/runtime/withheld.hpp"

namespace convlab::emulation {
namespace {

constexpr std::size_t kFreedRemembered = 4096;
// Reading /proc/meminfo takes longer than a small allocation.
constexpr std::size_t kLargeAllocation = std::size_t{64} << 20U;

// Set before main begins.
std::atomic<std::size_t> least_alignment = 4;

/// Bytes of memory that are available without swapping.
std::size_t available_on_machine() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::size_t kibibytes = 0;
  std::string unit;
  while (file >> key >> kibibytes) {
    if (key == "MemAvailable:") return kibibytes * 1024;
    std::getline(file, unit);
  }
  return SIZE_MAX;
}

std::string pointer_text(const void* address) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%p", address);
  return text.data();
}

std::string allocation_text(const Allocation& allocation) {
  return "allocation " + std::to_string(allocation.told) + " of " +
         std::to_string(allocation.bytes) + " bytes at " + pointer_text(allocation.begin);
}

ReportMemory memory_of(const std::byte* byte, const Allocation& allocation,
                       const std::string& adjective = {}) {
  return {{.argument = allocation.argument,
           .freed = !adjective.empty(),
           .bytes = static_cast<std::int64_t>(allocation.bytes),
           .offset = byte - allocation.begin},
          adjective + allocation_text(allocation),
          allocation.kernel,
          allocation.number};
}

/// What surrounds an allocation. Where reads beyond it are forgiven, they give NaN or a number, so
/// that a result tells whether it was computed from one.
Redzone redzone_of(std::uint64_t number) {
  const auto given = static_cast<std::byte>(settings().byte_beyond);
  return settings().forgives_reads ? Redzone{given, given} : Redzone::of(number);
}

/// How far around an allocation reads are forgiven.
std::size_t forgiven_bytes() {
  constexpr std::size_t kFar = std::size_t{1} << 20U;
  return settings().forgives_reads ? kFar : 0;
}

}  // namespace

bool note_wide_accesses() {
  align_to(16);
  return true;
}

void align_to(std::size_t bytes) {
  least_alignment.store(std::max(bytes, least_alignment.load()));
}

DeviceMemory::DeviceMemory() : range_(shared_early), is_shared_(range_ != nullptr) {
  if (range_ == nullptr) range_ = make_range();
  if (range_ == nullptr) {
    throw EnvironmentError(
        "The machine has no addresses left for the memory of the emulated device (ulimit -v?).");
  }
  begin_at_first_places();
  range_begin = reinterpret_cast<std::uintptr_t>(range_);
}

std::byte* DeviceMemory::make_range() {
  void* const whole = reserve(kWithheldBegin, kMessageBytes + kRangeBytes);
  return whole == MAP_FAILED ? nullptr : static_cast<std::byte*>(whole) + kMessageBytes;
}

// Huge pages are asked for once: the addresses of each allocation that had asked for itself would
// stay a mapping of their own when it is freed, and each kernel's process copies all mappings.
bool DeviceMemory::share_from(std::byte* range) {
  const void* const shared = mmap(range - kMessageBytes, kMessageBytes + kRangeBytes / 2, PROT_NONE,
                                  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  constexpr std::size_t kBefore = kGap + kHeapBytes;
  madvise(range + kBefore, kRangeBytes / 2 - kBefore, MADV_HUGEPAGE);
  return shared != MAP_FAILED;
}

void DeviceMemory::share_early() {
  std::byte* const range = make_range();
  if (range != nullptr && share_from(range)) shared_early = range;
}

void DeviceMemory::share() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(is_shared_, true)) return;
  const DeviceRights rights;
  std::vector<std::pair<Allocation*, std::vector<std::byte>>> contents;
  for (auto& [pages, allocation] : live_) {
    if (allocation.kind != MemoryKind::kDevice) continue;
    open(allocation);
    allow_access(pages, allocation.page_bytes);
    contents.emplace_back(&allocation,
                          std::vector<std::byte>(pages, pages + allocation.page_bytes));
  }
  if (!share_from(range_))
    throw EnvironmentError("The machine has no addresses left for memory that processes share.");
  for (const auto& [allocation, bytes] : contents) {
    protect(allocation->pages, bytes.size(), PROT_READ | PROT_WRITE);
    std::memcpy(allocation->pages, bytes.data(), bytes.size());
    fill_surroundings(*allocation);
    if (allocation->users == 0) close(*allocation);
  }
}

void DeviceMemory::begin_again() {
  release_all();
  const std::lock_guard lock(mutex_);
  for (const Allocation& each : std::exchange(kept_, {})) discard(each);
  freed_.clear();
  begin_at_first_places();
}

void DeviceMemory::begin_at_first_places() {
  cursors_ = {range_ + kGap + kHeapBytes + kGap, range_ + kRangeBytes / 2};
}

std::byte* DeviceMemory::find_gap(std::size_t bytes, bool of_device) {
  std::byte* const begin = range_ + (of_device ? kGap + kHeapBytes : kRangeBytes / 2);
  std::byte* const end = range_ + (of_device ? kRangeBytes / 2 : kRangeBytes);
  std::byte*& cursor = cursors_[of_device ? 0 : 1];
  // What surrounds it then fills one huge page, in a fourth of the time that small ones take.
  if (settings().forgives_reads) {
    cursor = range_ + round_up(static_cast<std::size_t>(cursor - range_), 2 * forgiven_bytes());
  }
  const std::size_t needed = bytes + kGap;
  if (cursor + needed <= end) return std::exchange(cursor, cursor + needed);
  for (const Allocation& each : std::exchange(kept_, {})) discard(each);
  // Every address has been used once. From now on, take the first gap that is wide enough.
  std::byte* gap = begin + kGap;
  for (const auto& [pages, allocation] : live_) {
    if ((allocation.kind == MemoryKind::kDevice) != of_device) continue;
    if (gap + needed <= pages) return gap;
    gap = allocation.pages + allocation.page_bytes + kGap;
  }
  return gap + needed <= end ? gap : nullptr;
}

void DeviceMemory::forget_freed(const std::byte* begin, const std::byte* end) {
  for (auto entry = freed_.begin(); entry != freed_.end();) {
    const Allocation& old = entry->second;
    const bool overlaps = old.pages < end && begin < old.pages + old.page_bytes;
    entry = overlaps ? freed_.erase(entry) : std::next(entry);
  }
}

void DeviceMemory::fill_surroundings(const Allocation& allocation) {
  const auto before = static_cast<std::size_t>(allocation.begin - allocation.pages);
  const std::size_t after = allocation.page_bytes - before - allocation.bytes;
  std::byte* const end = allocation.begin + allocation.bytes;
  allow_access(allocation.pages, allocation.page_bytes);
  for (const auto& [from, to] :
       {std::pair{allocation.pages, allocation.begin}, {end, end + after}}) {
    if (allocation.redzone.first_other(from, to) != nullptr) allocation.redzone.fill(from, to);
  }
  forbid_access(allocation.pages, before);
  forbid_access(end, after);
}

// The pages of the one of this size that has been free longest; null without one.
std::byte* DeviceMemory::take_kept(std::size_t page_bytes, MemoryKind kind) {
  const auto found = std::ranges::find_if(kept_, [&](const Allocation& each) {
    return each.page_bytes == page_bytes && each.kind == kind;
  });
  if (kept_.size() < kKept || found == kept_.end()) return nullptr;
  std::byte* const pages = found->pages;
  kept_.erase(found);
  return pages;
}

std::byte* DeviceMemory::allocate(std::size_t bytes, MemoryKind kind) {
  const std::lock_guard lock(mutex_);
  if (kind != MemoryKind::kPinned && bytes > unused()) return nullptr;
  const bool is_sparse = settings().work == Work::kSamples;
  if (!is_sparse && bytes > kLargeAllocation && bytes > available_on_machine()) return nullptr;
  const std::size_t divisor = std::size_t{1} << static_cast<unsigned>(std::countr_zero(bytes));
  const std::size_t least =
      std::max<std::size_t>(least_alignment.load(), kind == MemoryKind::kPinned ? 16 : 0);
  const std::size_t alignment = std::clamp<std::size_t>(divisor, least, 256);
  const std::size_t rounded = round_up(bytes, alignment);
  Allocation allocation;
  allocation.page_bytes = round_up(rounded, kPage) + 2 * forgiven_bytes();
  allocation.pages = take_kept(allocation.page_bytes, kind);
  if (allocation.pages == nullptr) {
    allocation.pages = find_gap(allocation.page_bytes, kind == MemoryKind::kDevice);
  }
  if (allocation.pages == nullptr ||
      !protect(allocation.pages, allocation.page_bytes, PROT_READ | PROT_WRITE))
    return nullptr;
  if (is_sparse || !is_shared_ || kind != MemoryKind::kDevice) {
    madvise(allocation.pages, allocation.page_bytes, is_sparse ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
  }
  forget_freed(allocation.pages, allocation.pages + allocation.page_bytes);
  allocation.begin = allocation.pages + forgiven_bytes();
  // An access beside that end faults at once, which names its line.
  if (!settings().arrays_at_begin) allocation.begin += round_up(rounded, kPage) - rounded;
  allocation.bytes = bytes;
  allocation.kind = kind;
  if (live_.empty()) before_ = count_;
  allocation.number = ++count_;
  allocation.told = count_ - before_;
  allocation.redzone = redzone_of(allocation.number);  // what is chosen later changes no neighbour
  fill_surroundings(allocation);
  if (!is_sparse)
    fill_poison(allocation.begin, bytes, static_cast<unsigned>(allocation.number), false);
  if (kind == MemoryKind::kDevice) close(allocation);
  allocation.made_by_count =
      backtrace(allocation.made_by.data(), static_cast<int>(allocation.made_by.size()));
  if (count_ == 1) install_signal_handlers();  // each launch looks whether they are still there
  if (kind != MemoryKind::kPinned) used_ += bytes;
  live_.emplace(allocation.pages, allocation);
  ++changes_;
  return allocation.begin;
}

bool DeviceMemory::release(void* address, MemoryKind kind) {
  const std::lock_guard lock(mutex_);
  const Allocation* const found = last_before(live_, address);
  const bool device = kind != MemoryKind::kPinned;
  if (found == nullptr || found->begin != address || device != (found->kind != MemoryKind::kPinned))
    return false;
  if (found->is_kept) return true;
  unmap(*found);
  live_.erase(found->pages);
  return true;
}

void DeviceMemory::keep(const void* address) {
  const std::lock_guard lock(mutex_);
  if (const Allocation* const found = last_before(live_, address))
    live_.at(found->pages).is_kept = true;
}

void DeviceMemory::release_all() {
  const std::lock_guard lock(mutex_);
  for (const auto& [pages, allocation] : live_) unmap(allocation);
  live_.clear();
}

void DeviceMemory::unmap(const Allocation& allocation) {
  ++changes_;
  if (allocation.kind != MemoryKind::kPinned) used_ -= allocation.bytes;
  if (freed_.size() >= kFreedRemembered) freed_.clear();
  freed_.emplace(allocation.pages, allocation);
  if (threads_have_rights()) take_from_rights(allocation.pages, allocation.page_bytes);
  // To fill what surrounds an array takes most of the time of a small run.
  const bool is_small = allocation.page_bytes <= 3 * forgiven_bytes();
  if (!is_small || !protect(allocation.pages, allocation.page_bytes, PROT_NONE)) {
    return discard(allocation);
  }
  kept_.push_back(allocation);
  if (kept_.size() > 2 * kKept) {
    discard(kept_.front());
    kept_.erase(kept_.begin());
  }
}

void DeviceMemory::discard(const Allocation& allocation) const {
  allow_access(allocation.pages, allocation.page_bytes);
  if (is_shared_ && allocation.kind == MemoryKind::kDevice) {
    protect(allocation.pages, allocation.page_bytes, PROT_READ | PROT_WRITE);
    static_cast<void>(madvise(allocation.pages, allocation.page_bytes, MADV_REMOVE));
    protect(allocation.pages, allocation.page_bytes, PROT_NONE);
  } else {
    // A new mapping frees the memory and makes the addresses inaccessible in one step. If the
    // system has no mapping left, the pages stay accessible, and a use after free is not found.
    static_cast<void>(mmap(allocation.pages, allocation.page_bytes, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0));
  }
}

std::vector<Allocation> DeviceMemory::live() const {
  const std::lock_guard lock(mutex_);
  std::vector<Allocation> all;
  for (const auto& [pages, allocation] : live_) all.push_back(allocation);
  return all;
}

void DeviceMemory::note_argument(const void* address, const char* kernel, int position,
                                 std::uint64_t launch) {
  const std::lock_guard lock(mutex_);
  const auto* byte = static_cast<const std::byte*>(address);
  for (auto* allocations : {&live_, &freed_}) {
    Allocation* const found = last_before(*allocations, byte);
    if (found == nullptr || byte >= found->begin + found->bytes) continue;
    // The name of one of several arguments would be false for what belongs to another.
    found->argument = std::exchange(found->launch, launch) == launch ? 0 : position;
    found->kernel = kernel;
    return;
  }
}

ReportPlace DeviceMemory::made_at(std::uint64_t number) const {
  Allocation found;
  {
    const std::lock_guard lock(mutex_);
    for (const auto* allocations : {&freed_, &live_})
      for (const auto& [pages, allocation] : *allocations)
        if (allocation.number == number) found = allocation;
  }
  return source_place(found.made_by.data(), found.made_by_count);
}

std::optional<ReportMemory> DeviceMemory::find_poisoned(unsigned object,
                                                        std::int64_t offset) const {
  const std::lock_guard lock(mutex_);
  const Allocation* latest = nullptr;
  for (const auto* allocations : {&freed_, &live_})
    for (const auto& [pages, allocation] : *allocations) {
      const bool fits = allocation.number % kPoisonObjects == object &&
                        offset < static_cast<std::int64_t>(allocation.bytes);
      if (fits && (latest == nullptr || allocation.number > latest->number)) latest = &allocation;
    }
  if (latest == nullptr) return std::nullopt;
  return memory_of(latest->begin + offset, *latest);
}

std::optional<Allocation> DeviceMemory::find(const void* address) const {
  const std::lock_guard lock(mutex_);
  const auto* byte = static_cast<const std::byte*>(address);
  const Allocation* const found = last_before(live_, byte);
  if (found == nullptr || byte < found->begin || byte >= found->begin + found->bytes)
    return std::nullopt;
  return *found;
}

bool DeviceMemory::is_beside_host_memory(const void* address) const {
  const std::lock_guard lock(mutex_);
  const auto* byte = static_cast<const std::byte*>(address);
  const Allocation* const found = last_before(live_, byte);
  return found != nullptr && found->kind != MemoryKind::kDevice &&
         byte < found->pages + found->page_bytes;
}

std::optional<ReportMemory> DeviceMemory::nearest(const void* address) const {
  if (is_on_heap(address)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto* byte = static_cast<const std::byte*>(address);
  if (const Allocation* const old = last_before(freed_, byte);
      old != nullptr && byte < old->pages + old->page_bytes)
    return memory_of(byte, *old, "the freed ");
  const Allocation* nearest = last_before(live_, byte);
  if (const auto after = live_.upper_bound(byte); after != live_.end()) {
    const Allocation& next = after->second;
    // An address inside has the distance 0.
    if (nearest == nullptr || next.begin - byte < byte - (nearest->begin + nearest->bytes))
      nearest = &next;
  }
  if (nearest == nullptr) return std::nullopt;
  return memory_of(byte, *nearest);
}

std::string DeviceMemory::describe(const void* address) const {
  const auto memory = nearest(address);
  if (memory) return text_of(*memory);
  return "address " + pointer_text(address) +
         (is_on_heap(address) ? " on the heap of kernels, where no array is (any more)"
                              : ", while nothing is allocated");
}

std::optional<EmulationReport> DeviceMemory::damage([[maybe_unused]] bool of_device_memory,
                                                    [[maybe_unused]] const std::string& writer) {
  EmulationReport report{.fault = {.kind = FaultKind::kDeviceMemory, .writes = true},
                         .error = KernelFault::kIllegalAddress};
#if !CONVLAB_ADDRESS_SANITIZER
  const std::lock_guard lock(mutex_);
  for (const auto& [pages, allocation] : live_) {
    if ((allocation.kind == MemoryKind::kDevice) != of_device_memory) continue;
    // Another host thread has just allocated it; no kernel can have written there.
    if (!allocation.is_open) continue;
    const std::byte* const end = allocation.begin + allocation.bytes;
    const std::byte* const before =
        allocation.redzone.first_other(allocation.pages, allocation.begin);
    const std::byte* const after =
        allocation.redzone.first_other(end, allocation.pages + allocation.page_bytes);
    if (before == nullptr && after == nullptr) continue;
    report.memory = memory_of(before != nullptr ? before : after, allocation);
    if (!report.what.empty()) report.what += "\n";
    report.what += writer + " wrote " + text_of(*report.memory);
    fill_surroundings(allocation);
  }
#endif
  if (report.what.empty()) return std::nullopt;
  return report;
}

EmulationReport DeviceMemory::describe_host_access(const void* address) const {
  if (const auto variable = memory_of_variable(address)) {
    const auto symbol = find_symbol(address);
    const bool knows_address = symbol && symbol->address_known;
    return {
        .fault = {.kind = FaultKind::kDevicePointer},
        .what = "the host used the device variable " + variable->variable +
                (knows_address
                     ? ", whose address only kernels may use (on a GPU the program may end here "
                       "with a segmentation fault)"
                     : " by its name, which on a GPU is another variable there that no kernel "
                       "sees") +
                ": copy with cudaMemcpyToSymbol or cudaMemcpyFromSymbol"};
  }
  EmulationReport report{.fault = {.kind = FaultKind::kDevicePointer}, .memory = nearest(address)};
  const auto allocation = find(address);
  if (allocation && allocation->kind == MemoryKind::kDevice) {
    report.what = "the host used a device pointer, " + describe(address);
    report.allocated_at = source_place(allocation->made_by.data(), allocation->made_by_count);
    return report;
  }
  // free() reads the size of the block, which the C library keeps in front of it.
  const bool freed = find(static_cast<const std::byte*>(address) + sizeof(std::size_t)).has_value();
  report.what = "the host used an address outside of its memory, " + describe(address) +
                (freed && !allocation ? " (free() of a device pointer? cudaFree frees it)" : "");
  return report;
}

std::size_t DeviceMemory::free() const {
  const std::lock_guard lock(mutex_);
  return unused();
}

std::size_t DeviceMemory::total() const {
  return settings().memory_bytes > 0 ? settings().memory_bytes : device_model().totalGlobalMem;
}

std::size_t DeviceMemory::unused() const {
  return total() - std::min(used_, total());
}

// ---- access -------------------------------------------------------------------------------------

void DeviceMemory::open(Allocation& allocation) {
  if (!allocation.is_open &&
      !protect(allocation.pages, allocation.page_bytes, PROT_READ | PROT_WRITE)) {
    throw EnvironmentError("The machine has no room for the pages of " +
                           std::to_string(live_.size()) + " pieces of device memory.");
  }
  allocation.is_open = true;
}

void DeviceMemory::close(Allocation& allocation) {
  if (threads_have_rights() && leave_to_rights(allocation.pages, allocation.page_bytes)) return;
  if (protect(allocation.pages, allocation.page_bytes, PROT_NONE)) allocation.is_open = false;
}

bool is_null(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) < 64 * kPage;
}

std::string describe_address(const void* address) {
  if (address == kNoAddress) return "an address that no memory has (a wild index or pointer?)";
  if (device_memory().contains(address)) return device_memory().describe(address);
  if (is_null(address)) return "address " + pointer_text(address) + ": a null pointer";
  return "address " + pointer_text(address) + why_forbidden(address);
}

}  // namespace convlab::emulation
