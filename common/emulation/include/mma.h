#pragma once

// Tensor cores: nvcuda::wmma on the host.
//
// A fragment is the part of a matrix that one lane holds. CUDA leaves open which part; only what
// is done alike to every x[i], or between fragments of one type, has a meaning.
// fragment_layout.hpp tells which distribution is used here.
//
// load_matrix_sync, store_matrix_sync and mma_sync are operations of the whole warp: all 32 lanes
// must call them, with the same address and leading dimension. Addresses and leading dimensions
// must be multiples of 16 bytes. What is added in which order: matrix_operations.hpp.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "common/emulation/include/convlab_emulation/fragment_layout.hpp"

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the names are CUDA's

namespace nvcuda::wmma {

struct row_major;
struct col_major;
struct matrix_a;
struct matrix_b;
struct accumulator;

namespace precision {
using tf32 = convlab::emulation::Tf32;
}

enum layout_t { mem_row_major, mem_col_major };

namespace detail {

using convlab::emulation::CallSite;
using convlab::emulation::FragmentRole;
using convlab::emulation::WarpFunction;

template <class T>
inline constexpr bool is_byte = std::is_same_v<T, signed char> || std::is_same_v<T, unsigned char>;

template <class T>
inline constexpr bool is_narrow = std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;

template <int m, int n, int k>
inline constexpr bool is_shape_of_16 = k == 16 && ((m == 16 && n == 16) || (m == 32 && n == 8) ||
                                                   (m == 8 && n == 32));

/// Whether CUDA has operands of this shape and type.
template <int m, int n, int k, class T>
inline constexpr bool is_operand = (is_shape_of_16<m, n, k> && (is_narrow<T> || is_byte<T>)) ||
                                   (m == 16 && n == 16 && k == 8 &&
                                    std::is_same_v<T, precision::tf32>) ||
                                   (m == 8 && n == 8 && k == 4 && std::is_same_v<T, double>);

template <int m, int n, int k, class T>
inline constexpr bool is_accumulator = (is_shape_of_16<m, n, k> &&
                                        (std::is_same_v<T, float> || std::is_same_v<T, __half> ||
                                         std::is_same_v<T, int>)) ||
                                       (m == 16 && n == 16 && k == 8 && std::is_same_v<T, float>) ||
                                       (m == 8 && n == 8 && k == 4 && std::is_same_v<T, double>);

template <class Use>
inline constexpr FragmentRole role_of = std::is_same_v<Use, matrix_a>
                                            ? FragmentRole::kA
                                            : (std::is_same_v<Use, matrix_b>
                                                   ? FragmentRole::kB
                                                   : FragmentRole::kAccumulator);

template <class Use, int m, int n, int k, class T>
using Kind = convlab::emulation::FragmentKind<role_of<Use>, m, n, k, T>;

/// Lets `function` move the fragment's elements from or to memory, with those of all lanes.
template <class T>
void move_fragment(WarpFunction function, const char* name, const T* memory, unsigned leading,
                   bool column_major, const T* elements, CallSite site) {
  const convlab::emulation::FragmentTransfer transfer{
      name, site, const_cast<T*>(memory), leading, column_major, const_cast<T*>(elements)};
  convlab::emulation::warp_collective({function, name}, convlab::emulation::kFullMask, &transfer,
                                      nullptr, site);
}

}  // namespace detail

/// One lane's part of a matrix.
/// @tparam Use     matrix_a (m × k), matrix_b (k × n) or accumulator (m × n)
/// @tparam T       element type; precision::tf32 keeps floats
/// @tparam Layout  how A or B lies in memory: row_major or col_major; void for an accumulator
template <class Use, int m, int n, int k, class T, class Layout = void>
class alignas(8) fragment {
  static constexpr bool kIsAccumulator = std::is_same_v<Use, accumulator>;
  static_assert(kIsAccumulator || std::is_same_v<Use, matrix_a> || std::is_same_v<Use, matrix_b>,
                "the first argument of a fragment is matrix_a, matrix_b or accumulator");
  static_assert(kIsAccumulator ? detail::is_accumulator<m, n, k, T>
                               : detail::is_operand<m, n, k, T>,
                "CUDA has no fragment of this shape and element type");
  static_assert(kIsAccumulator
                    ? std::is_void_v<Layout>
                    : std::is_same_v<Layout, row_major> || std::is_same_v<Layout, col_major>,
                "matrix_a and matrix_b need row_major or col_major, an accumulator neither");

