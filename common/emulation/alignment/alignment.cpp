// What a file calls that was compiled with -fsanitize=alignment, in place of the sanitizer's
// library.
//
// A GPU ends a kernel that reads a float4 at an address that is no multiple of 16. The processor of
// the host does so only if the compiler kept the 16 bytes together; it may as well load four
// floats. So files that access 16 bytes at once are compiled with this check
// (build_custom_submission.sh).

#include <cstdint>
#include <string_view>

#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/runtime/device_memory.hpp"

namespace {

// What GCC and clang pass. Source: compiler-rt, ubsan_handlers.h, TypeMismatchData.
struct TypeName {
  std::uint16_t kind;
  std::uint16_t info;
  char quoted[1];  // 'float4', as long as it is
};
struct Access {
  const char* file;
  std::uint32_t line;
  std::uint32_t column;
  const TypeName* type;
  std::uint8_t alignment_bits;
  std::uint8_t kind;
};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming,bugprone-reserved-identifier): the compilers' name
extern "C" void __ubsan_handle_type_mismatch_v1(const Access* access, std::uintptr_t address) {
  const std::uintptr_t alignment = std::uintptr_t{1} << access->alignment_bits;
  if (address % alignment == 0 || !convlab::emulation::in_kernel()) return;
  // A GPU begins every allocation at a multiple of 256; here it may end at a page instead.
  // NOLINTNEXTLINE(performance-no-int-to-ptr): it is only looked up
  const auto found = convlab::emulation::device_memory().find(reinterpret_cast<void*>(address));
  if (found && (address - reinterpret_cast<std::uintptr_t>(found->begin)) % alignment == 0) return;
  // "'const struct float4'" in GCC's words
  std::string_view type = &access->type->quoted[1];
  type.remove_suffix(1);
  for (const std::string_view word : {"const ", "volatile ", "struct "})
    if (type.substr(0, word.size()) == word) type.remove_prefix(word.size());
  convlab::emulation::fail_kernel(
      convlab::emulation::KernelFault::kMisalignedAddress,
      {access->file, access->line, access->column},
      "misaligned address: a %.*s must lie at a multiple of %u bytes, and this address is %u "
      "beyond one",
      static_cast<int>(type.size()), type.data(), static_cast<unsigned>(alignment),
      static_cast<unsigned>(address % alignment));
}
