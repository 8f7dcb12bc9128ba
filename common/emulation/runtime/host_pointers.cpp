#include "common/emulation/runtime/host_pointers.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "common/emulation/runtime/copy.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/pages.hpp"

namespace convlab::emulation {
namespace {

/// What a kernel reads of an array of the host begins in most cases here. The host's own accesses
/// there are slower from now on, so it is not the whole array.
constexpr std::size_t kReach = 256;

bool is_mapped(std::byte* page) {
  unsigned char resident = 0;
  return mincore(page, kPage, &resident) == 0;
}

/// Functions, tables of virtual functions and literals serve host and device here.
bool is_host_memory(const std::byte* address) {
  return !DeviceMemory::contains(address) && !is_constant(address) && !find_symbol(address) &&
         side_of(address) == Side::kHost;
}

}  // namespace

void forbid_what_host_pointers_reach(const void* begin, std::size_t bytes) {
  if (access_shadow == nullptr) return;
  // Of numbers that look like addresses most are none, so each question about one costs a look at
  // the machine's pages.
  int questions = 4096;
  const auto* const words = static_cast<const std::byte*>(begin);
  for (std::size_t at = 0; at + sizeof(void*) <= bytes && questions > 0; at += sizeof(void*)) {
    std::uintptr_t word = 0;
    std::memcpy(&word, words + at, sizeof word);
    // Programs and their heaps lie from 0x55…, all else at 0x7e… and 0x7f….
    const std::uintptr_t upper = word >> 40U;
    if (upper != 0x55 && upper != 0x56 && upper != 0x7e && upper != 0x7f) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): it is only looked up
    auto* const address = reinterpret_cast<std::byte*>(word);
    std::byte* const page = address - word % kPage;
    if (!is_host_memory(address)) continue;
    --questions;
    if (!is_mapped(page)) continue;
    forbid_access(address, std::min<std::size_t>(kReach, page + kPage - address));
  }
}

bool is_allowed_host_memory(const KernelCall& call, const void* byte) {
  const auto* const address = static_cast<const std::byte*>(byte);
  if (DeviceMemory::contains(byte)) return false;
  const auto* const arguments = static_cast<const std::byte*>(call.arguments);
  if (address >= arguments && address < arguments + call.argument_bytes) return true;
  return only<PinnedMemory>().contains(byte);
}

const char* why_forbidden(const void* byte) {
  return first_forbidden(byte, 1) != nullptr && is_host_memory(static_cast<const std::byte*>(byte))
             ? " is memory of the host: its pointer came with a struct, an array or a variable "
               "that the kernel got, and what it points to must be on the device, too"
             : " is no device memory";
}

}  // namespace convlab::emulation
