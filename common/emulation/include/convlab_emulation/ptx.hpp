#pragma once

// Inline PTX: what the instructions do that common/emulation/ptx translates asm statements into.
//
// A register is 4 or 8 bytes, whatever type the kernel's variable has. Addresses of shared memory
// are offsets from the start of the block's, as __cvta_generic_to_shared returns them: they fit
// into 32 bits, as on a GPU.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/device_functions.hpp"
#include "common/emulation/include/convlab_emulation/device_math.hpp"
#include "common/emulation/include/convlab_emulation/warp_functions.hpp"

namespace convlab::emulation::ptx {

template <std::size_t kBytes>
using Bits = std::conditional_t<kBytes == 4, std::uint32_t, std::uint64_t>;

/// A variable that receives a result.
template <std::size_t kBytes>
class Register {
 public:
  explicit Register(void* variable) : variable_(variable) {}
  void operator=(Bits<kBytes> value) const { std::memcpy(variable_, &value, kBytes); }

 private:
  void* variable_;
};

template <std::size_t kBytes, class T>
Register<kBytes> write(T& variable) {
  static_assert(sizeof(T) == kBytes && std::is_trivially_copyable_v<T>,
                "this result of inline PTX has another size than the variable");
  return Register<kBytes>(&variable);
}

template <std::size_t kBytes, class T>
Bits<kBytes> read(const T& value) {
  const std::decay_t<decltype(value)> operand = value;  // an array is its address
  static_assert(sizeof operand == kBytes && std::is_trivially_copyable_v<decltype(operand)>,
                "this operand of inline PTX has another size than the variable");
  Bits<kBytes> bits;
  std::memcpy(&bits, &operand, kBytes);
  return bits;
}

/// What stands in [ ]: a pointer, or a number.
struct Address {
  std::uint64_t value;
};
template <class T>
Address address(const T& value, std::uint64_t offset) {
  constexpr std::size_t kBytes = sizeof(std::decay_t<decltype(value)>);
  static_assert(kBytes == 4 || kBytes == 8, "an address has 32 or 64 bits");
  return {read<kBytes>(value) + offset};
}

/// What stands in { }, or alone.
template <class T, class... More>
std::array<T, 1 + sizeof...(More)> list(T first, More... more) {
  return {first, more...};
}

template <std::size_t kCount>
using Results = std::array<Register<4>, kCount>;
template <std::size_t kCount>
using Words = std::array<std::uint32_t, kCount>;

// Products of the tensor cores. Lanes hold the elements that the PTX ISA says ("Matrix fragments
// for mma.m16n8k16"); sums are those of multiply_fragments in matrix_operations.hpp.
/// @param kind  which of those that translate.cpp lists, in its order
void mma_of_kind(int kind, const Register<4>* d, const std::uint32_t* a, const std::uint32_t* b,
                 const std::uint32_t* c, CallSite site);
template <int kKind, std::size_t kA, std::size_t kB, std::size_t kC>
void mma(const Results<kC>& d, const Words<kA>& a, const Words<kB>& b, const Words<kC>& c,
         CONVLAB_CALL_SITE) {
  mma_of_kind(kKind, d.data(), a.data(), b.data(), c.data(), site);
}

/// What a lane posts for ldmatrix.
struct MatrixRows {
  CallSite site;
  std::uint64_t row;     ///< this lane's row, an address in shared memory
  std::uint32_t* words;  ///< one for each matrix
};
void load_matrices_all(int count, bool transposed, const MatrixRows& rows);

template <bool kTransposed, std::size_t kCount>
void load_matrices(const Results<kCount>& results, Address row, CONVLAB_CALL_SITE) {
  std::uint32_t words[kCount];
  load_matrices_all(static_cast<int>(kCount), kTransposed, {site, row.value, words});
  for (std::size_t i = 0; i < kCount; ++i) results[i] = words[i];
}

/// cp.async: begins a copy of 4, 8 or 16 bytes; of these the first `source_bytes`, or all, are read
/// and the others become 0. async_copy.hpp tells when it happens.
/// @tparam kAroundL1  past the L1 cache, for 16 bytes only
constexpr std::size_t kAllBytes = SIZE_MAX;
template <bool kAroundL1>
void copy(Address to, Address from, std::size_t bytes, std::size_t source_bytes = kAllBytes,
          CONVLAB_CALL_SITE);
void copy_commit();
void copy_wait(std::size_t unfinished);
void copy_wait_all();

/// Two halves, the first one above.
void convert_to_half2(const Results<1>& result, const Words<1>& high, const Words<1>& low);

// Special registers. Blocks go to the multiprocessors in turns.
std::uint32_t multiprocessor();
std::uint32_t multiprocessors();

/// The offset of a generic address in the block's shared memory.
std::uint64_t shared_offset(const void* pointer);

template <std::size_t kBytes>
void to_shared(const std::array<Register<kBytes>, 1>& result,
               const std::array<std::uint64_t, 1>& pointer) {
  result[0] = static_cast<Bits<kBytes>>(
      shared_offset(reinterpret_cast<const void*>(static_cast<std::uintptr_t>(pointer[0]))));
}

/// Fails the kernel where `bytes` do not fit the address, as a GPU does.
void check_alignment(const char* name, std::uint64_t address, std::size_t bytes, CallSite site);

/// Where `bytes` at an address of shared memory lie. Fails the kernel if they are not in it.
unsigned char* in_shared(const char* name, std::uint64_t address, std::size_t bytes, CallSite site);

template <bool kShared, std::size_t kBytes, std::size_t kCount>
void load(const std::array<Register<kBytes>, kCount>& results, Address from, CONVLAB_CALL_SITE) {
  check_alignment("ld", from.value, kBytes * kCount, site);
  const void* at = reinterpret_cast<const void*>(from.value);
  if (kShared) at = in_shared("ld.shared", from.value, kBytes * kCount, site);
  const auto* values = static_cast<const Bits<kBytes>*>(at);
  for (std::size_t i = 0; i < kCount; ++i) results[i] = values[i];
}
template <bool kShared, class T, std::size_t kCount>
void store(Address to, const std::array<T, kCount>& values, CONVLAB_CALL_SITE) {
  check_alignment("st", to.value, sizeof(T) * kCount, site);
  void* at = reinterpret_cast<void*>(to.value);
  if (kShared) at = in_shared("st.shared", to.value, sizeof(T) * kCount, site);
  for (std::size_t i = 0; i < kCount; ++i) static_cast<T*>(at)[i] = values[i];
}

/// Arithmetic on registers by a function of numbers.
template <class Result, class... Operands, class Function>
auto compute_as(Function function, Result (*)(Operands...)) {
  return [function](const std::array<Register<sizeof(Result)>, 1>& result,
                    const std::array<Bits<sizeof(Operands)>, 1>&... operands) {
    const auto number = [](auto bits, auto value) {
      std::memcpy(&value, &bits, sizeof value);
      return value;
    };
    result[0] = number(function(number(operands[0], Operands{})...), Bits<sizeof(Result)>{});
  };
}
template <class Function>
auto compute(Function function) {
  return compute_as(function, +function);
}

/// By as many bits as there are, or more, nothing is left but the sign.
template <class T>
T shifted_left(T a, std::uint32_t by) {
  return by >= 8 * sizeof a ? 0 : a << by;
}
template <class T>
T shifted_right(T a, std::uint32_t by) {
  return by >= 8 * sizeof a ? (a < 0 ? static_cast<T>(-1) : 0) : a >> by;
}

/// Bits of a word, from a place on. Source: PTX ISA, "bfe", "bfi", "bfind", "prmt".
template <class T>
T extracted_field(T a, std::uint32_t at, std::uint32_t count) {
  constexpr std::uint32_t kBits = 8 * sizeof a;
  at &= 0xffU;
  count &= 0xffU;
  if (count == 0) return 0;
  const T moved = shifted_right(a, at);
  if (at + count >= kBits || count >= kBits) return moved;
  return shifted_right(shifted_left(moved, kBits - count), kBits - count);
}
template <class T>
T inserted_field(T a, T into, std::uint32_t at, std::uint32_t count) {
  const T field = shifted_left(static_cast<T>(shifted_left(T{1}, count & 0xffU) - 1), at & 0xffU);
  return (into & ~field) | (shifted_left(a, at & 0xffU) & field);
}
template <class T>
std::uint32_t highest_bit(T a) {
  const auto bits = static_cast<std::uint64_t>(a < 0 ? ~a : a);
  return bits == 0 ? ~0U : 63U - static_cast<std::uint32_t>(countl_zero(bits));
}
/// __byte_perm, with the sign of a byte in its place where the digit says so.
inline std::uint32_t permuted(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
  const std::uint32_t bytes = __byte_perm(a, b, selector);
  std::uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const std::uint32_t byte = bytes >> (8 * i) & 0xffU;
    const bool sign = (selector >> (4 * i + 3) & 1U) != 0;
    result |= (!sign ? byte : byte >= 0x80U ? 0xffU : 0U) << (8 * i);
  }
  return result;
}