  using Kind = detail::Kind<Use, m, n, k, T>;

 public:
  using element_type = typename Kind::Element;
  using storage_element_type = element_type;

  static constexpr int num_elements = Kind::layout().elements;
  static constexpr int num_storage_elements = num_elements;

  element_type x[num_elements];
};

/// Every element of the fragment = value.
template <class Use, int m, int n, int k, class T, class Layout>
inline void fill_fragment(
    fragment<Use, m, n, k, T, Layout>& f,
    const convlab::emulation::AsIs<convlab::emulation::FragmentElement<T>>& value) {
  for (auto& element : f.x) element = value;
}

/// Loads A or B; the fragment's type tells the layout in memory.
template <class Use, int m, int n, int k, class T, class Layout>
inline void load_matrix_sync(
    fragment<Use, m, n, k, T, Layout>& f,
    const convlab::emulation::AsIs<convlab::emulation::FragmentElement<T>>* p, unsigned ldm,
    CONVLAB_CALL_SITE) {
  static_assert(!std::is_same_v<Use, accumulator>,
                "an accumulator is loaded with a fourth argument: mem_row_major or mem_col_major");
  detail::move_fragment(&convlab::emulation::load_fragments<detail::Kind<Use, m, n, k, T>>,
                        "load_matrix_sync", p, ldm, std::is_same_v<Layout, col_major>, f.x, site);
}

/// Loads an accumulator.
template <int m, int n, int k, class T>
inline void load_matrix_sync(fragment<accumulator, m, n, k, T>& f,
                             const convlab::emulation::AsIs<T>* p, unsigned ldm, layout_t layout,
                             CONVLAB_CALL_SITE) {
  detail::move_fragment(&convlab::emulation::load_fragments<detail::Kind<accumulator, m, n, k, T>>,
                        "load_matrix_sync", p, ldm, layout == mem_col_major, f.x, site);
}

/// Stores an accumulator.
template <int m, int n, int k, class T>
inline void store_matrix_sync(convlab::emulation::AsIs<T>* p,
                              const fragment<accumulator, m, n, k, T>& f, unsigned ldm,
                              layout_t layout, CONVLAB_CALL_SITE) {
  detail::move_fragment(&convlab::emulation::store_fragments<detail::Kind<accumulator, m, n, k, T>>,
                        "store_matrix_sync", p, ldm, layout == mem_col_major, f.x, site);
}

/// d = a · b + c; d may be c.
template <int m, int n, int k, class T, class LayoutA, class LayoutB, class C, class D>
inline void mma_sync(fragment<accumulator, m, n, k, D>& d,
                     const fragment<matrix_a, m, n, k, T, LayoutA>& a,
                     const fragment<matrix_b, m, n, k, T, LayoutB>& b,
                     const fragment<accumulator, m, n, k, C>& c, bool satf = false,
                     CONVLAB_CALL_SITE) {
  static_assert(
      (detail::is_byte<T> && std::is_same_v<C, int> && std::is_same_v<D, int>) ||
          (std::is_same_v<T, double> && std::is_same_v<C, double>) ||
          (std::is_same_v<T, __half> && !std::is_same_v<C, int> && !std::is_same_v<D, int>) ||
          ((std::is_same_v<T, __nv_bfloat16> ||
            std::is_same_v<T, precision::tf32>)&&std::is_same_v<C, float> &&
           std::is_same_v<D, float>),
      "CUDA has no such product: halves accumulate in float or half, bfloat16 and TF32 "
      "in float, bytes in int");
  const convlab::emulation::FragmentProduct product{site, a.x, b.x, c.x, d.x, satf};
  convlab::emulation::warp_collective(
      {&convlab::emulation::multiply_fragments<m, n, k, T, C, D>, "mma_sync"},
      convlab::emulation::kFullMask, &product, nullptr, site);
}

/// The nearest TF32 number, as a float.
inline float __float_to_tf32(float value) {
  using convlab::emulation::bit_cast;
  return bit_cast<float>(convlab::emulation::to_tf32(bit_cast<std::uint32_t>(value)));
}

}  // namespace nvcuda::wmma

// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
