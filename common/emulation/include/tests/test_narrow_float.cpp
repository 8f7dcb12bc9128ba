// Half and bfloat16 against double arithmetic. The same file is compiled with and without F16C
// instructions; both must yield the same bits.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>

#include "common/base/testing/catch.hpp"
#include "common/emulation/include/tests/narrow_reference.hpp"

namespace {

using convlab::emulation::testing::NarrowTable;
using convlab::emulation::testing::telling_patterns;

struct Half {
  using Type = __half;
  using Raw = __half_raw;
  static const NarrowTable& table() {
    static const NarrowTable narrow_table(5, 10);
    return narrow_table;
  }
};

struct Bfloat16 {
  using Type = __nv_bfloat16;
  using Raw = __nv_bfloat16_raw;
  static const NarrowTable& table() {
    static const NarrowTable narrow_table(8, 7);
    return narrow_table;
  }
};

template <class Family>
typename Family::Type from_bits(int bits) {
  return typename Family::Raw{static_cast<unsigned short>(bits)};
}

template <class Family>
std::uint16_t bits_of(typename Family::Type value) {
  return static_cast<typename Family::Raw>(value).x;
}

bool same_value_and_sign(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

/// Runs `operation` on every first operand and the telling second ones and counts results that
/// differ from `reference`, a function of the operands' exact values.
template <class Family, class Operation, class Reference>
int sweep(Operation operation, Reference reference, int random_count = 20) {
  const NarrowTable& table = Family::table();
  int wrong = 0;
  for (const std::uint16_t second : telling_patterns(table, random_count)) {
    for (int first = 0; first <= 0xffff; ++first) {
      const std::uint16_t got =
          bits_of<Family>(operation(from_bits<Family>(first), from_bits<Family>(second)));
      const std::uint16_t expected =
          reference(table.value(static_cast<std::uint16_t>(first)), table.value(second));
      wrong += got != expected ? 1 : 0;
    }
  }
  return wrong;
}

/// The exact sum of two doubles as a rounded sum and what that lost (Knuth).
struct ExactSum {
  double sum;
  double rest;
  ExactSum(double a, double b) : sum(a + b) {
    const double b_part = sum - a;
    const double a_part = sum - b_part;
    rest = (a - a_part) + (b - b_part);
  }
};

template <class Family>
std::uint16_t expected_sum(double a, double b) {
  const ExactSum exact(a, b);
  if (std::isnan(exact.sum)) return 0x7fff;
  if (std::isinf(exact.sum)) return Family::table().nearest_to(exact.sum);
  return Family::table().nearest_to_sum(exact.sum, exact.rest);
}

template <class Family>
std::uint16_t expected_quotient(double a, double b) {
  const NarrowTable& table = Family::table();
  const double quotient = a / b;
  if (std::isnan(quotient)) return 0x7fff;
  if (!std::isfinite(quotient) || quotient == 0.0) return table.nearest_to(quotient);
  const double magnitude = std::fabs(a);
  const double divisor = std::fabs(b);
  const std::uint16_t sign = std::signbit(quotient) ? 0x8000 : 0;
  // a / b < m exactly where a < m · b, and that product of at most 12 and 11 bits is exact.
  return static_cast<std::uint16_t>(sign | table.nearest([&](double m) {
    const double product = m * divisor;
    return magnitude < product ? -1 : (magnitude > product ? 1 : 0);
  }));
}

}  // namespace

TEMPLATE_TEST_CASE("narrow float: sizes, alignment and trivial copies are the GPU's", "", Half,
                   Bfloat16) {
  using T = typename TestType::Type;
  STATIC_REQUIRE(sizeof(T) == 2);
  STATIC_REQUIRE(alignof(T) == 2);
  STATIC_REQUIRE(std::is_trivially_copyable_v<T>);
  STATIC_REQUIRE(std::is_trivially_default_constructible_v<T>);
  STATIC_REQUIRE(sizeof(half2) == 4);
  STATIC_REQUIRE(alignof(half2) == 4);
  STATIC_REQUIRE(sizeof(__nv_bfloat162) == 4);
  STATIC_REQUIRE(alignof(__nv_bfloat162) == 4);
  STATIC_REQUIRE(std::is_trivially_copyable_v<half2>);
  CHECK(std::bit_cast<std::uint32_t>(__halves2half2(1.0F, -2.0F)) == 0xc0003c00U);
}

TEMPLATE_TEST_CASE("narrow float: every pattern becomes its float and comes back", "", Half,
                   Bfloat16) {
  const NarrowTable& table = TestType::table();
  int wrong = 0;
  for (int pattern = 0; pattern <= 0xffff; ++pattern) {
    const auto bits = static_cast<std::uint16_t>(pattern);
    const float value = from_bits<TestType>(pattern);
    wrong += same_value_and_sign(value, table.value(bits)) ? 0 : 1;
    const std::uint16_t expected = table.is_nan(bits) ? 0x7fff : bits;
    wrong += bits_of<TestType>(typename TestType::Type(value)) == expected ? 0 : 1;
    if (table.is_nan(bits)) continue;  // from double, a NaN keeps its bits: see below
    wrong += bits_of<TestType>(typename TestType::Type(static_cast<double>(value))) == bits ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("narrow float: floats and doubles round to nearest even at every midpoint", "",
                   Half, Bfloat16) {
  using T = typename TestType::Type;
  const NarrowTable& table = TestType::table();
  int wrong = 0;
  const auto check = [&](double value) {
    wrong += bits_of<TestType>(T(value)) == table.nearest_to(value) ? 0 : 1;
    wrong += bits_of<TestType>(T(-value)) == table.nearest_to(-value) ? 0 : 1;
    const auto narrowed = static_cast<float>(value);
    wrong += bits_of<TestType>(T(narrowed)) == table.nearest_to(narrowed) ? 0 : 1;
    wrong += bits_of<TestType>(T(-narrowed)) == table.nearest_to(-narrowed) ? 0 : 1;
  };
  constexpr float far = std::numeric_limits<float>::infinity();
  for (int index = 0; index < table.infinity(); ++index) {
    const double tie = table.midpoint(static_cast<std::uint16_t>(index));
    check(tie);
    check(std::nextafter(tie, 0.0));
    check(std::nextafter(tie, static_cast<double>(far)));
    check(static_cast<double>(std::nextafter(static_cast<float>(tie), 0.0F)));
    check(static_cast<double>(std::nextafter(static_cast<float>(tie), far)));
  }
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("narrow float: floats of every exponent and 2 million random ones round right",
                   "", Half, Bfloat16) {
  using T = typename TestType::Type;
  const NarrowTable& table = TestType::table();
  int wrong = 0;
  const auto check = [&](std::uint32_t pattern) {
    const auto value = std::bit_cast<float>(pattern);
    const std::uint16_t expected = std::isnan(value) ? 0x7fff : table.nearest_to(value);
    wrong += bits_of<TestType>(T(value)) == expected ? 0 : 1;
  };
  for (std::uint32_t exponent = 0; exponent <= 0x1ff; ++exponent) {  // with the sign bit
    for (std::uint32_t step = 0; step < 64; ++step) {
      for (const std::uint32_t nearby : {0U, 1U, 0x0fffU, 0x1fffU}) {
        check((exponent << 23) + (((step << 17) + nearby) & 0x7fffffU));
      }
    }
  }
  std::mt19937 random(7);
  for (int i = 0; i < 2'000'000; ++i) check(static_cast<std::uint32_t>(random()));
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("narrow float: directed roundings enclose the value", "", Half, Bfloat16) {
  using convlab::emulation::Rounding;
  using Format = std::conditional_t<std::is_same_v<TestType, Half>, convlab::emulation::HalfFormat,
                                    convlab::emulation::Bfloat16Format>;
  const NarrowTable& table = TestType::table();
  int wrong = 0;
  const auto check = [&](double value) {
    const bool negative = std::signbit(value);
    const std::uint16_t sign = negative ? 0x8000 : 0;
    const std::uint16_t below = table.floor_index(std::fabs(value));
    const bool exact = table.value(below) == std::fabs(value);
    const auto inward = static_cast<std::uint16_t>(sign | below);
    const auto outward = static_cast<std::uint16_t>(sign | (exact ? below : below + 1));
    using convlab::emulation::encode;
    wrong += encode<Format>(value, Rounding::kTowardZero) == inward ? 0 : 1;
    wrong += encode<Format>(value, Rounding::kUp) == (negative ? inward : outward) ? 0 : 1;
    wrong += encode<Format>(value, Rounding::kDown) == (negative ? outward : inward) ? 0 : 1;
    wrong += encode<Format>(value, Rounding::kNearestEven) == table.nearest_to(value) ? 0 : 1;
  };
  for (int index = 0; index < table.infinity(); ++index) {
    const double value = table.value(static_cast<std::uint16_t>(index));
    const double tie = table.midpoint(static_cast<std::uint16_t>(index));
    for (const double near : {value, std::nextafter(value, 1e300), tie, std::nextafter(tie, 0.0)}) {
      check(near);
      check(-near);
    }
  }
  check(1e300);
  check(-1e300);
  check(1e-300);
  check(std::numeric_limits<double>::denorm_min());
  CHECK(wrong == 0);
  CHECK(__half_as_ushort(__float2half_rz(65535.0F)) == 0x7bff);
  CHECK(__half_as_ushort(__float2half_ru(65505.0F)) == 0x7c00);
  CHECK(__half_as_ushort(__float2half_rd(-65505.0F)) == 0xfc00);
  CHECK(__half_as_ushort(__float2half_rd(NAN)) == 0x7fff);
  CHECK(__bfloat16_as_ushort(__float2bfloat16_ru(1.0F + 0x1p-20F)) == 0x3f81);
}

TEMPLATE_TEST_CASE("narrow float: addition and subtraction carry one rounding", "", Half,
                   Bfloat16) {
  using T = typename TestType::Type;
  CHECK(sweep<TestType>([](T a, T b) { return a + b; }, expected_sum<TestType>) == 0);
  CHECK(sweep<TestType>([](T a, T b) { return a - b; },
                        [](double a, double b) { return expected_sum<TestType>(a, -b); }) == 0);
}

TEMPLATE_TEST_CASE("narrow float: multiplication carries one rounding", "", Half, Bfloat16) {
  using T = typename TestType::Type;
  CHECK(sweep<TestType>([](T a, T b) { return a * b; },
                        [](double a, double b) -> std::uint16_t {
                          const double product = a * b;  // exact
                          return std::isnan(product) ? 0x7fff
                                                     : TestType::table().nearest_to(product);
                        }) == 0);
}

TEMPLATE_TEST_CASE("narrow float: division carries one rounding", "", Half, Bfloat16) {
  using T = typename TestType::Type;
  CHECK(sweep<TestType>([](T a, T b) { return a / b; }, expected_quotient<TestType>) == 0);
}

TEMPLATE_TEST_CASE("narrow float: a fused multiply-add carries one rounding", "", Half, Bfloat16) {
  const NarrowTable& table = TestType::table();
  const auto factors = telling_patterns(table, 4);
  const auto addends = telling_patterns(table, 0);
  int wrong = 0;
  for (int first = 0; first <= 0xffff; first += 7) {
    for (const std::uint16_t second : factors) {
      const double product = table.value(static_cast<std::uint16_t>(first)) * table.value(second);
      // Besides the telling addends: ones that make the product's tie break either way.
      for (const std::uint16_t addend : addends) {
        const std::uint16_t got = bits_of<TestType>(__hfma(
            from_bits<TestType>(first), from_bits<TestType>(second), from_bits<TestType>(addend)));
        wrong += got == expected_sum<TestType>(product, table.value(addend)) ? 0 : 1;
      }
    }
  }
  CHECK(wrong == 0);
  std::mt19937 random(11);
  for (int i = 0; i < 1'000'000; ++i) {
    const auto a = static_cast<std::uint16_t>(random());
    const auto b = static_cast<std::uint16_t>(random());
    const auto c = static_cast<std::uint16_t>(random());
    const std::uint16_t got = bits_of<TestType>(
        __hfma(from_bits<TestType>(a), from_bits<TestType>(b), from_bits<TestType>(c)));
    wrong += got == expected_sum<TestType>(table.value(a) * table.value(b), table.value(c)) ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("narrow float: a fused multiply-add is not a product and a sum") {
  // 1.0009765625² = 1.00195407867431640625: the product alone would lose the last term.
  const half a = __ushort_as_half(0x3c01);
  const half fused = __hfma(a, a, __hneg(__ushort_as_half(0x3c02)));
  CHECK(static_cast<float>(fused) == 0x1p-20F);
  CHECK(static_cast<float>(a * a - __ushort_as_half(0x3c02)) == 0.0F);
  // A bfloat16 tie that only a term below double's last place breaks.
  const __nv_bfloat16 x = 1.0F + 0x1p-4F;
  const __nv_bfloat16 y = 1.0F + 0x1p-7F;
  const double product = static_cast<double>(static_cast<float>(x)) * static_cast<float>(y);
  CHECK(product == 1.0 + 0x1p-4 + 0x1p-7 + 0x1p-11);
  const __nv_bfloat16 odd_tie_a = 1.0F + 0x1p-2F + 0x1p-6F;  // 81/64
  const __nv_bfloat16 odd_tie_b = 1.0F + 0x1p-2F;            // 5/4: product 405/256, a tie
  CHECK(static_cast<float>(__hfma(odd_tie_a, odd_tie_b, 0x1p-100F)) == 203.0F / 128.0F);
  CHECK(static_cast<float>(__hfma(odd_tie_a, odd_tie_b, -0x1p-100F)) == 202.0F / 128.0F);
  CHECK(static_cast<float>(__hfma(odd_tie_a, odd_tie_b, 0.0F)) == 202.0F / 128.0F);
}

TEMPLATE_TEST_CASE("narrow float: every square root is the nearest", "", Half, Bfloat16) {
  const NarrowTable& table = TestType::table();
  int wrong = 0;
  for (int pattern = 0; pattern <= 0xffff; ++pattern) {
    const double value = table.value(static_cast<std::uint16_t>(pattern));
    const std::uint16_t got = bits_of<TestType>(hsqrt(from_bits<TestType>(pattern)));
    std::uint16_t expected = 0x7fff;
    if (value == 0.0 || (std::isinf(value) && value > 0)) {
      expected = static_cast<std::uint16_t>(pattern);
    } else if (value > 0) {
      expected =
          table.nearest([&](double m) { return value < m * m ? -1 : (value > m * m ? 1 : 0); });
    }
    wrong += got == expected ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("narrow float: comparisons, ordered and unordered", "", Half, Bfloat16) {
  const NarrowTable& table = TestType::table();
  int wrong = 0;
  for (const std::uint16_t second : telling_patterns(table, 6)) {
    for (int first = 0; first <= 0xffff; ++first) {
      const auto a = from_bits<TestType>(first);
      const auto b = from_bits<TestType>(second);
      const double x = table.value(static_cast<std::uint16_t>(first));
      const double y = table.value(second);
      const bool unordered = std::isnan(x) || std::isnan(y);
      wrong += __heq(a, b) == (x == y) && __hequ(a, b) == (unordered || x == y) ? 0 : 1;
      wrong += __hlt(a, b) == (x < y) && __hltu(a, b) == (unordered || x < y) ? 0 : 1;
      wrong += __hle(a, b) == (x <= y) && __hleu(a, b) == (unordered || x <= y) ? 0 : 1;
      wrong += __hgt(a, b) == (x > y) && __hgtu(a, b) == (unordered || x > y) ? 0 : 1;
      wrong += __hge(a, b) == (x >= y) && __hgeu(a, b) == (unordered || x >= y) ? 0 : 1;
      wrong += __hne(a, b) == (!unordered && x != y) && __hneu(a, b) == (x != y) ? 0 : 1;
      wrong += (a == b) == (x == y) && (a != b) == (x != y) && (a < b) == (x < y) ? 0 : 1;
      wrong += __hisnan(a) == std::isnan(x) ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("narrow float: minimum and maximum order zeros and lose or keep NaN", "", Half,
                   Bfloat16) {
  using T = typename TestType::Type;
  const T nan = from_bits<TestType>(0x7fff);
  const T negative_nan = from_bits<TestType>(0xffff);
  const T zero = 0.0F;
  const T negative_zero = from_bits<TestType>(0x8000);
  const T three = 3.0F;
  CHECK(bits_of<TestType>(__hmax(zero, negative_zero)) == 0);
  CHECK(bits_of<TestType>(__hmin(zero, negative_zero)) == 0x8000);
  CHECK(static_cast<float>(__hmax(nan, three)) == 3.0F);
  CHECK(static_cast<float>(__hmin(three, nan)) == 3.0F);
  CHECK(bits_of<TestType>(__hmax(negative_nan, nan)) == 0x7fff);
  CHECK(bits_of<TestType>(__hmax_nan(three, negative_nan)) == 0x7fff);
  CHECK(bits_of<TestType>(__hmin_nan(nan, three)) == 0x7fff);
  const NarrowTable& table = TestType::table();
  int wrong = 0;
  for (const std::uint16_t second : telling_patterns(table, 6)) {
    for (int first = 0; first <= 0xffff; ++first) {
      const double x = table.value(static_cast<std::uint16_t>(first));
      const double y = table.value(second);
      const T a = from_bits<TestType>(first);
      const T b = from_bits<TestType>(second);
      wrong += same_value_and_sign(static_cast<float>(__hmax(a, b)), std::fmax(x, y)) ||
                       (x == 0 && y == 0)
                   ? 0
                   : 1;
      wrong += same_value_and_sign(static_cast<float>(__hmin(a, b)), std::fmin(x, y)) ||
                       (x == 0 && y == 0)
                   ? 0
                   : 1;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("narrow float: saturating and relu forms") {
  CHECK(static_cast<float>(__hadd_sat(half(0.75F), half(0.5F))) == 1.0F);
  CHECK(static_cast<float>(__hsub_sat(half(0.5F), half(0.75F))) == 0.0F);
  CHECK(__half_as_ushort(__hmul_sat(CUDART_NAN_FP16, half(1.0F))) == 0);
  CHECK(static_cast<float>(__hfma_relu(half(-2.0F), half(3.0F), half(1.0F))) == 0.0F);
  CHECK(__hisnan(__hfma_relu(CUDART_NAN_FP16, half(1.0F), half(1.0F))));
  CHECK(static_cast<float>(__hfma_sat(half(0.5F), half(0.5F), half(0.25F))) == 0.5F);
}

TEST_CASE("narrow float: integers convert with one rounding and saturate back") {
  CHECK(static_cast<float>(__int2half_rn(2049)) == 2048.0F);
  CHECK(static_cast<float>(__int2half_rn(2051)) == 2052.0F);
  CHECK(static_cast<float>(__int2half_ru(2049)) == 2050.0F);
  CHECK(static_cast<float>(__int2half_rd(-2049)) == -2050.0F);
  CHECK(static_cast<float>(__int2half_rz(70000)) == 65504.0F);
  CHECK(__hisinf(__int2half_rn(70000)) == 1);
  CHECK(__hisinf(__ll2half_rn(std::numeric_limits<long long>::min())) == -1);
  // 2^62 + 2^54 is a tie of bfloat16; one more must go up, which a detour through double loses.
  const long long tie = (1LL << 62) + (1LL << 54);
  CHECK(static_cast<float>(__ll2bfloat16_rn(tie)) == 0x1p62F);
  CHECK(static_cast<float>(__ll2bfloat16_rn(tie + 1)) == 0x1p62F + 0x1p55F);
  CHECK(static_cast<float>(__ull2bfloat16_rn(~0ULL)) == 0x1p64F);

  CHECK(__half2int_rn(half(2.5F)) == 2);
  CHECK(__half2int_rn(half(3.5F)) == 4);
  CHECK(__half2int_ru(half(2.25F)) == 3);
  CHECK(__half2int_rd(half(-2.25F)) == -3);
  CHECK(__half2int_rz(half(-2.75F)) == -2);
  CHECK(__half2int_rz(CUDART_INF_FP16) == std::numeric_limits<int>::max());
  CHECK(__half2int_rz(CUDART_NAN_FP16) == 0);
  CHECK(__half2short_rn(half(40000.0F)) == 32767);
  CHECK(__half2ushort_rz(half(-3.0F)) == 0);
  CHECK(__half2uint_rn(half(65504.0F)) == 65504U);
  CHECK(__half2char_rz(half(-200.0F)) == -128);
  CHECK(__half2uchar_rz(half(300.0F)) == 255);
  CHECK(__half2ll_rz(CUDART_NAN_FP16) == std::numeric_limits<long long>::min());
  CHECK(__half2ull_rz(-CUDART_INF_FP16) == 0);
  CHECK(__bfloat162ull_rn(__nv_bfloat16(0x1p70F)) == ~0ULL);
  CHECK(__bfloat162ll_rd(__nv_bfloat16(-0x1p70F)) == std::numeric_limits<long long>::min());
  CHECK(static_cast<int>(half(-7.9F)) == -7);
  int wrong = 0;
  for (int i = -2048; i <= 2048; ++i) wrong += static_cast<int>(half(i)) == i ? 0 : 1;
  CHECK(wrong == 0);
}

TEST_CASE("narrow float: pairs take their parts to the right half") {
  const half2 pair = __floats2half2_rn(1.0F, -2.0F);
  CHECK(__low2float(pair) == 1.0F);
  CHECK(__high2float(pair) == -2.0F);
  CHECK(__half22float2(__lowhigh2highlow(pair)).x == -2.0F);
  CHECK(static_cast<float>(__high2half(pair)) == -2.0F);
  CHECK(__low2float(__high2half2(pair)) == -2.0F);
  CHECK(__high2float(__low2half2(pair)) == 1.0F);
  const half2 other = __half2half2(half(3.0F));
  CHECK(__half22float2(__lows2half2(pair, other)).y == 3.0F);
  CHECK(__half22float2(__highs2half2(pair, other)).x == -2.0F);
  CHECK(__high2float(__float22half2_rn(make_float2(4.0F, 5.0F))) == 5.0F);
  CHECK(__high2float(__hfma2(pair, other, pair)) == -8.0F);
  CHECK(__low2float(pair * other + pair) == 4.0F);
  CHECK(__low2float(__hcmadd(pair, pair, other)) == 0.0F);    // (1-2i)² = -3-4i; -3 + 3
  CHECK(__high2float(__hcmadd(pair, pair, other)) == -1.0F);  // -4 + 3
  const half2 with_nan = __halves2half2(half(1.0F), CUDART_NAN_FP16);
  CHECK(__heq2_mask(with_nan, __float2half2_rn(1.0F)) == 0x0000ffffU);
  CHECK(__hequ2_mask(with_nan, __float2half2_rn(1.0F)) == 0xffffffffU);
  CHECK_FALSE(__hbeq2(with_nan, with_nan));
  CHECK(__hbgeu2(with_nan, __float2half2_rn(1.0F)));
  CHECK(__high2float(__hne2(pair, other)) == 1.0F);
  half2 counted = pair;
  counted++;
  --counted;
  counted += other;
  CHECK(__low2float(counted) == 4.0F);
  CHECK((-counted).x == half(-4.0F));

  const __nv_bfloat162 brain = __floats2bfloat162_rn(1.5F, -2.5F);
  CHECK(__bfloat1622float2(brain).y == -2.5F);
  CHECK(__low2float(__bfloat162bfloat162(__high2bfloat16(brain))) == -2.5F);
  CHECK(__high2float(__float22bfloat162_rn(make_float2(4.0F, 5.0F))) == 5.0F);
  CHECK(__high2float(__hmul2(brain, brain)) == 6.25F);
  CHECK(static_cast<float>(__nv_bfloat16(half(1.5F))) == 1.5F);
}

TEST_CASE("narrow float: NaN are those of an H200") {
  for (const int bits : {0x7e00, 0x7c01, 0xfe01, 0xffff}) {
    CHECK(std::bit_cast<std::uint32_t>(__half2float(from_bits<Half>(bits))) == 0x7fffffffU);
  }
  const auto quiet = std::bit_cast<double>(std::uint64_t{0x7ffd5cd540000000});
  const auto negative = std::bit_cast<double>(std::uint64_t{0xfffb49ffe0000000});
  CHECK(__half_as_ushort(__double2half(quiet)) == 0x7f57);
  CHECK(__bfloat16_as_ushort(__double2bfloat16(quiet)) == 0x7fea);
  CHECK(__half_as_ushort(__double2half(negative)) == 0xfed2);
  CHECK(__half_as_ushort(__float2half(-NAN)) == 0x7fff);
  CHECK(__half_as_ushort(hsqrt(half(-1.0F))) == 0x7fff);
}

TEST_CASE("narrow float: elementary functions") {
  CHECK(static_cast<float>(hexp(half(1.0F))) == Approx(2.71828).epsilon(5e-4));
  CHECK(static_cast<float>(hexp2(half(3.0F))) == 8.0F);
  CHECK(static_cast<float>(hexp10(half(2.0F))) == 100.0F);
  CHECK(static_cast<float>(hlog2(half(1024.0F))) == 10.0F);
  CHECK(static_cast<float>(hlog(half(1.0F))) == 0.0F);
  CHECK(static_cast<float>(hrsqrt(half(4.0F))) == 0.5F);
  CHECK(static_cast<float>(hrcp(half(8.0F))) == 0.125F);
  CHECK(static_cast<float>(hrint(half(2.5F))) == 2.0F);
  CHECK(static_cast<float>(hceil(half(-2.5F))) == -2.0F);
  CHECK(static_cast<float>(hfloor(half(-2.5F))) == -3.0F);
  CHECK(static_cast<float>(htrunc(half(-2.5F))) == -2.0F);
  CHECK(__high2float(h2exp2(__floats2half2_rn(1.0F, -1.0F))) == 0.5F);
  CHECK(__hisinf(hrcp(half(0.0F))) == 1);
  CHECK(__hisnan(hlog(half(-1.0F))));
}
