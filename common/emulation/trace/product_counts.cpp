// How many floats a piece of a program multiplies, read from its machine code.
//
// Idea     The compiler has put a call in front of each block of the program, all to the same
//          function. What lies between two of them in one function is run as a whole.
// Not      Processors other than x86-64, and functions of a library; fmaf has a hook.
// Source   Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2: MULSS is F3 0F
// 59,
//          with a byte from 40 to 4F behind F3 for further registers; E8 calls by a distance.

#include <cstdint>
#include <cstring>

#include "common/emulation/trace/access_counts.hpp"

extern const unsigned char etext[];                     // of the linker: where machine code ends
extern "C" void* _Unwind_FindEnclosingFunction(void*);  // NOLINT: of libgcc

namespace convlab::emulation {

FloatProducts float_products_behind([[maybe_unused]] const void* caller) {
  FloatProducts products;
#ifdef __x86_64__
  constexpr int kCallBytes = 5;
  const auto* const begin = static_cast<const unsigned char*>(caller);
  const auto called_from = [](const unsigned char* at) {
    std::int32_t distance = 0;
    std::memcpy(&distance, at + 1, sizeof(distance));
    return at + kCallBytes + distance;
  };
  const auto function_of = [](const unsigned char* at) {
    return _Unwind_FindEnclosingFunction(const_cast<unsigned char*>(at));
  };
  if (begin[-kCallBytes] != 0xe8) return products;
  const void* const announces = called_from(begin - kCallBytes);
  for (const unsigned char* at = begin; at + kCallBytes < etext; ++at) {
    if (*at == 0xe8 && called_from(at) == announces) break;
    if (*at != 0xf3) continue;
    const unsigned char* const code = at[1] >= 0x40 && at[1] <= 0x4f ? at + 2 : at + 1;
    if (code[0] != 0x0f || code[1] != 0x59) continue;
    if (function_of(at) != function_of(begin - 1)) break;
    if (products.count++ == 0) products.first = at;
  }
#endif
  return products;
}

}  // namespace convlab::emulation
