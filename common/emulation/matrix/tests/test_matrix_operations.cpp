// Fragments without a scheduler: the tests call each lane of the warp in turn.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "common/base/testing/catch.hpp"
#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/matrix_operations.hpp"

namespace convlab::emulation {

/// The scheduler's part: here a failing kernel is an exception.
struct KernelFailure {
  KernelFault fault;
  std::string message;
};

void observe_warp(const void*, std::size_t, bool, const CallSite&) {}
void observe_products(long long, const CallSite&) {}

void fail_kernel(KernelFault fault, const char* message, CallSite) {
  throw KernelFailure{fault, message};
}

}  // namespace convlab::emulation

namespace {

using namespace convlab::emulation;

/// The x[] of all 32 lanes.
template <class Kind>
using Lanes = std::array<std::array<typename Kind::Element, Kind::layout().elements>, kWarpSize>;

template <class Kind>
void transfer(WarpFunction function, Lanes<Kind>& lanes, void* memory, unsigned leading,
              bool column_major, std::uint32_t present = kFullMask) {
  WarpExchange exchange;
  exchange.mask = kFullMask;
  exchange.present = present;
  std::array<FragmentTransfer, kWarpSize> inputs;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    inputs[lane] = {"load_matrix_sync", {}, memory, leading, column_major, lanes[lane].data()};
    exchange.inputs[lane] = &inputs[lane];
  }
  function(exchange);
}

template <int kM, int kN, int kK, class T, class C, class D, class LanesA, class LanesB,
          class LanesC, class LanesD>
void multiply(const LanesA& a, const LanesB& b, const LanesC& c, LanesD& d, bool saturate = false) {
  WarpExchange exchange;
  exchange.mask = kFullMask;
  exchange.present = kFullMask;
  std::array<FragmentProduct, kWarpSize> inputs;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    inputs[lane] = {{}, a[lane].data(), b[lane].data(), c[lane].data(), d[lane].data(), saturate};
    exchange.inputs[lane] = &inputs[lane];
  }
  multiply_fragments<kM, kN, kK, T, C, D>(exchange);
}

/// A matrix in memory with a padded leading dimension.
template <class T>
struct Matrix {
  int rows;
  int columns;
  bool column_major;
  unsigned leading;
  std::vector<T> storage;  // begins on a multiple of 16 bytes, as every allocation does

  Matrix(int row_count, int column_count, bool by_columns)
      : rows(row_count),
        columns(column_count),
        column_major(by_columns),
        leading(static_cast<unsigned>(((by_columns ? row_count : column_count) + 31) / 16 * 16)),
        storage(leading * static_cast<std::size_t>(by_columns ? column_count : row_count), T{}) {}

  T& at(int row, int column) {
    return storage[column_major ? row + leading * static_cast<std::size_t>(column)
                                : column + leading * static_cast<std::size_t>(row)];
  }
};

template <class T, class Random>
T small_integer(Random& random) {
  const int value = static_cast<int>(random() % 9);
  if constexpr (std::is_same_v<T, unsigned char>) return static_cast<T>(value);
  if constexpr (std::is_integral_v<T>) return static_cast<T>(value - 4);
  return static_cast<T>(static_cast<float>(value - 4));
}

