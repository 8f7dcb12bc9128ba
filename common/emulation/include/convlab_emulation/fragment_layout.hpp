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

#include <array>
#include <cstddef>
#include <cstdint>

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

}  // namespace convlab::emulation
