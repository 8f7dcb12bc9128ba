// The warp-wide operations of nvcuda::wmma.
//
// Idea     All lanes wait, so their fragments can be put together: a product gathers A and B into
//          dense float tiles, multiplies them with plain loops that the compiler turns into vector
//          instructions over a row of C, and hands the elements back.
// Cost     about half a microsecond for 16×16×16 halves, of which the arithmetic is one half.
// Order    The k loop is outside the row's: every element of C gets its products in the order
//          k = 0, 1, …, whatever the vector width. No product is fused into the sum.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>

#include "common/emulation/include/convlab_emulation/fragment_layout.hpp"
#include "common/emulation/runtime/observer.hpp"

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
template <class Kind>
const FragmentTransfer& common_transfer(const WarpExchange& exchange) {
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
  const std::size_t pitch = first.leading * kElementBytes;
  if (pitch % 16 != 0 || reinterpret_cast<std::uintptr_t>(first.memory) % 16 != 0) {
    fail_kernel(KernelFault::kMisalignedAddress, first.site,
                "%s: the address must be a multiple of 16 bytes (it is %zu above one) and so must "
                "the leading dimension (%u elements are %zu bytes)",
                first.name,
                static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(first.memory) % 16),
                first.leading, pitch);
  }
  const int line_length = first.column_major ? Kind::layout().rows : Kind::layout().columns;
  if (first.leading < static_cast<unsigned>(line_length)) {
    fail_kernel(
        KernelFault::kLaunchFailure, first.site,
        "%s: the leading dimension is %u, less than the %d elements of a line of the fragment",
        first.name, first.leading, line_length);
  }
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

// What a product computes with: float for the narrow types, int for bytes, double for doubles.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double,
                                std::conditional_t<std::is_integral_v<T>, std::int32_t, float>>;

template <class T>
void widen(const FragmentElement<T>* from, Wide<T>* to, int count) {
  if constexpr (std::is_same_v<T, Tf32>) {
    for (int i = 0; i < count; ++i)
      to[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(from[i]) & 0xffff'e000U);
  } else if constexpr (std::is_same_v<T, __half>) {
    // By bits: a loop over the class is not turned into vector instructions.
    std::uint16_t bits[kWarpSize * 16];
    std::memcpy(bits, from, static_cast<std::size_t>(count) * sizeof *bits);
    for (int i = 0; i < count; ++i) to[i] = decode<HalfFormat>(bits[i]);
  } else {
    // NOLINTNEXTLINE(bugprone-signed-char-misuse): a byte is a number here, with its sign
    for (int i = 0; i < count; ++i) to[i] = static_cast<Wide<T>>(from[i]);
  }
}

/// Two rows of C at once, so that a row of B is read half as often.
template <int kM, int kN, int kK, class T>
void accumulate(const T* a, const T* b, T* c) {
  using Row [[gnu::vector_size(kN * sizeof(T))]] = T;
  for (int m = 0; m < kM; m += 2, a += 2 * kK, c += 2 * kN) {
    Row upper;
    Row lower;
    std::memcpy(&upper, c, sizeof upper);
    std::memcpy(&lower, c + kN, sizeof lower);
    for (int k = 0; k < kK; ++k) {
      Row row;
      std::memcpy(&row, b + k * kN, sizeof row);
      upper += a[k] * row;
      lower += a[kK + k] * row;
    }
    std::memcpy(c, &upper, sizeof upper);
    std::memcpy(c + kN, &lower, sizeof lower);
  }
}

/// Sums of bytes: exact in 64 bits, then clamped or wrapped as asked.
template <int kM, int kN, int kK>
void accumulate_integers(const std::int32_t* a, const std::int32_t* b, std::int32_t* c,
                         bool saturate) {
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

}  // namespace

template <class Kind>
void load_fragments(WarpExchange& exchange) {
  using Element = typename Kind::Element;
  constexpr FragmentLayout kLayout = Kind::layout();
  const auto& transfer = common_transfer<Kind>(exchange);
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
  const auto& transfer = common_transfer<Kind>(exchange);
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
  using Sum = Wide<D>;
  const auto& first = exchange.input<FragmentProduct>(*exchange.lanes().begin());
  require_all_lanes(exchange, "mma_sync", first.site);
  const bool adds = observe_products(std::int64_t{kM} * kN * kK, first.site);
  FragmentElement<T> narrow_a[kM * kK];
  FragmentElement<T> narrow_b[kK * kN];
  C given[kM * kN];
  gather<KindA>(exchange, &FragmentProduct::a, narrow_a);
  gather<KindB>(exchange, &FragmentProduct::b, narrow_b);
  gather<KindC>(exchange, &FragmentProduct::c, given);

  Wide<T> a[kM * kK];
  Wide<T> b[kK * kN];
  Sum sums[kM * kN];
  widen<T>(narrow_a, a, kM * kK);
  widen<T>(narrow_b, b, kK * kN);
  widen<C>(given, sums, kM * kN);
  if (!adds) {
    // The sums stay as they were.
  } else if constexpr (std::is_integral_v<T>) {
    accumulate_integers<kM, kN, kK>(a, b, sums, first.saturate);
  } else {
    accumulate<kM, kN, kK>(a, b, sums);
  }

  D result[kM * kN];
  for (int i = 0; i < kM * kN; ++i) result[i] = static_cast<D>(sums[i]);
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