/// Loads random small integers in every pair of layouts, multiplies, stores, and counts elements
/// that differ from the three loops. All sums are exact, so any order gives them.
template <int kM, int kN, int kK, class T, class C, class D>
int wrong_products() {
  using KindA = FragmentKind<FragmentRole::kA, kM, kN, kK, T>;
  using KindB = FragmentKind<FragmentRole::kB, kM, kN, kK, T>;
  using KindC = FragmentKind<FragmentRole::kAccumulator, kM, kN, kK, C>;
  using KindD = FragmentKind<FragmentRole::kAccumulator, kM, kN, kK, D>;
  std::mt19937 random(5);
  int wrong = 0;
  for (int layouts = 0; layouts < 16; ++layouts) {
    Matrix<FragmentElement<T>> a(kM, kK, (layouts & 1) != 0);
    Matrix<FragmentElement<T>> b(kK, kN, (layouts & 2) != 0);
    Matrix<C> c(kM, kN, (layouts & 4) != 0);
    Matrix<D> d(kM, kN, (layouts & 8) != 0);
    for (auto& value : a.storage) value = small_integer<FragmentElement<T>>(random);
    for (auto& value : b.storage) value = small_integer<FragmentElement<T>>(random);
    for (auto& value : c.storage) value = small_integer<C>(random);
    Lanes<KindA> lanes_a;
    Lanes<KindB> lanes_b;
    Lanes<KindC> lanes_c;
    Lanes<KindD> lanes_d;
    transfer<KindA>(&load_fragments<KindA>, lanes_a, a.storage.data(), a.leading, a.column_major);
    transfer<KindB>(&load_fragments<KindB>, lanes_b, b.storage.data(), b.leading, b.column_major);
    transfer<KindC>(&load_fragments<KindC>, lanes_c, c.storage.data(), c.leading, c.column_major);
    multiply<kM, kN, kK, T, C, D>(lanes_a, lanes_b, lanes_c, lanes_d);
    transfer<KindD>(&store_fragments<KindD>, lanes_d, d.storage.data(), d.leading, d.column_major);
    for (int m = 0; m < kM; ++m) {
      for (int n = 0; n < kN; ++n) {
        double sum = static_cast<double>(static_cast<float>(c.at(m, n)));
        for (int k = 0; k < kK; ++k) {
          sum += static_cast<double>(static_cast<float>(a.at(m, k))) *
                 static_cast<double>(static_cast<float>(b.at(k, n)));
        }
        wrong += static_cast<double>(static_cast<float>(d.at(m, n))) == sum ? 0 : 1;
      }
    }
  }
  return wrong;
}

template <class Kind>
bool holds_every_place_once() {
  constexpr FragmentLayout layout = Kind::layout();
  std::set<int> places;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    for (int i = 0; i < layout.distinct; ++i) places.insert(layout.index(lane, i));
    for (int i = layout.distinct; i < layout.elements; ++i) {
      if (layout.index(lane, i) != layout.index(lane, i - layout.distinct)) return false;
    }
  }
  return static_cast<int>(places.size()) == layout.rows * layout.columns &&
         kWarpSize * layout.distinct == layout.rows * layout.columns && *places.begin() == 0 &&
         *places.rbegin() == layout.rows * layout.columns - 1;
}

template <int kM, int kN, int kK, class T>
bool operands_hold_every_place_once() {
  return holds_every_place_once<FragmentKind<FragmentRole::kA, kM, kN, kK, T>>() &&
         holds_every_place_once<FragmentKind<FragmentRole::kB, kM, kN, kK, T>>();
}

using A16 = FragmentKind<FragmentRole::kA, 16, 16, 16, __half>;
using B16 = FragmentKind<FragmentRole::kB, 16, 16, 16, __half>;
using Sum16 = FragmentKind<FragmentRole::kAccumulator, 16, 16, 16, float>;
using HalfSum16 = FragmentKind<FragmentRole::kAccumulator, 16, 16, 16, __half>;

/// A16 or B16 with one row, or column, of given values and zeros elsewhere.
template <class Kind>
Lanes<Kind> line_of(const std::vector<float>& values, bool is_row) {
  Matrix<__half> matrix(16, 16, false);
  for (int i = 0; i < static_cast<int>(values.size()); ++i) {
    (is_row ? matrix.at(0, i) : matrix.at(i, 0)) = values[static_cast<std::size_t>(i)];
  }
  Lanes<Kind> lanes;
  transfer<Kind>(&load_fragments<Kind>, lanes, matrix.storage.data(), matrix.leading, false);
  return lanes;
}

}  // namespace

TEST_CASE("fragments: every element of a matrix lies in one place") {
  CHECK(operands_hold_every_place_once<16, 16, 16, __half>());
  CHECK(operands_hold_every_place_once<32, 8, 16, __half>());
  CHECK(operands_hold_every_place_once<8, 32, 16, __half>());
  CHECK(operands_hold_every_place_once<16, 16, 16, __nv_bfloat16>());
  CHECK(operands_hold_every_place_once<32, 8, 16, __nv_bfloat16>());
  CHECK(operands_hold_every_place_once<8, 32, 16, __nv_bfloat16>());
  CHECK(operands_hold_every_place_once<16, 16, 16, signed char>());
  CHECK(operands_hold_every_place_once<32, 8, 16, unsigned char>());
  CHECK(operands_hold_every_place_once<8, 32, 16, unsigned char>());
  CHECK(operands_hold_every_place_once<16, 16, 8, Tf32>());
  CHECK(operands_hold_every_place_once<8, 8, 4, double>());
  CHECK(holds_every_place_once<FragmentKind<FragmentRole::kAccumulator, 16, 16, 16, float>>());
  CHECK(holds_every_place_once<FragmentKind<FragmentRole::kAccumulator, 32, 8, 16, float>>());
  CHECK(holds_every_place_once<FragmentKind<FragmentRole::kAccumulator, 8, 32, 16, float>>());
  CHECK(holds_every_place_once<FragmentKind<FragmentRole::kAccumulator, 8, 8, 4, double>>());
}

