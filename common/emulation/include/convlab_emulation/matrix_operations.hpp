#pragma once

// The warp-wide operations behind nvcuda::wmma: load, store, multiply-accumulate. Each is a
// WarpFunction that sees all 32 lanes at once; mma.h posts the lanes' operands. Compiled once, in
// common/emulation/matrix.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/fragment_layout.hpp"

namespace convlab::emulation {

/// Names the TF32 element type; its values are kept in floats.
struct Tf32;

/// What a fragment of T keeps in x[].
template <class T>
using FragmentElement = std::conditional_t<std::is_same_v<T, Tf32>, float, T>;

/// Role, shape and element type of a fragment, and what follows from them.
template <FragmentRole kRole, int kM, int kN, int kK, class T>
struct FragmentKind {
  using Element = FragmentElement<T>;

  static constexpr FragmentLayout layout() {
    if (kRole == FragmentRole::kAccumulator) return accumulator_layout({kM, kN, kK});
    // NOLINTNEXTLINE(bugprone-branch-clone): the same only where a fragment is square
    const int outer = kRole == FragmentRole::kA ? kM : kN;
    // An operand of halves always has 16 elements; the hardware repeats what is missing.
    const int elements = std::is_same_v<T, __half> ? 16 : outer * kK / 32;
    return operand_layout(kRole, {kM, kN, kK}, static_cast<int>(sizeof(Element)), elements);
  }
};

/// What a lane posts to load or store a fragment.
struct FragmentTransfer {
  const char* name;  ///< as the student wrote it
  CallSite site;
  void* memory;      ///< the matrix; only read by a load
  unsigned leading;  ///< elements from one row, or column, to the next
  bool column_major;
  void* elements;  ///< x[]; only read by a store
};

/// What a lane posts to multiply: pointers to the x[] of its four fragments.
struct FragmentProduct {
  CallSite site;
  const void* a;
  const void* b;
  const void* c;
  void* d;
  bool saturate;  ///< integers: clamp instead of wrapping round
};

/// Fills every lane's x[] from memory.
template <class Kind>
void load_fragments(WarpExchange& exchange);

/// Writes every lane's x[] to memory.
template <class Kind>
void store_fragments(WarpExchange& exchange);

/// D = A · B + C. A product of two elements is exact; to c, which is converted to float, the
/// products are added in the order k = 0, 1, … with one float rounding each; a half result is
/// rounded once, at the end. TF32 operands lose the 13 low bits of their fractions first. Integers
/// are exact, doubles are rounded after each product and each sum.
/// @tparam T  element type of A and B, C that of c, D that of d
template <int kM, int kN, int kK, class T, class C, class D>
void multiply_fragments(WarpExchange& exchange);

}  // namespace convlab::emulation
