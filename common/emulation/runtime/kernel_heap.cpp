#include "common/emulation/runtime/kernel_heap.hpp"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "common/base/address_sanitizer.hpp"
#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/kernel_heap.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/device_rights.hpp"
#include "common/emulation/runtime/kernel_process.hpp"
#include "common/emulation/runtime/observer.hpp"
#include "common/emulation/runtime/pages.hpp"
#include "common/emulation/runtime/poison.hpp"

namespace convlab::emulation {
namespace {

constexpr std::size_t kHeapUnit = 16;  ///< what CUDA's malloc aligns to
constexpr std::size_t kDefaultLimit = std::size_t{8} << 20U;

std::atomic<std::size_t> heap_limit = kDefaultLimit;
std::atomic<bool> is_heap_used = false;  ///< by this process

/// A piece, in front of its memory. Free ones form a list in the order of their addresses; one in
/// use points to itself.
struct alignas(kHeapUnit) HeapPiece {
  std::size_t bytes;  ///< with this
  HeapPiece* next;

  [[nodiscard]] std::byte* begin() { return reinterpret_cast<std::byte*>(this); }
};

/// At the heap's beginning: copies of the process share it. All zeros is an empty heap.
struct alignas(kHeapUnit) Arena {
  std::atomic<bool> is_locked;
  std::size_t end;  ///< of all pieces so far, from the heap's beginning
  HeapPiece* free;

  static Arena& get() { return *reinterpret_cast<Arena*>(device_memory().heap()); }

  void lock() {
    while (is_locked.exchange(true)) sched_yield();
  }
  void unlock() { is_locked.store(false); }

  // Nobody may use a piece's head but these.
  CONVLAB_UNCHECKED void* allocate(std::size_t bytes) {
    for (HeapPiece** place = &free; *place != nullptr; place = &(*place)->next) {
      HeapPiece* const piece = *place;
      if (piece->bytes < bytes) continue;
      *place = piece->next;
      if (piece->bytes >= bytes + 2 * sizeof(HeapPiece)) {
        auto* const rest = new (piece->begin() + bytes) HeapPiece{piece->bytes - bytes, *place};
        *place = rest;
        piece->bytes = bytes;
      }
      return mark_used(piece);
    }
    const std::size_t begin = std::max(end, sizeof(Arena));
    if (bytes > heap_limit.load() || begin - sizeof(Arena) > heap_limit.load() - bytes)
      return nullptr;
    end = begin + bytes;
    return mark_used(new (device_memory().heap() + begin) HeapPiece{bytes, nullptr});
  }

  CONVLAB_UNCHECKED static void* mark_used(HeapPiece* piece) {
    piece->next = piece;
    return piece + 1;
  }
  /// Whether the address is what allocate() has given, and nobody has given it back.
  [[nodiscard]] CONVLAB_UNCHECKED bool is_used(const void* memory) const {
    const std::ptrdiff_t offset = static_cast<const std::byte*>(memory) - device_memory().heap();
    const auto* const piece = static_cast<const HeapPiece*>(memory) - 1;
    return offset % static_cast<std::ptrdiff_t>(kHeapUnit) == 0 &&
           offset > static_cast<std::ptrdiff_t>(sizeof(Arena)) &&
           offset < static_cast<std::ptrdiff_t>(end) && piece->next == piece;
  }

  CONVLAB_UNCHECKED static void join(HeapPiece* first, HeapPiece* second) {
    if (first == nullptr || first->begin() + first->bytes != second->begin()) return;
    first->bytes += second->bytes;
    first->next = second->next;
  }
  CONVLAB_UNCHECKED void release(HeapPiece* piece) {
    HeapPiece** place = &free;
    HeapPiece* before = nullptr;
    while (*place != nullptr && *place < piece) {
      before = *place;
      place = &before->next;
    }
    piece->next = *place;
    *place = piece;
    if (piece->next != nullptr) join(piece, piece->next);
    join(before, piece);
  }
};

void open_heap() {
  protect(device_memory().heap(), DeviceMemory::kHeapBytes, PROT_READ | PROT_WRITE);
  if (threads_have_rights()) leave_to_rights(device_memory().heap(), DeviceMemory::kHeapBytes);
}

}  // namespace

void limit_kernel_heap(std::size_t bytes) {
  heap_limit.store(std::min(bytes, DeviceMemory::kHeapBytes / 2));
}

std::size_t kernel_heap_limit() {
  return heap_limit.load();
}

void* allocate_in_kernel(std::size_t bytes) {
  if (bytes > heap_limit.load()) return nullptr;
  if (!is_heap_used.exchange(true)) open_heap();
  Arena& arena = Arena::get();
  arena.lock();
  void* const memory = arena.allocate(round_up(bytes, kHeapUnit) + sizeof(HeapPiece));
  arena.unlock();
  if (memory == nullptr) return nullptr;
  forbid_access(static_cast<std::byte*>(memory) - sizeof(HeapPiece), sizeof(HeapPiece));
  allow_access(memory, bytes);
  forbid_access(static_cast<std::byte*>(memory) + bytes,
                round_up(bytes, kHeapUnit) - bytes + sizeof(HeapPiece));
  std::memset(memory, kPoisonByte, bytes);
  if (observer != nullptr) observer->acquire(&arena);  // who had it before has freed it
  return memory;
}

[[noreturn]] static void fail_free() {
  fail_thread(
      FaultKind::kCopy, KernelFault::kIllegalAddress, {},
      "free or delete of an address that no malloc or new of a kernel has given, or that was "
      "freed before");
}

bool free_in_kernel(void* memory) {
  if (!DeviceMemory::contains(memory) || !device_memory().is_on_heap(memory)) return false;
  Arena& arena = Arena::get();
  if (observer != nullptr) observer->release(&arena);
  if (!arena.is_used(memory)) {
    if (in_kernel()) fail_free();
    return true;
  }
  HeapPiece* const piece = static_cast<HeapPiece*>(memory) - 1;
  forbid_access(memory, piece->bytes - sizeof(HeapPiece));
  arena.lock();
  arena.release(piece);
  arena.unlock();
  return true;
}

void empty_kernel_heap() {
  if (!is_heap_used.load()) return;
  open_heap();
  const DeviceRights rights;
  std::memset(device_memory().heap(), 0, sizeof(Arena));
}

KernelHeapAccess::KernelHeapAccess() {
  if (is_copy()) is_heap_used.store(true);  // perhaps another copy has used it
  if (is_heap_used.load()) open_heap();
}

KernelHeapAccess::~KernelHeapAccess() {
  if (is_heap_used.load() && !threads_have_rights() && !is_copy())
    protect(device_memory().heap(), DeviceMemory::kHeapBytes, PROT_NONE);
}

}  // namespace convlab::emulation

void* convlab::emulation::malloc_anywhere(std::size_t bytes) {
  return in_kernel() ? allocate_in_kernel(bytes) : std::malloc(bytes);
}

void convlab::emulation::free_anywhere(void* memory) {
  if (free_in_kernel(memory) || memory == nullptr) return;
  if (in_kernel()) fail_free();
  std::free(memory);
}

void* operator new(std::size_t bytes, convlab::emulation::KernelHeap /*heap*/) noexcept {
  return convlab::emulation::in_kernel() ? convlab::emulation::allocate_in_kernel(bytes)
                                         : ::operator new(bytes);
}
void* operator new[](std::size_t bytes, convlab::emulation::KernelHeap heap) noexcept {
  return operator new(bytes, heap);
}