TEST_CASE("fragments: lanes hold what they hold on an H200") {
  // Row-major indices read off the hardware, lane by lane.
  constexpr FragmentLayout sum = Sum16::layout();
  CHECK(sum.index(0, 1) == 1);
  CHECK(sum.index(0, 2) == 8 * 16);
  CHECK(sum.index(0, 4) == 8);
  CHECK(sum.index(5, 0) == 1 * 16 + 2);
  CHECK(sum.index(31, 7) == 15 * 16 + 15);
  constexpr FragmentLayout tall = FragmentKind<FragmentRole::kA, 32, 8, 16, __half>::layout();
  CHECK(tall.index(0, 8) == 16 * 16);
  CHECK(tall.index(6, 5) == 1 * 16 + 4 + 8 + 1);
  constexpr FragmentLayout wide = FragmentKind<FragmentRole::kB, 8, 32, 16, __half>::layout();
  CHECK(wide.index(0, 2) == 8);
  CHECK(wide.index(0, 4) == 8 * 32);
  CHECK(wide.index(1, 0) == 2 * 32);
  constexpr FragmentLayout square_b = B16::layout();
  CHECK(square_b.index(0, 2) == 8 * 16);
  CHECK(square_b.index(0, 4) == 8);
  constexpr FragmentLayout tf32 = FragmentKind<FragmentRole::kA, 16, 16, 8, Tf32>::layout();
  CHECK(tf32.index(0, 1) == 8 * 8);
  CHECK(tf32.index(3, 2) == 3 + 4);
}

TEST_CASE("fragments: products of small integers are exact in every shape, type and layout") {
  CHECK(wrong_products<16, 16, 16, __half, float, float>() == 0);
  CHECK(wrong_products<32, 8, 16, __half, float, float>() == 0);
  CHECK(wrong_products<8, 32, 16, __half, float, float>() == 0);
  CHECK(wrong_products<16, 16, 16, __half, __half, __half>() == 0);
  CHECK(wrong_products<32, 8, 16, __half, float, __half>() == 0);
  CHECK(wrong_products<8, 32, 16, __half, __half, float>() == 0);
  CHECK(wrong_products<16, 16, 16, __nv_bfloat16, float, float>() == 0);
  CHECK(wrong_products<32, 8, 16, __nv_bfloat16, float, float>() == 0);
  CHECK(wrong_products<8, 32, 16, __nv_bfloat16, float, float>() == 0);
  CHECK(wrong_products<16, 16, 8, Tf32, float, float>() == 0);
  CHECK(wrong_products<16, 16, 16, signed char, int, int>() == 0);
  CHECK(wrong_products<32, 8, 16, unsigned char, int, int>() == 0);
  CHECK(wrong_products<8, 32, 16, signed char, int, int>() == 0);
  CHECK(wrong_products<8, 8, 4, double, double, double>() == 0);
}

TEST_CASE("fragments: float sums grow in the order of k, half sums are rounded once") {
  // 1 + 2^-24 + 2^-24 + …: each term alone is lost in a float sum that begins with 1; in the other
  // order they would add up.
  std::vector<float> terms(16, 0x1p-12F);
  terms[0] = 1.0F;
  std::vector<float> ones(16, 0x1p-12F);
  ones[0] = 1.0F;
  Lanes<Sum16> sum{};
  Lanes<Sum16> zero{};
  multiply<16, 16, 16, __half, float, float>(line_of<A16>(terms, true), line_of<B16>(ones, false),
                                             zero, sum);
  CHECK(sum[0][0] == 1.0F);
  std::swap(terms[0], terms[15]);
  std::swap(ones[0], ones[15]);
  multiply<16, 16, 16, __half, float, float>(line_of<A16>(terms, true), line_of<B16>(ones, false),
                                             zero, sum);
  CHECK(sum[0][0] == 1.0F + 15 * 0x1p-24F + 0x1p-24F);

  // 2048 + 1 + 1 is 2050 in a float sum; rounding to half at each step would stay at 2048.
  Lanes<HalfSum16> start{};
  Lanes<HalfSum16> result{};
  start[0][0] = 2048.0F;
  multiply<16, 16, 16, __half, __half, __half>(line_of<A16>({1.0F, 1.0F}, true),
                                               line_of<B16>({1.0F, 1.0F}, false), start, result);
  CHECK(static_cast<float>(result[0][0]) == 2050.0F);
}