/// The carry of the running thread's last instruction with .cc, for a later one, also of another
/// statement.
inline thread_local unsigned carry = 0;

/// a + b + in; notes the carry. Of a - b - in, which is a + ~b + !in, the borrow.
template <class T>
T sum_with_carry(T a, T b, unsigned in, bool sets) {
  const T sum = a + b + in;
  if (sets) carry = sum < a || (in != 0 && sum == a) ? 1 : 0;
  return sum;
}
template <class T>
T difference_with_borrow(T a, T b, unsigned in, bool sets) {
  if (sets) carry = a < b || (in != 0 && a == b) ? 1 : 0;
  return a - b - in;
}

/// An atomic operation by CUDA's function of it.
template <bool kShared, class T, class Function>
auto update(Function function, CONVLAB_CALL_SITE) {
  return [function, site](Address at, const auto&... operands) {
    check_alignment("atom", at.value, sizeof(T), site);
    void* place = reinterpret_cast<void*>(at.value);
    if (kShared) place = in_shared("atom.shared", at.value, sizeof(T), site);
    const auto number = [](auto bits) {
      T value;
      std::memcpy(&value, &bits, sizeof value);
      return value;
    };
    return function(static_cast<T*>(place), number(operands[0])...);
  };
}
/// The same with what was there before as the result.
template <bool kShared, class T, class Function>
auto exchange(Function function, CONVLAB_CALL_SITE) {
  return
      [change = update<kShared, T>(function, site)](
          const std::array<Register<sizeof(T)>, 1>& result, Address at, const auto&... operands) {
        const T old = change(at, operands...);
        Bits<sizeof(T)> bits;
        std::memcpy(&bits, &old, sizeof bits);
        result[0] = bits;
      };
}

inline void fence() {
  __threadfence();
}

[[noreturn]] inline void trap(CONVLAB_CALL_SITE) {
  emulation::trap(site);
}

/// A prefetch changes no value.
inline void prefetch(Address /*address*/) {}

inline void wait_for_warp(std::uint32_t mask, CONVLAB_CALL_SITE) {
  __syncwarp(mask, site);
}

/// One of the 16 barriers of a block, which opens when so many threads have come; 0: all of them.
void come_to_barrier(std::uint32_t number, std::uint32_t threads, bool waits, CallSite site);
template <bool kWaits>
void barrier(std::uint32_t number, std::uint32_t threads = 0, CONVLAB_CALL_SITE) {
  come_to_barrier(number, threads, kWaits, site);
}

}  // namespace convlab::emulation::ptx

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the names are CUDA's

/// The address of shared memory that instructions with .shared take, for "r" after a cast to 32
/// bits, or for "l".
inline std::size_t __cvta_generic_to_shared(const void* pointer) {
  return convlab::emulation::ptx::shared_offset(pointer);
}
/// An address of global memory is the same in both worlds.
inline std::size_t __cvta_generic_to_global(const void* pointer) {
  return reinterpret_cast<std::size_t>(pointer);
}

// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
