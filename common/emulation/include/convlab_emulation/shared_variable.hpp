#pragma once

// __shared__ variables. The rewrite turns
//
//     __shared__ float tile[16][16];
//
// into a slot and a reference to a real array in the shared memory of the running block, so that
// size, alignment, redzones and fresh contents are those of a block:
//
//     typedef float convlab_type_tile[16][16];
//     static thread_local SharedSlot convlab_slot_tile{"tile", file, line};
//     convlab_type_tile& tile = shared_variable<convlab_type_tile>(convlab_slot_tile);

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "common/emulation/include/convlab_emulation/language_standard.hpp"

namespace convlab::emulation {

/// One __shared__ declaration, as seen by one worker.
struct SharedSlot {
  const char* name;
  const char* file;
  std::uint32_t line;
  std::uint64_t block = 0;  ///< the block for which `address` holds
  void* address = nullptr;
  std::size_t row_bytes = 0;  ///< of an array of several dimensions: the size of one row
  std::uint64_t layout = 0;   ///< of shared memory, for which `address` holds
};

template <typename T>
inline constexpr std::size_t kRowBytes = 0;
template <typename T, std::size_t Rows, std::size_t Columns>
inline constexpr std::size_t kRowBytes<T[Rows][Columns]> = sizeof(T[Columns]);

/// Counts the blocks that the calling worker has begun, so that a slot knows when it is stale.
CONVLAB_CONSTINIT extern thread_local std::uint64_t current_block_number;
/// Start of the dynamic shared memory of the running block.
CONVLAB_CONSTINIT extern thread_local void* current_dynamic_shared;
/// Bounds of the running block's shared memory, static and dynamic.
CONVLAB_CONSTINIT extern thread_local std::uintptr_t current_shared_begin;
CONVLAB_CONSTINIT extern thread_local std::uintptr_t current_shared_end;

/// Gives the slot its place in the running block's shared memory; fails the kernel when there is
/// not enough.
void place_shared(SharedSlot& slot, std::size_t bytes, std::size_t alignment,
                  std::size_t row_bytes);

/// @param alignment  what alignas or __align__ asked for
template <typename T>
[[nodiscard]] T& shared_variable(SharedSlot& slot, std::size_t alignment = alignof(T)) {
  if (slot.block != current_block_number) place_shared(slot, sizeof(T), alignment, kRowBytes<T>);
  return *static_cast<T*>(slot.address);
}

/// Dynamic shared memory of all kernels lies at a multiple of this, too. @return true
bool align_dynamic_shared(std::size_t alignment);

/// Known before main begins, so before the memory of the first block is laid out.
template <std::size_t kAlignment>
struct DynamicAlignment {
  static inline const bool kNoted = align_dynamic_shared(kAlignment);
};

/// An array of unknown bound over the dynamic shared memory: `extern __shared__ T name[];`
/// @param kAlignment  what alignas or __align__ asked for
template <typename T, std::size_t kAlignment = alignof(T)>
[[nodiscard]] T& dynamic_shared() {
  static_cast<void>(&DynamicAlignment<kAlignment>::kNoted);
  return *static_cast<T*>(current_dynamic_shared);
}

/// Tells if a file declares dynamic arrays of one name with different types: nvcc refuses that,
/// also of two instances of a template. @return true
bool note_dynamic_array(const char* name, const std::type_info& type, const char* file,
                        std::uint32_t line);

/// A dynamic array that a function declares. @tparam Place  where
template <typename T, typename Place>
struct DynamicArray {
#ifdef CONVLAB_RUN
  static inline const bool is_noted =
      note_dynamic_array(Place::name(), typeid(T), Place::file(), Place::line());
  static void note() {
    static_cast<void>(&is_noted);
  }
#else
  static void note() {}
#endif
};

/// Counts a variable among the static shared memory of a kernel, for occupancy and limits, which
/// are asked for before a kernel runs. @return true
bool note_static_shared(const void* kernel, std::size_t bytes);

/// Of a parameter: GCC leaves the __restrict__ of a template's parameter in its decltype, which no
/// type of a function has.
template <typename T>
T by_value(T);
template <typename T>
using ByValue = std::conditional_t<std::is_reference<T>::value, T,  // NOLINT: also for C++14
                                   decltype(by_value(std::declval<T>()))>;

/// The rewrite names it behind each variable of a kernel; known before main begins.
/// @param kPlace  tells variables of one type apart
template <auto kKernel, typename T, std::size_t kPlace>
struct StaticShared {
  static inline const bool kNoted =
      note_static_shared(reinterpret_cast<const void*>(kKernel), sizeof(T));
};

/// Whether an address lies in the shared memory of the running block.
[[nodiscard]] inline bool is_shared(const void* address) {
  const auto value = reinterpret_cast<std::uintptr_t>(address);
  return value >= current_shared_begin && value < current_shared_end;
}

// Variables of the device lie in sections of their own, whose pages the host cannot use
// (runtime/variable_pages.hpp); arrays without a value in one that takes no room in the program.
// Managed ones are the host's, too. Behind each lies a gap, so that an index outside of it shows.
#define CONVLAB_IN_SECTION(name) __attribute__((section(name), aligned(64)))
#define CONVLAB_DEVICE_VARIABLE CONVLAB_IN_SECTION("convlab_variables")
#define CONVLAB_MANAGED_VARIABLE CONVLAB_IN_SECTION("convlab_managed")
#if defined(__x86_64__) && !defined(__clang__)
#define CONVLAB_DEVICE_ARRAY CONVLAB_IN_SECTION("convlab_arrays,\"aw\",@nobits#")
#else
#define CONVLAB_DEVICE_ARRAY CONVLAB_DEVICE_VARIABLE
#endif
#define CONVLAB_OWN_PAGES alignas(4096)
#define CONVLAB_GAP(section, name) section __attribute__((used)) static char convlab_gap_##name[256]

enum class SymbolKind { kDevice, kConstant, kManaged };

/// Tells the runtime of a variable of the device. The rewrite puts one behind each.
/// @param module  the file that is compiled; on a GPU the limit on constant memory is a module's
class DeviceSymbol {
 public:
  DeviceSymbol(const char* name, const volatile void* address, std::size_t bytes, SymbolKind kind,
               const char* module, const char* file, std::uint32_t line);
  DeviceSymbol(const DeviceSymbol&) = delete;
  DeviceSymbol& operator=(const DeviceSymbol&) = delete;
};

/// Of a variable that has pages alone.
void note_own_pages(void* variable, std::size_t bytes);

/// A template has such a variable for each of its arguments. The rewrite calls it for their first
/// values, before main begins. @return the variable
template <typename T>
T& variable_of_template(T& variable, const char* name, SymbolKind kind, const char* module,
                        const char* file, std::uint32_t line) {
  const DeviceSymbol symbol(name, &variable, sizeof variable, kind, module, file, line);
  if (kind != SymbolKind::kManaged)
    note_own_pages(const_cast<std::remove_cv_t<T>*>(&variable), sizeof variable);
  return variable;
}

/// Tells the runtime that a source accesses 16 bytes at once (float4, tensor cores), or pairs
/// through a pointer (float2*, half2*). Only then must allocations be aligned to 16 bytes;
/// otherwise they end nearer to the page that cannot be read. The rewrite calls it in such a
/// source. @return true
bool note_wide_accesses();

}  // namespace convlab::emulation
