#pragma once

// Which lane of a warp holds which elements of a matrix fragment.
//
// CUDA leaves the distribution unspecified: a kernel may only do the same to every x[i]. The
// distribution here is the one that an H200 shows, so that a kernel which peeks sees what it would
// see there. Every bit of the lane's number and of the element's index moves the place by a fixed
// step, so ten small steps describe a fragment.
//
//   accumulator 16×16, lane bits → (0,2) (0,4) (1,0) (2,0) (4,0), index bits → (0,1) (8,0) (0,8):
//   lane 0 holds x[0] = (0,0), x[1] = (0,1), x[2] = (8,0), …; lane 1 begins at (0,2).

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <array>
#include <cstddef>
#include <type_traits>

#include "common/emulation/include/convlab_emulation/collective.hpp"

namespace convlab::emulation {

enum class FragmentRole { kA, kB, kAccumulator };

/// Shape of one warp-wide product: D (m × n) = A (m × k) · B (k × n) + C (m × n).
struct FragmentShape {
  int m;
  int n;
  int k;
};

/// How one matrix is spread over 32 lanes.
struct FragmentLayout {
  struct Step {
    int row = 0;
    int column = 0;
  };

  int rows = 0;
  int columns = 0;
  int elements = 0;  ///< x[] of one lane
  int distinct = 0;  ///< of these, how many are not repetitions: x[i + distinct] is x[i] again
  std::array<Step, 5> lane_steps{};
  std::array<Step, 4> element_steps{};

  /// Row-major index of element x[element] of a lane in its matrix.
  [[nodiscard]] constexpr int index(int lane, int element) const {
    int place = 0;
    const auto walk = [&](const auto& steps, int bits) {
      for (const Step& step : steps) {
        if ((bits & 1) != 0) place += step.row * columns + step.column;
        bits >>= 1;
      }
    };
    walk(lane_steps, lane);
    walk(element_steps, element);
    return place;
  }
};

/// Layout of A (m × k) or B (k × n). Both are seen as `outer` rows along m or n and an inner
/// direction along k, of which a lane holds one 32-bit word at a time.
/// @param element_bytes  1, 2, 4 or 8
/// @param elements       x[] per lane; more than the matrix has means repetitions
constexpr FragmentLayout operand_layout(FragmentRole role, FragmentShape shape, int element_bytes,
                                        int elements) {
  const bool is_a = role == FragmentRole::kA;
  const int outer = is_a ? shape.m : shape.n;
  const int per_word = element_bytes >= 4 ? 1 : 4 / element_bytes;
  const auto inner_step = [&](int by) {
    return is_a ? FragmentLayout::Step{0, by} : FragmentLayout::Step{by, 0};
  };
  const auto outer_step = [&](int by) {
    return is_a ? FragmentLayout::Step{by, 0} : FragmentLayout::Step{0, by};
  };

  FragmentLayout layout;
  layout.rows = is_a ? shape.m : shape.k;
  layout.columns = is_a ? shape.k : shape.n;
  layout.elements = elements;
  layout.lane_steps = {inner_step(per_word), inner_step(2 * per_word), outer_step(1), outer_step(2),
                       outer_step(4)};
  std::size_t bits = 0;
  for (int by = 1; by < per_word; by *= 2) layout.element_steps[bits++] = inner_step(by);
  const bool inner_first = !is_a && outer == 16;
  const bool second_word = 4 * per_word < shape.k;
  if (second_word && inner_first) layout.element_steps[bits++] = inner_step(4 * per_word);
  if (outer >= 16) layout.element_steps[bits++] = outer_step(8);
  if (second_word && !inner_first) layout.element_steps[bits++] = inner_step(4 * per_word);
  if (outer >= 32) layout.element_steps[bits++] = outer_step(16);
  layout.distinct = 1 << bits;
  return layout;
}

/// Layout of C and D (m × n). The 8×32 one is the 32×8 one turned over.
constexpr FragmentLayout accumulator_layout(FragmentShape shape) {
  const bool turned = shape.m < shape.n;
  const int longer = turned ? shape.n : shape.m;
  const auto along = [&](int by) {
    return turned ? FragmentLayout::Step{0, by} : FragmentLayout::Step{by, 0};
  };
  const auto across = [&](int by) {
    return turned ? FragmentLayout::Step{by, 0} : FragmentLayout::Step{0, by};
  };

  FragmentLayout layout;
  layout.rows = shape.m;
  layout.columns = shape.n;
  layout.elements = shape.m * shape.n / 32;
  layout.distinct = layout.elements;
  layout.lane_steps = {across(2), across(4), along(1), along(2), along(4)};
  std::size_t bits = 0;
  layout.element_steps[bits++] = across(1);
  if (longer >= 16) layout.element_steps[bits++] = along(8);
  if (longer >= 32) layout.element_steps[bits++] = along(16);
  if (shape.m == 16 && shape.n == 16) layout.element_steps[bits++] = across(8);
  return layout;
}

// The warp-wide operations behind nvcuda::wmma: load, store, multiply-accumulate. Each is a
// WarpFunction that sees all 32 lanes at once; mma.h posts the lanes' operands. Compiled once, in
// common/emulation/matrix.

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
