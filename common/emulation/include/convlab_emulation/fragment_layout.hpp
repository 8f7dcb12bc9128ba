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

/// Layout of a matrix that consists of `outer` lines, rows or columns, of `inner` elements. A lane
/// holds `per_word` neighbours of a line, and as many four words further on.
/// @param inner_first  whether those come before the elements of the lane's other lines
constexpr FragmentLayout spread(bool lines_are_rows, int outer, int inner, int per_word,
                                bool inner_first) {
  const auto inner_step = [&](int by) {
    return lines_are_rows ? FragmentLayout::Step{0, by} : FragmentLayout::Step{by, 0};
  };
  const auto outer_step = [&](int by) {
    return lines_are_rows ? FragmentLayout::Step{by, 0} : FragmentLayout::Step{0, by};
  };
  FragmentLayout layout;
  layout.rows = lines_are_rows ? outer : inner;
  layout.columns = lines_are_rows ? inner : outer;
  layout.lane_steps = {inner_step(per_word), inner_step(2 * per_word), outer_step(1), outer_step(2),
                       outer_step(4)};
  std::size_t bits = 0;
  for (int by = 1; by < per_word; by *= 2) layout.element_steps[bits++] = inner_step(by);
  const bool second_word = 4 * per_word < inner;
  if (second_word && inner_first) layout.element_steps[bits++] = inner_step(4 * per_word);
  if (outer >= 16) layout.element_steps[bits++] = outer_step(8);
  if (second_word && !inner_first) layout.element_steps[bits++] = inner_step(4 * per_word);
  if (outer >= 32) layout.element_steps[bits++] = outer_step(16);
  layout.elements = layout.distinct = 1 << bits;
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
  static constexpr FragmentRole role = kRole;

  static constexpr FragmentLayout layout() {
    // The sums of 8×32 are those of 32×8 turned over.
    if (kRole == FragmentRole::kAccumulator)
      return spread(kM >= kN, kM >= kN ? kM : kN, kM >= kN ? kN : kM, 2, false);
    constexpr bool kIsA = kRole == FragmentRole::kA;
    constexpr int kPerWord = sizeof(Element) >= 4 ? 1 : 4 / sizeof(Element);
    FragmentLayout layout = spread(kIsA, kIsA ? kM : kN, kK, kPerWord, !kIsA && kN == 16);
    // An operand of halves always has 16 elements; the hardware repeats what is missing.
    if (std::is_same_v<T, __half>) layout.elements = 16;
    return layout;
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

/// Fails the kernel unless all lanes take part. @param name  as the student wrote it
// Where it is inlined, g++ warns of what would happen if no lane took part.
[[gnu::noinline]] inline void require_all_lanes(const WarpExchange& exchange, const char* name,
                                                CallSite site) {
  if (exchange.present == kFullMask) return;
  fail_kernel(KernelFault::kLaunchFailure, site,
              "%s needs all 32 lanes of the warp, but only the lanes of mask 0x%08x are there",
              name, static_cast<unsigned>(exchange.present));
}

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
