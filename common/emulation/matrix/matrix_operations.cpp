// The warp-wide operations of nvcuda::wmma.
//
// Idea     All lanes wait, so their fragments can be put together. A product is not a chain of
//          roundings: tensor cores line the products of a group up with the largest one, cut off
//          what lies below its last places, and add the rest exactly. In doubles that is: multiply
//          by a power of two, cut to an integer, add.
// Source   random tiles on an H200, of whose results this model gives every bit (docs/emulation.md)
// Cost     two to three times that of a chain of float sums: some microseconds for 16×16×16 halves

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

#include "common/base/lost_number.hpp"
#include "common/emulation/include/convlab_emulation/fragment_layout.hpp"
#include "common/emulation/include/convlab_emulation/narrow_format.hpp"
#include "common/emulation/runtime/gpu_model.hpp"
#include "common/emulation/runtime/observer.hpp"
#include "common/emulation/runtime/report.hpp"

namespace convlab::emulation {
namespace {

/// The row-major index of each distinct element, lane after lane.
template <FragmentLayout kLayout>
constexpr auto kIndices = [] {
  std::array<std::uint16_t, 32 * static_cast<std::size_t>(kLayout.distinct)> indices{};
  for (int i = 0; i < 32 * kLayout.distinct; ++i)
    indices[static_cast<std::size_t>(i)] =
        static_cast<std::uint16_t>(kLayout.index(i / kLayout.distinct, i % kLayout.distinct));
  return indices;
}();

/// Address and leading dimension of a transfer, which all lanes must agree on.
/// @param writes  to memory
template <class Kind>
const FragmentTransfer& common_transfer(const WarpExchange& exchange, bool writes) {
  constexpr std::size_t kElementBytes = sizeof(typename Kind::Element);
  const auto& first = exchange.input<FragmentTransfer>(*exchange.lanes().begin());
  require_all_lanes(exchange, first.name, first.site);
  for (const int lane : exchange.lanes()) {
    const auto& transfer = exchange.input<FragmentTransfer>(lane);
    if (transfer.memory != first.memory || transfer.leading != first.leading ||
        transfer.column_major != first.column_major) {
      fail_kernel(KernelFault::kLaunchFailure, transfer.site,
                  "%s: lane %d passes another address, leading dimension or layout than lane 0; "
                  "all 32 lanes must pass the same",
                  first.name, lane);
    }
  }
  // What an H200 takes (CUDA 13.0, 2026-11-28): ldmatrix reads 16 bytes of shared memory at once;
  // all else are pairs of elements, at least 4 bytes. CUDA asks for 32 and 16 bytes in any case.
  const bool whole_rows = Kind::role != FragmentRole::kAccumulator && is_shared(first.memory);
  const std::size_t unit = whole_rows ? 16 : std::max<std::size_t>(2 * kElementBytes, 4);
  const std::size_t pitch = first.leading * kElementBytes;
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(first.memory) % unit;
  if (pitch % unit != 0 || beyond != 0) {
    fail_kernel(KernelFault::kMisalignedAddress, first.site,
                "%s: the address must be a multiple of %zu bytes (it is %zu above one) and so must "
                "the leading dimension (%u elements are %zu bytes)",
                first.name, unit, beyond, first.leading, pitch);
  }
  const int line_length = first.column_major ? Kind::layout().rows : Kind::layout().columns;
  if (first.leading < static_cast<unsigned>(line_length)) {
    fail_thread(
        FaultKind::kLeading, KernelFault::kLaunchFailure, first.site,
        "%s: the leading dimension is %u, less than the %d elements of a line of the fragment",
        first.name, first.leading, line_length);
  }
  const int lines = first.column_major ? Kind::layout().columns : Kind::layout().rows;
  for (int line = 0; line < lines; ++line)
    check_access(
        static_cast<const std::byte*>(first.memory) + static_cast<std::size_t>(line) * pitch,
        static_cast<std::size_t>(line_length) * kElementBytes, writes, first.site);
  return first;
}

/// Puts the lanes' elements together. (These may be words of registers: only bytes are moved.)
/// @param elements  the member of a lane's posting that points to them
/// @param tile      rows × columns, row-major
template <class Kind, class Posting, class Pointer>
void gather(const WarpExchange& exchange, Pointer Posting::*elements,
            typename Kind::Element* tile) {
  constexpr std::size_t kBytes = sizeof *tile;
  const std::uint16_t* index = kIndices<Kind::layout()>.data();
  for (int lane = 0; lane < kWarpSize; ++lane) {
    const auto* from = static_cast<const std::byte*>(exchange.input<Posting>(lane).*elements);
    for (int i = 0; i < Kind::layout().distinct; ++i, from += kBytes)
      std::memcpy(static_cast<void*>(&tile[*index++]), from, kBytes);
  }
}

/// Deals a row-major tile out to the lanes.
template <class Kind, class Posting>
void scatter(const typename Kind::Element* tile, const WarpExchange& exchange,
             void* Posting::*elements) {
  constexpr int kDistinct = Kind::layout().distinct;
  const std::uint16_t* index = kIndices<Kind::layout()>.data();
  for (int lane = 0; lane < kWarpSize; ++lane, index += kDistinct) {
    auto* to = static_cast<std::byte*>(exchange.input<Posting>(lane).*elements);
    for (int i = 0; i < Kind::layout().elements; ++i, to += sizeof *tile)
      std::memcpy(to, &tile[index[i % kDistinct]], sizeof *tile);
  }
}

/// Calls move(tile, memory) with the two indices of each element, in the order of memory.
template <FragmentLayout kLayout, class Move>
void for_each_element(bool column_major, std::size_t leading, const Move& move) {
  const int lines = column_major ? kLayout.columns : kLayout.rows;
  const int length = column_major ? kLayout.rows : kLayout.columns;
  for (int line = 0; line < lines; ++line)
    for (int i = 0; i < length; ++i)
      move(column_major ? i * lines + line : line * length + i,
           static_cast<std::size_t>(line) * leading + static_cast<std::size_t>(i));
}

/// Tells the observer of the rows, or columns, that lie together in memory. Four lanes hold eight
/// neighbours of a row of sums, so they store two floats each (measured on an H100).
template <FragmentLayout kLayout>
void observe(const FragmentTransfer& transfer, std::size_t element_bytes, bool writes) {
  constexpr std::size_t kPart = 16;
  const std::size_t part = writes && !transfer.column_major ? 8 * element_bytes : kPart;
  const int runs = transfer.column_major ? kLayout.columns : kLayout.rows;
  const int length = transfer.column_major ? kLayout.rows : kLayout.columns;
  const auto* memory = static_cast<const unsigned char*>(transfer.memory);
  for (int run = 0; run < runs; ++run) {
    observe_warp(memory + static_cast<std::size_t>(run) * transfer.leading * element_bytes,
                 static_cast<std::size_t>(length) * element_bytes, part, writes, transfer.site);
  }
}

/// Numbers of a sum: exact values, and the exponents that place their leading bits.
template <int kCount, class Value>
struct Terms {
  float given[kCount];
  Value values[kCount];            ///< the same with 0 in place of an infinity or a NaN
  std::int16_t exponents[kCount];  ///< of a subnormal number that of the least normal one
  bool finite;
};

template <class T, int kCount, class Value>
void take(const FragmentElement<T>* from, Terms<kCount, Value>& terms) {
  std::uint32_t words[kCount];
  if constexpr (std::is_same_v<T, Tf32>) {
    for (int i = 0; i < kCount; ++i)
      words[i] = std::bit_cast<std::uint32_t>(from[i]) & 0xffff'e000U;
  } else if constexpr (std::is_same_v<T, float>) {
    std::memcpy(words, from, sizeof words);
  } else {
    // By bits: a loop over the class is not turned into vector instructions.
    using Format = std::conditional_t<std::is_same_v<T, __half>, HalfFormat, Bfloat16Format>;
    std::uint16_t bits[kCount];
    std::memcpy(bits, from, sizeof bits);
    for (int i = 0; i < kCount; ++i)
      words[i] = std::bit_cast<std::uint32_t>(decode<Format>(bits[i]));
  }
  constexpr int kBias = 127;
  constexpr int kLeast =
      std::is_same_v<T, __half> ? HalfFormat::kMinExponent : Bfloat16Format::kMinExponent;
  constexpr int kNone = -10'000;  // a zero is larger than nothing
  constexpr int kSpecial = 255;
  int specials = 0;
  for (int i = 0; i < kCount; ++i) {
    const int biased = static_cast<int>(words[i] >> 23U & 0xffU);
    const std::uint32_t word = biased == kSpecial ? 0 : words[i];
    const int exponent = biased - kBias < kLeast ? kLeast : biased - kBias;
    specials += biased == kSpecial ? 1 : 0;
    terms.values[i] = std::bit_cast<float>(word);
    terms.exponents[i] = static_cast<std::int16_t>(word << 1U == 0 ? kNone : exponent);
  }
  std::memcpy(terms.given, words, sizeof words);
  terms.finite = specials == 0;
}

/// Sums as tensor cores give them: halves rounded to nearest, floats cut off.
template <int kCount>
inline void finish(const double* sums, __half* d) {
  for (int i = 0; i < kCount; ++i) d[i] = __half_raw{encode<HalfFormat>(sums[i])};
}
template <int kCount>
inline void finish(const double* sums, float* d) {
  constexpr double kSmallestNormal = 0x1p-126;
  constexpr double kUnits = 0x1p149;  // subnormal numbers are multiples of 1 / kUnits
  constexpr std::uint64_t kKept = ~std::uint64_t{0} << (52 - 23);
  for (int i = 0; i < kCount; ++i) {
    const double cut = std::bit_cast<double>(std::bit_cast<std::uint64_t>(sums[i]) & kKept);
    d[i] = static_cast<float>(cut);
    if (std::abs(cut) < kSmallestNormal && cut != 0)
      d[i] = static_cast<float>(std::trunc(cut * kUnits) / kUnits);
  }
}

/// One sum for each element of C: a group of products and C, each cut to a multiple of the last
/// place of the largest one. What lies below is lost, so the order does not matter.
/// @tparam Value  in which products and scaled products are exact: float for halves
/// @param first, group  which of the kK products
template <int kM, int kN, int kK, class Value, class D>
void add_group(const Terms<kM * kK, Value>& a, const Terms<kK * kN, Value>& b,
               const Terms<kM * kN, double>& c, int first, int group, int extra_bits, D* d) {
  constexpr int kWidth = 8;  // columns at once
  using Shorts [[gnu::vector_size(kWidth * 2)]] = std::int16_t;
  using Integers [[gnu::vector_size(kWidth * 4)]] = std::int32_t;
  using Longs [[gnu::vector_size(kWidth * 8)]] = std::int64_t;
  using Doubles [[gnu::vector_size(kWidth * 8)]] = double;
  using Values [[gnu::vector_size(kWidth * sizeof(Value))]] = Value;
  constexpr std::int16_t kLeast = -300;  // below every exponent of a product
  constexpr double kLargest = sizeof(Value) == sizeof(float) ? 0x1p120 : 0x1p600;
  const std::int64_t bits = 23 + extra_bits;
  for (int m = 0; m < kM; ++m) {
    for (int n = 0; n < kN; n += kWidth) {
      const int place = m * kN + n;
      Shorts largest;
      std::memcpy(&largest, &c.exponents[place], sizeof largest);
      for (int k = first; k < first + group; ++k) {
        Shorts product;
        std::memcpy(&product, &b.exponents[k * kN + n], sizeof product);
        product += a.exponents[m * kK + k];
        largest = largest < product ? product : largest;
      }
      // The scale makes the last place a 1. A float holds that of all halves' products.
      const Shorts bounded = largest < kLeast ? kLeast - Shorts{} : largest;
      const Longs exponent = bits - __builtin_convertvector(bounded, Longs);
      const auto exact = __builtin_bit_cast(Doubles, (exponent + 1023) << 52);
      const Doubles held = exact < kLargest ? exact : kLargest - Doubles{};
      const Values scale = __builtin_convertvector(held, Values);
      // 16 products below 4 · 2^25 fit, because a significand is below 2 by 2^-10 at least.
      Integers products{};
      for (int k = first; k < first + group; ++k) {
        Values row;
        std::memcpy(&row, &b.values[k * kN + n], sizeof row);
        products += __builtin_convertvector(row * a.values[m * kK + k] * scale, Integers);
      }
      Doubles addend;
      std::memcpy(&addend, &c.values[place], sizeof addend);
      const Integers cut = __builtin_convertvector(addend * exact, Integers);
      const Doubles sums =
          (__builtin_convertvector(products, Doubles) + __builtin_convertvector(cut, Doubles)) /
          exact;
      double totals[kWidth];
      std::memcpy(totals, &sums, sizeof totals);
      finish<kWidth>(totals, d + place);
    }
  }
}

/// The elements of which a term is an infinity or a NaN.
template <int kM, int kN, int kK, class Value, class D>
void add_special(const Terms<kM * kK, Value>& a, const Terms<kK * kN, Value>& b,
                 const Terms<kM * kN, double>& c, int first, int group, D* d) {
  for (int i = 0; i < kM * kN; ++i) {
    double sum = c.given[i];
    for (int k = first; k < first + group; ++k)
      sum += double{a.given[i / kN * kK + k]} * double{b.given[k * kN + i % kN]};
    if (std::isnan(sum)) sum = std::bit_cast<float>(kCanonicalFloatNan);
    if (!std::isfinite(sum)) d[i] = static_cast<D>(static_cast<float>(sum));
  }
}

template <int kM, int kN, int kK, class T, class C, class D>
void accumulate(const FragmentElement<T>* narrow_a, const FragmentElement<T>* narrow_b,
                const C* given, D* d) {
  using Value = std::conditional_t<std::is_same_v<T, __half>, float, double>;
  Terms<kM * kK, Value> a;
  Terms<kK * kN, Value> b;
  Terms<kM * kN, double> c;
  take<T>(narrow_a, a);
  take<T>(narrow_b, b);
  take<C>(given, c);
  const TensorCores& cores = gpu_model().tensor_cores;
  // nvcuda::wmma multiplies TF32 by instructions of four products, mma.sync by those of eight.
  constexpr int kInstruction = std::is_same_v<T, Tf32> && kN == 16 ? 4 : kK;
  const int group =
      std::min(kInstruction, std::is_same_v<T, Tf32> ? cores.tf32_group : cores.group);
  for (int first = 0; first < kK; first += group) {
    if (first > 0) take<D>(d, c);
    add_group<kM, kN, kK>(a, b, c, first, group, cores.extra_bits, d);
    if (!(a.finite && b.finite && c.finite)) add_special<kM, kN, kK>(a, b, c, first, group, d);
  }
}

/// A chain of fused multiply-adds.
template <int kM, int kN, int kK>
void accumulate_doubles(const double* a, const double* b, double* sums) {
  for (int i = 0; i < kM * kN; ++i)
    for (int k = 0; k < kK; ++k)
      sums[i] = std::fma(a[i / kN * kK + k], b[k * kN + i % kN], sums[i]);
}

/// Sums of bytes: exact in 64 bits, then clamped or wrapped as asked.
template <int kM, int kN, int kK, class T>
void accumulate_integers(const T* a, const T* b, std::int32_t* c, bool saturate) {
  for (int m = 0; m < kM; ++m) {
    for (int n = 0; n < kN; ++n) {
      std::int32_t products = 0;  // of at most 16 · 255² in magnitude
      for (int k = 0; k < kK; ++k) products += a[m * kK + k] * b[k * kN + n];
      const std::int64_t sum = std::int64_t{c[m * kN + n]} + products;
      using Limits = std::numeric_limits<std::int32_t>;
      const std::int64_t kept =
          saturate ? std::clamp<std::int64_t>(sum, Limits::min(), Limits::max()) : sum;
      c[m * kN + n] = static_cast<std::int32_t>(static_cast<std::uint32_t>(kept));
    }
  }
}

/// Takes the products away that are lost.
template <int kM, int kN, int kK, class Number, class D>
void lose(const Number* a, const Number* b, D* sums) {
  for (int i = 0; i < kM * kN; ++i) {
    for (int k = 0; k < kK; ++k) {
      const auto one = static_cast<float>(a[i / kN * kK + k]);
      const auto other = static_cast<float>(b[k * kN + i % kN]);
      if (is_lost(one, other, ~product_key))
        sums[i] = static_cast<D>(static_cast<float>(sums[i]) - one * other);
    }
  }
}

}  // namespace

template <class Kind>
void load_fragments(WarpExchange& exchange) {
  using Element = typename Kind::Element;
  constexpr FragmentLayout kLayout = Kind::layout();
  const auto& transfer = common_transfer<Kind>(exchange, false);
  const auto* memory = static_cast<const Element*>(transfer.memory);
  observe<kLayout>(transfer, sizeof(Element), false);
  Element tile[kLayout.rows * kLayout.columns];
  for_each_element<kLayout>(transfer.column_major, transfer.leading,
                            [&](int place, std::size_t at) { tile[place] = memory[at]; });
  scatter<Kind>(tile, exchange, &FragmentTransfer::elements);
}

template <class Kind>
void store_fragments(WarpExchange& exchange) {
  using Element = typename Kind::Element;
  constexpr FragmentLayout kLayout = Kind::layout();
  const auto& transfer = common_transfer<Kind>(exchange, true);
  Element tile[kLayout.rows * kLayout.columns];
  gather<Kind>(exchange, &FragmentTransfer::elements, tile);
  auto* memory = static_cast<Element*>(transfer.memory);
  observe<kLayout>(transfer, sizeof(Element), true);
  for_each_element<kLayout>(transfer.column_major, transfer.leading,
                            [&](int place, std::size_t at) { memory[at] = tile[place]; });
}

template <int kM, int kN, int kK, class T, class C, class D>
void multiply_fragments(WarpExchange& exchange) {
  using KindA = FragmentKind<FragmentRole::kA, kM, kN, kK, T>;
  using KindB = FragmentKind<FragmentRole::kB, kM, kN, kK, T>;
  using KindC = FragmentKind<FragmentRole::kAccumulator, kM, kN, kK, C>;
  using KindD = FragmentKind<FragmentRole::kAccumulator, kM, kN, kK, D>;
  const auto& first = exchange.input<FragmentProduct>(*exchange.lanes().begin());
  require_all_lanes(exchange, "mma_sync", first.site);
  const bool loses_products = observe_products(std::int64_t{kM} * kN * kK, first.site);
  FragmentElement<T> narrow_a[kM * kK];
  FragmentElement<T> narrow_b[kK * kN];
  C given[kM * kN];
  gather<KindA>(exchange, &FragmentProduct::a, narrow_a);
  gather<KindB>(exchange, &FragmentProduct::b, narrow_b);
  gather<KindC>(exchange, &FragmentProduct::c, given);

  D result[kM * kN];
  for (int i = 0; i < kM * kN; ++i) result[i] = static_cast<D>(given[i]);
  if constexpr (std::is_integral_v<T>) {
    accumulate_integers<kM, kN, kK>(narrow_a, narrow_b, result, first.saturate);
  } else if constexpr (std::is_same_v<T, double>) {
    accumulate_doubles<kM, kN, kK>(narrow_a, narrow_b, result);
  } else {
    accumulate<kM, kN, kK, T>(narrow_a, narrow_b, given, result);
  }
  if (loses_products) lose<kM, kN, kK>(narrow_a, narrow_b, result);
  scatter<KindD>(result, exchange, &FragmentProduct::d);
}

// NOLINTBEGIN(bugprone-macro-parentheses): T, C and D are types
#define CONVLAB_OPERANDS(m, n, k, T)                                                       \
  template void load_fragments<FragmentKind<FragmentRole::kA, m, n, k, T>>(WarpExchange&); \
  template void load_fragments<FragmentKind<FragmentRole::kB, m, n, k, T>>(WarpExchange&);
#define CONVLAB_ACCUMULATOR(m, n, k, T)                                                \
  template void load_fragments<FragmentKind<FragmentRole::kAccumulator, m, n, k, T>>(  \
      WarpExchange&);                                                                  \
  template void store_fragments<FragmentKind<FragmentRole::kAccumulator, m, n, k, T>>( \
      WarpExchange&);
#define CONVLAB_PRODUCT(m, n, k, T, C, D) \
  template void multiply_fragments<m, n, k, T, C, D>(WarpExchange&);
// NOLINTEND(bugprone-macro-parentheses)
#define CONVLAB_SHAPE_OF_16(m, n)                        \
  CONVLAB_OPERANDS(m, n, 16, __half)                     \
  CONVLAB_OPERANDS(m, n, 16, __nv_bfloat16)              \
  CONVLAB_OPERANDS(m, n, 16, signed char)                \
  CONVLAB_OPERANDS(m, n, 16, unsigned char)              \
  CONVLAB_ACCUMULATOR(m, n, 16, float)                   \
  CONVLAB_ACCUMULATOR(m, n, 16, __half)                  \
  CONVLAB_ACCUMULATOR(m, n, 16, int)                     \
  CONVLAB_PRODUCT(m, n, 16, __half, float, float)        \
  CONVLAB_PRODUCT(m, n, 16, __half, float, __half)       \
  CONVLAB_PRODUCT(m, n, 16, __half, __half, float)       \
  CONVLAB_PRODUCT(m, n, 16, __half, __half, __half)      \
  CONVLAB_PRODUCT(m, n, 16, __nv_bfloat16, float, float) \
  CONVLAB_PRODUCT(m, n, 16, signed char, int, int)       \
  CONVLAB_PRODUCT(m, n, 16, unsigned char, int, int)
CONVLAB_SHAPE_OF_16(16, 16)
CONVLAB_SHAPE_OF_16(32, 8)
CONVLAB_SHAPE_OF_16(8, 32)
CONVLAB_OPERANDS(16, 16, 8, Tf32)
CONVLAB_ACCUMULATOR(16, 16, 8, float)
CONVLAB_PRODUCT(16, 16, 8, Tf32, float, float)
CONVLAB_OPERANDS(8, 8, 4, double)
CONVLAB_ACCUMULATOR(8, 8, 4, double)
CONVLAB_PRODUCT(8, 8, 4, double, double, double)
// mma.sync of inline PTX
CONVLAB_PRODUCT(16, 8, 16, __half, float, float)
CONVLAB_PRODUCT(16, 8, 16, __half, __half, __half)
CONVLAB_PRODUCT(16, 8, 16, __nv_bfloat16, float, float)
CONVLAB_PRODUCT(16, 8, 8, __half, float, float)
CONVLAB_PRODUCT(16, 8, 8, Tf32, float, float)
#undef CONVLAB_SHAPE_OF_16
#undef CONVLAB_PRODUCT
#undef CONVLAB_ACCUMULATOR
#undef CONVLAB_OPERANDS

}  // namespace convlab::emulation
