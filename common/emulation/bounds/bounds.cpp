// What a program calls that was compiled with -fsanitize=kernel-address, in place of the
// sanitizer's library.
//
// Idea     Pages find an access only beyond a page. Here the compiler puts a question before each
//          access: is the byte at (address >> 3) + kShadow zero? Only around arrays of the device
//          it is not. So reads before the first and after the last byte of an array are found, with
//          their line, also of integers, and arrays may begin where cudaMalloc puts them.
// Cost     a kernel that does nothing but load takes 2.3 times as long, others less.
// Source   Serebryany et al., AddressSanitizer, USENIX ATC 2012; GCC's option for Linux's kernel,
//          which leaves shadow and reports to whoever links.

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/pages.hpp"
#include "common/emulation/runtime/settings.hpp"
#include "common/emulation/runtime/signals.hpp"

namespace {

using convlab::emulation::access_shadow;

// Of addresses of 47 bits; -fasan-shadow-offset says the same.
constexpr std::uintptr_t kShadow = 0x7fff'8000;
constexpr std::size_t kShadowBytes = std::size_t{1} << 44U;

void reserve_shadow(int /*count*/, char** /*arguments*/, char** /*environment*/) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): nothing lies there yet
  void* const place = reinterpret_cast<void*>(kShadow);
  void* const shadow =
      mmap(place, kShadowBytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (shadow != place) {
    std::fputs(
        "emulated device: the machine has no addresses left for the check of accesses "
        "(ulimit -v?); convlab-run --no-bounds does without.\n",
        stderr);
    std::_Exit(3);
  }
  madvise(shadow, kShadowBytes, MADV_DONTDUMP);
  access_shadow = static_cast<std::uint8_t*>(shadow);
  convlab::emulation::align_to(256);
}

// Before the constructors of all static objects, which ask, too.
[[gnu::section(".preinit_array"), gnu::used]] void (*const run_first)(int, char**,
                                                                      char**) = reserve_shadow;

void check(std::uintptr_t address, std::size_t bytes, bool writes, const void* caller) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): it is only looked up
  const auto* const begin = reinterpret_cast<const void*>(address);
  const std::byte* const byte = convlab::emulation::first_forbidden(begin, bytes);
  if (byte == nullptr || (!writes && convlab::emulation::settings().forgives_reads)) return;
  if (convlab::emulation::in_kernel()) {
    convlab::emulation::fail_access(byte, writes, caller);
    return;
  }
  // Beside managed or pinned memory; the host's own variables are not looked at.
  const convlab::emulation::DeviceMemory& memory = convlab::emulation::device_memory();
  if (memory.is_beside_host_memory(byte))
    convlab::emulation::fail_on_host(memory.describe_host_access(byte),
                                     static_cast<const char*>(caller) - 1);
}

/// What the compiler knows to be aligned to its size, 16 bytes to 8.
template <std::size_t kBytes>
[[gnu::always_inline]] inline void check_fast(std::uintptr_t address, bool writes,
                                              const void* caller) {
  constexpr std::uintptr_t kAlignment = kBytes < 8 ? kBytes : 8;
  // NOLINTBEGIN(performance-no-int-to-ptr): the shadow lies at a fixed place
  const auto* const shadow = reinterpret_cast<const std::uint8_t*>(kShadow) + address / 8;
  // NOLINTEND(performance-no-int-to-ptr)
  if (address % kAlignment == 0 && (shadow[0] | shadow[(kBytes - 1) / 8]) == 0) [[likely]]
    return;
  if (address % kAlignment != 0) convlab::emulation::fail_misaligned(address, kAlignment, caller);
  check(address, kBytes, writes, caller);
}

}  // namespace

// The compilers' names.
// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier)
// In functions with many accesses the compiler calls, rather than asks in place.
#define CONVLAB_REPORT(bytes)                                                    \
  extern "C" void __asan_load##bytes##_noabort(std::uintptr_t address) {         \
    check_fast<bytes>(address, false, __builtin_return_address(0));              \
  }                                                                              \
  extern "C" void __asan_store##bytes##_noabort(std::uintptr_t address) {        \
    check_fast<bytes>(address, true, __builtin_return_address(0));               \
  }                                                                              \
  extern "C" void __asan_report_load##bytes##_noabort(std::uintptr_t address) {  \
    check(address, bytes, false, __builtin_return_address(0));                   \
  }                                                                              \
  extern "C" void __asan_report_store##bytes##_noabort(std::uintptr_t address) { \
    check(address, bytes, true, __builtin_return_address(0));                    \
  }
CONVLAB_REPORT(1)
CONVLAB_REPORT(2)
CONVLAB_REPORT(4)
CONVLAB_REPORT(8)
CONVLAB_REPORT(16)
#undef CONVLAB_REPORT
#define CONVLAB_REPORT(name, writes)                                                   \
  extern "C" void __asan_##name##_noabort(std::uintptr_t address, std::size_t bytes) { \
    check(address, bytes, writes, __builtin_return_address(0));                        \
  }
CONVLAB_REPORT(loadN, false)
CONVLAB_REPORT(storeN, true)
CONVLAB_REPORT(report_load_n, false)
CONVLAB_REPORT(report_store_n, true)
#undef CONVLAB_REPORT
// What fills and copies; cuda_runtime.h gives the functions of the library these names.
extern "C" void* __asan_memset(void* to, int value, std::size_t bytes) {
  check(reinterpret_cast<std::uintptr_t>(to), bytes, true, __builtin_return_address(0));
  return std::memset(to, value, bytes);
}
#define CONVLAB_COPY(name)                                                        \
  extern "C" void* __asan_##name(void* to, const void* from, std::size_t bytes) { \
    const void* const caller = __builtin_return_address(0);                       \
    check(reinterpret_cast<std::uintptr_t>(from), bytes, false, caller);          \
    check(reinterpret_cast<std::uintptr_t>(to), bytes, true, caller);             \
    return std::name(to, from, bytes);                                            \
  }
CONVLAB_COPY(memcpy)
CONVLAB_COPY(memmove)
#undef CONVLAB_COPY
// Behind each variable that lies in no section of ours (variable_pages.hpp) GCC leaves a gap, and
// tells of it before the constructors of static objects: so constants have gaps, too.
namespace {
struct GlobalVariable {
  std::byte* begin;
  std::size_t bytes;
  std::size_t bytes_with_gap;
  const void* more[5];  ///< name, file, whether a constructor makes it, place, one definition
};
}  // namespace
extern "C" void __asan_register_globals(const GlobalVariable* all, std::size_t count) {
  for (const GlobalVariable* each = all; each != all + count; ++each)
    convlab::emulation::forbid_access(each->begin + each->bytes,
                                      each->bytes_with_gap - each->bytes);
}
extern "C" void __asan_unregister_globals(const GlobalVariable* /*all*/, std::size_t /*count*/) {}
// What concerns stacks and variables of the host, which are not looked at.
extern "C" void __asan_handle_no_return() {}
extern "C" void __asan_before_dynamic_init(const char* /*module*/) {}
extern "C" void __asan_after_dynamic_init() {}
extern "C" void __asan_alloca_poison(std::uintptr_t /*address*/, std::size_t /*bytes*/) {}
extern "C" void __asan_allocas_unpoison(std::uintptr_t /*top*/, std::uintptr_t /*bottom*/) {}
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
