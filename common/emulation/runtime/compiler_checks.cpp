// What a file calls that was compiled with -fsanitize=alignment, float-cast-overflow,
// shift-exponent or signed-integer-overflow, in place of the sanitizer's library.
//
// A GPU ends a kernel that reads a float4 at an address that is no multiple of 16. The processor of
// the host does so only if the compiler kept the 16 bytes together; it may as well load four
// floats. So files that access 16 bytes at once are compiled with this check
// (build_custom_submission.sh).
//
// Casts and shifts of kernels have a GPU's values (common/emulation/rewrite/conversions.cpp). Where
// the rewrite finds none, as in f(x) for a float x and a parameter of type int, they have the
// host's: where the two differ, a note gives both.
//
// Sums and products that overflow are looked for only at sizes for which no machine has the memory
// (Work::kSamples).

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/device_values.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/report.hpp"

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
/// A sum, a difference or a product.
struct Operation {
  const char* file;
  std::uint32_t line;
  std::uint32_t column;
  const TypeName* type;
};
/// A conversion, or a shift with the types of its number and its count.
struct Conversion {
  const char* file;
  std::uint32_t line;
  std::uint32_t column;
  const TypeName* from;
  const TypeName* to;
};

bool is_signed(const TypeName& type) {
  return (type.info & 1U) != 0;
}
unsigned width_of(const TypeName& type) {
  return 1U << (type.info >> 1U);
}

/// A number that was passed in a word. A float of another size does not come here.
double real_of(const TypeName& type, std::uintptr_t word) {
  if (type.info == 64) return convlab::emulation::bit_cast<double>(std::uint64_t{word});
  return static_cast<double>(convlab::emulation::bit_cast<float>(static_cast<std::uint32_t>(word)));
}

/// The low bits of a word, as a number of the type.
std::string text_of(const TypeName& type, std::uint64_t word) {
  const unsigned unused = 64 - width_of(type);
  if (is_signed(type)) return std::to_string(static_cast<std::int64_t>(word << unused) >> unused);
  return std::to_string(word << unused >> unused);
}

template <class Real>
std::uint64_t converted(const TypeName& type, Real value) {
  using convlab::emulation::saturated;
  if (width_of(type) == 64)
    return is_signed(type) ? static_cast<std::uint64_t>(saturated<std::int64_t>(value))
                           : saturated<std::uint64_t>(value);
  return is_signed(type) ? static_cast<std::uint64_t>(saturated<std::int32_t>(value))
                         : saturated<std::uint32_t>(value);
}

/// What x86 gives where a number is out of range.
std::uint64_t converted_here(const TypeName& type, double value) {
  const bool is_long = width_of(type) == 64 || (width_of(type) == 32 && !is_signed(type));
  const double limit = is_long ? 0x1p63 : 0x1p31;
  if (value >= -limit && value < limit)
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  return is_long ? std::uint64_t{1} << 63U : std::uint64_t{1} << 31U;
}

void note(const Conversion& at, const std::string& message) {
  convlab::emulation::note_kernel(message.c_str(), {at.file, at.line, at.column});
}

void note_operation(const Operation& at, const std::string& expression) {
  std::string type = &at.type->quoted[1];
  if (type.ends_with('\'')) type.pop_back();
  convlab::emulation::note_overflow({.file = at.file, .line = at.line, .column = at.column},
                                    expression + " does not fit into `" + type + "`");
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): the compilers' names

extern "C" void __ubsan_handle_float_cast_overflow(const Conversion* at, std::uintptr_t value) {
  if (!convlab::emulation::in_kernel() || at->to->kind != 0 || at->from->info > 64) return;
  const double number = real_of(*at->from, value);
  const std::string there =
      text_of(*at->to, at->from->info == 64 ? converted(*at->to, number)
                                            : converted(*at->to, static_cast<float>(number)));
  const std::string here = text_of(*at->to, converted_here(*at->to, number));
  if (there == here) return;
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", number);
  note(*at, std::string(text) + " as a whole number is " + there + " on a GPU and " + here +
                " here: write a cast, as in (int)x, which is the same on both");
}

extern "C" void __ubsan_handle_shift_out_of_bounds(const Conversion* at, std::uintptr_t value,
                                                   std::uintptr_t count) {
  const TypeName& type = *at->from;
  if (!convlab::emulation::in_kernel() || width_of(type) > 64 ||
      static_cast<std::uint32_t>(count) < width_of(type))
    return;
  note(*at,
       text_of(type, value) + " is shifted by " + std::to_string(static_cast<int>(count)) +
           " bits: on a GPU that leaves 0, or -1 of a negative number; here it is a shift by " +
           std::to_string(count % width_of(type)) +
           ". Write a smaller count, or 0 where that is meant");
}

#define CONVLAB_OVERFLOW(name, sign)                                                      \
  extern "C" void __ubsan_handle_##name##_overflow(const Operation* at, std::uintptr_t a, \
                                                   std::uintptr_t b) {                    \
    note_operation(*at, text_of(*at->type, a) + sign + text_of(*at->type, b));            \
  }
CONVLAB_OVERFLOW(add, " + ")
CONVLAB_OVERFLOW(sub, " - ")
CONVLAB_OVERFLOW(mul, " * ")
CONVLAB_OVERFLOW(divrem, " / ")
extern "C" void __ubsan_handle_negate_overflow(const Operation* at, std::uintptr_t a) {
  note_operation(*at, "-(" + text_of(*at->type, a) + ")");
}

// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)

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
      "misaligned address: the type %.*s needs a multiple of %u bytes, and this address is %u "
      "beyond one",
      static_cast<int>(type.size()), type.data(), static_cast<unsigned>(alignment),
      static_cast<unsigned>(address % alignment));
}
