#include "common/emulation/runtime/pages.hpp"

#include <algorithm>
#include <cstring>

namespace convlab::emulation {
namespace {

constexpr std::size_t kGranule = 8;
constexpr std::uint8_t kForbidden = 0xfa;

/// Most of the shadow was never written; to read it takes no memory.
void clear(std::uint8_t* begin, const std::uint8_t* end) {
  while (begin < end) {
    const std::size_t bytes = std::min<std::size_t>(kPage, static_cast<std::size_t>(end - begin));
    if (std::any_of(begin, begin + bytes, [](std::uint8_t each) { return each != 0; }))
      std::memset(begin, 0, bytes);
    begin += bytes;
  }
}

}  // namespace

const std::byte* first_forbidden(const void* begin, std::size_t bytes) {
  if (access_shadow == nullptr || bytes == 0) return nullptr;
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t last = first + bytes - 1;
  for (std::uintptr_t granule = first / kGranule; granule <= last / kGranule; ++granule) {
    const auto allowed = static_cast<std::int8_t>(access_shadow[granule]);
    if (allowed == 0) continue;
    const std::uintptr_t found =
        std::max(first, granule * kGranule + static_cast<std::uintptr_t>(std::max(allowed, {})));
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    if (found <= last && found / kGranule == granule) return reinterpret_cast<std::byte*>(found);
  }
  return nullptr;
}

void shade(const void* begin, std::size_t bytes, bool forbidden) {
  if (bytes == 0) return;
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t end = first + bytes;
  std::uint8_t* const from = access_shadow + first / kGranule;
  std::uint8_t* const to = access_shadow + end / kGranule;
  const auto head = static_cast<std::uint8_t>(first % kGranule);
  const auto tail = static_cast<std::uint8_t>(end % kGranule);
  if (forbidden) {
    // The first granule keeps what may be accessed before; a piece that ends inside a granule is
    // followed by one that may be accessed, or by nothing.
    std::memset(from + (head != 0 ? 1 : 0), kForbidden,
                static_cast<std::size_t>(std::max(to, from + 1) - from) - (head != 0 ? 1 : 0));
    if (head != 0) *from = head;
  } else {
    clear(from, to);
    if (tail != 0) *to = tail;
  }
}

}  // namespace convlab::emulation