TEST_CASE("fragments: TF32 operands lose their low bits") {
  using A = FragmentKind<FragmentRole::kA, 16, 16, 8, Tf32>;
  using B = FragmentKind<FragmentRole::kB, 16, 16, 8, Tf32>;
  using Sum = FragmentKind<FragmentRole::kAccumulator, 16, 16, 8, float>;
  Lanes<A> a{};
  Lanes<B> b{};
  Lanes<Sum> c{};
  Lanes<Sum> d{};
  a[0][0] = 1.0F + 0x1p-10F + 0x1p-11F + 0x1p-23F;
  b[0][0] = -3.0F;
  multiply<16, 16, 8, Tf32, float, float>(a, b, c, d);
  CHECK(d[0][0] == -3.0F * (1.0F + 0x1p-10F));
}

TEST_CASE("fragments: integer sums wrap round or stop at the limits") {
  using A = FragmentKind<FragmentRole::kA, 16, 16, 16, unsigned char>;
  using B = FragmentKind<FragmentRole::kB, 16, 16, 16, unsigned char>;
  using Sum = FragmentKind<FragmentRole::kAccumulator, 16, 16, 16, int>;
  Lanes<A> a{};
  Lanes<B> b{};
  Lanes<Sum> c{};
  Lanes<Sum> d{};
  a[0][0] = 255;
  b[0][0] = 255;
  c[0][0] = std::numeric_limits<int>::max();
  multiply<16, 16, 16, unsigned char, int, int>(a, b, c, d, true);
  CHECK(d[0][0] == std::numeric_limits<int>::max());
  multiply<16, 16, 16, unsigned char, int, int>(a, b, c, d, false);
  CHECK(d[0][0] == std::numeric_limits<int>::min() + 255 * 255 - 1);
}

TEST_CASE("fragments: what the hardware would not take is refused in words") {
  Matrix<float> matrix(16, 16, false);
  Lanes<Sum16> lanes{};
  const auto message = [&](void* memory, unsigned leading, std::uint32_t present) -> std::string {
    try {
      transfer<Sum16>(&load_fragments<Sum16>, lanes, memory, leading, false, present);
    } catch (const KernelFailure& failure) {
      return failure.message;
    }
    return "";
  };
  CHECK(message(matrix.storage.data(), 32, kFullMask).empty());
  CHECK(message(matrix.storage.data() + 1, 32, kFullMask) ==
        "load_matrix_sync: the address must be a multiple of 16 bytes (it is 4 above one) and so "
        "must the leading dimension (32 elements are 128 bytes)");
  CHECK(message(matrix.storage.data(), 18, kFullMask).find("18 elements are 72 bytes") !=
        std::string::npos);
  CHECK(message(matrix.storage.data(), 8, kFullMask) ==
        "load_matrix_sync: the leading dimension is 8, less than the 16 elements of a line of the "
        "fragment");
  CHECK(message(matrix.storage.data(), 32, 0x0000ffffU) ==
        "load_matrix_sync needs all 32 lanes of the warp, but only the lanes of mask 0x0000ffff "
        "are there");

  WarpExchange exchange;
  exchange.mask = kFullMask;
  exchange.present = kFullMask;
  std::array<FragmentTransfer, kWarpSize> inputs;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    float* memory = matrix.storage.data() + (lane == 7 ? 4 : 0);
    inputs[lane] = {"load_matrix_sync", {}, memory, 32, false, lanes[lane].data()};
    exchange.inputs[lane] = &inputs[lane];
  }
  CHECK_THROWS_AS(load_fragments<Sum16>(exchange), KernelFailure);
}
