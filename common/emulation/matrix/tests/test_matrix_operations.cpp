// Fragments without a scheduler: the tests call each lane of the warp in turn. Shapes, types and
// layouts are compared with a GPU in common/emulation/tests/features/tensor_cores.cu.

#include <cuda_fp16.h>

#include <array>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "common/base/tests/support/catch.hpp"
#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/fragment_layout.hpp"

namespace convlab::emulation {

/// The scheduler's part: here a failing kernel is an exception.
struct KernelFailure {
  KernelFault fault;
  std::string message;
};

void observe_warp(const void*, std::size_t, std::size_t, bool, const CallSite&) {}
bool observe_products(long long, const CallSite&) {
  return true;
}

void fail_kernel(KernelFault fault, CallSite, const char* format, ...) {
  std::array<char, 512> message;
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(message.data(), message.size(), format, values);
  va_end(values);
  throw KernelFailure{fault, message.data()};
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

/// A matrix of 16 rows in memory with a padded leading dimension.
template <class T>
struct Matrix {
  static constexpr unsigned leading = 32;
  std::vector<T> storage = std::vector<T>(16 * leading, T{});  // aligned, as every allocation is

  T& at(int row, int column) {
    return storage[static_cast<std::size_t>(row) * leading + static_cast<std::size_t>(column)];
  }
};

using A16 = FragmentKind<FragmentRole::kA, 16, 16, 16, __half>;
using B16 = FragmentKind<FragmentRole::kB, 16, 16, 16, __half>;
using Sum16 = FragmentKind<FragmentRole::kAccumulator, 16, 16, 16, float>;
using HalfSum16 = FragmentKind<FragmentRole::kAccumulator, 16, 16, 16, __half>;

/// A16 or B16 with one row, or column, of given values and zeros elsewhere.
template <class Kind>
Lanes<Kind> line_of(const std::vector<float>& values, bool is_row) {
  Matrix<__half> matrix;
  for (int i = 0; i < static_cast<int>(values.size()); ++i) {
    (is_row ? matrix.at(0, i) : matrix.at(i, 0)) = values[static_cast<std::size_t>(i)];
  }
  Lanes<Kind> lanes;
  transfer<Kind>(&load_fragments<Kind>, lanes, matrix.storage.data(), matrix.leading, false);
  return lanes;
}

}  // namespace

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
  Matrix<float> matrix;
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
