// Intrinsics against exact arithmetic in a wider type, or against their definitions.

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "common/base/testing/catch.hpp"
#include "common/emulation/include/convlab_emulation/device_math.hpp"

namespace {

/// Random floats of all magnitudes, with specials in between.
float any_float(std::mt19937& random) {
  static constexpr float specials[] = {
      0.0F, -0.0F, 1.0F, -1.0F, 0x1p-149F, 0x1p-126F, 0x1p127F, 0x1.fffffep127F, 0x1p-75F, 3.0F};
  if (random() % 8 == 0) return specials[random() % std::size(specials)];
  const float value = __uint_as_float(static_cast<unsigned>(random()));
  return std::isfinite(value) ? value : 1.5F;
}

/// The three directed results enclose the exact value as tightly as floats can.
int enclosure_faults(float rd, float ru, float rz, float rn, double exact, double rest) {
  // exact + rest is the true value, rest being too small to show in `exact`.
  const auto above = [&](float f) { return f > exact || (f == exact && rest < 0); };
  const auto below = [&](float f) { return f < exact || (f == exact && rest > 0); };
  int faults = 0;
  faults += above(rd) || below(ru) ? 1 : 0;
  const bool is_float = static_cast<double>(static_cast<float>(exact)) == exact && rest == 0;
  if (is_float) {
    faults += rd == ru ? 0 : 1;
  } else {
    faults += std::nextafter(rd, std::numeric_limits<float>::infinity()) == ru ? 0 : 1;
  }
  faults += rz == (std::signbit(exact) ? ru : rd) ? 0 : 1;
  faults += rn == rd || rn == ru ? 0 : 1;
  return faults;
}

struct ExactSum {
  double sum;
  double rest;
  ExactSum(double a, double b) : sum(a + b) {
    const double b_part = sum - a;
    rest = (a - (sum - b_part)) + (b - b_part);
  }
};

}  // namespace

TEST_CASE("device math: directed float operations enclose the exact result") {
  std::mt19937 random(3);
  int faults = 0;
  for (int i = 0; i < 100'000; ++i) {
    const float a = any_float(random);
    const float b = any_float(random);
    const float c = any_float(random);
    const ExactSum sum(a, b);
    if (sum.sum != 0) {
      faults += enclosure_faults(__fadd_rd(a, b), __fadd_ru(a, b), __fadd_rz(a, b), __fadd_rn(a, b),
                                 sum.sum, sum.rest);
    }
    const double product = static_cast<double>(a) * b;
    if (product != 0) {
      faults += enclosure_faults(__fmul_rd(a, b), __fmul_ru(a, b), __fmul_rz(a, b), __fmul_rn(a, b),
                                 product, 0);
    }
    const ExactSum fused(product, c);
    if (fused.sum != 0) {
      faults += enclosure_faults(__fmaf_rd(a, b, c), __fmaf_ru(a, b, c), __fmaf_rz(a, b, c),
                                 __fmaf_rn(a, b, c), fused.sum, fused.rest);
    }
    if (b != 0 && a != 0) {
      const double quotient = static_cast<double>(a) / b;
      const double rest = std::fma(-quotient, static_cast<double>(b), static_cast<double>(a)) / b;
      faults += enclosure_faults(__fdiv_rd(a, b), __fdiv_ru(a, b), __fdiv_rz(a, b), __fdiv_rn(a, b),
                                 quotient, rest);
    }
    if (a > 0) {
      const double root = std::sqrt(static_cast<double>(a));
      const double rest = std::fma(-root, root, static_cast<double>(a));
      faults +=
          enclosure_faults(__fsqrt_rd(a), __fsqrt_ru(a), __fsqrt_rz(a), __fsqrt_rn(a), root, rest);
    }
  }
  CHECK(faults == 0);
  CHECK(std::fegetround() == FE_TONEAREST);
}

TEST_CASE("device math: directed double operations and conversions") {
  CHECK(__dadd_ru(1.0, 0x1p-80) == 1.0 + 0x1p-52);
  CHECK(__dadd_rd(1.0, -0x1p-80) == 1.0 - 0x1p-53);
  CHECK(__dsub_rz(1.0, 0x1p-80) == 1.0 - 0x1p-53);
  CHECK(__dmul_ru(0x1p-600, 0x1p-600) == std::numeric_limits<double>::denorm_min());
  CHECK(__dmul_rz(1e300, 1e300) == std::numeric_limits<double>::max());
  CHECK(__ddiv_rd(1.0, 3.0) < __ddiv_ru(1.0, 3.0));
  CHECK(__drcp_rn(4.0) == 0.25);
  CHECK(__dsqrt_rd(2.0) < __dsqrt_ru(2.0));
  CHECK(__fma_rn(1.0 + 0x1p-52, 1.0 + 0x1p-52, -1.0 - 0x1p-51) == 0x1p-104);
  CHECK(__double2float_rz(0.1) < __double2float_ru(0.1));
  CHECK(__double2float_rd(1e300) == std::numeric_limits<float>::max());
  CHECK(__double2float_ru(1e-300) == std::numeric_limits<float>::denorm_min());
  CHECK(__double2float_rd(-1e-300) == -std::numeric_limits<float>::denorm_min());
}

TEST_CASE("device math: casts to integers round as asked and stop at the limits") {
  CHECK(__float2int_rn(2.5F) == 2);
  CHECK(__float2int_rn(-3.5F) == -4);
  CHECK(__float2int_rz(-3.9F) == -3);
  CHECK(__float2int_ru(3.1F) == 4);
  CHECK(__float2int_rd(-3.1F) == -4);
  CHECK(__float2int_rz(1e20F) == std::numeric_limits<int>::max());
  CHECK(__float2int_rz(-1e20F) == std::numeric_limits<int>::min());
  CHECK(__float2int_rn(NAN) == 0);
  CHECK(__float2uint_rn(-1.0F) == 0);
  CHECK(__float2uint_rz(4294967040.0F) == 4294967040U);
  CHECK(__float2uint_rz(4294967296.0F) == 4294967295U);
  CHECK(__float2ll_rn(0x1p63F) == std::numeric_limits<long long>::max());
  CHECK(__float2ll_rn(-0x1p63F) == std::numeric_limits<long long>::min());
  CHECK(__float2ull_rd(1.9F) == 1);
  CHECK(__double2int_rn(0.5) == 0);
  CHECK(__double2ll_rz(-9007199254740993.0) == -9007199254740992LL);
  CHECK(__double2ull_ru(0.1) == 1);
}

TEST_CASE("device math: casts from integers round once") {
  CHECK(__int2float_rn(16777217) == 16777216.0F);
  CHECK(__int2float_ru(16777217) == 16777218.0F);
  CHECK(__int2float_rd(-16777217) == -16777218.0F);
  CHECK(__int2float_rz(-16777217) == -16777216.0F);
  CHECK(__int2float_rn(std::numeric_limits<int>::min()) == -0x1p31F);
  CHECK(__uint2float_ru(4294967295U) == 4294967296.0F);
  CHECK(__uint2float_rz(4294967295U) == 4294967040.0F);
  CHECK(__ull2double_rz(~0ULL) == 0x1.fffffffffffffp63);
  CHECK(__ll2double_rn((1LL << 53) + 1) == 0x1p53);
  int wrong = 0;
  std::mt19937_64 random(4);
  for (int i = 0; i < 100'000; ++i) {
    const auto value = static_cast<long long>(random() >> random() % 64);
    wrong += __ll2float_rn(value) == static_cast<float>(value) ? 0 : 1;
    wrong += __ll2double_rn(-value) == static_cast<double>(-value) ? 0 : 1;
    wrong += __ull2float_rn(static_cast<unsigned long long>(value)) ==
                     static_cast<float>(static_cast<unsigned long long>(value))
                 ? 0
                 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("device math: bits read as another type") {
  CHECK(__float_as_int(1.0F) == 0x3f800000);
  CHECK(__int_as_float(0x40490fdb) == Approx(3.14159265F));
  CHECK(__float_as_uint(-0.0F) == 0x80000000U);
  CHECK(__double_as_longlong(1.0) == 0x3ff0000000000000LL);
  CHECK(__hiloint2double(__double2hiint(-1.25e300), __double2loint(-1.25e300)) == -1.25e300);
}

TEST_CASE("device math: bit intrinsics") {
  CHECK(__popc(0xf0f0U) == 8);
  CHECK(__popcll(~0ULL) == 64);
  CHECK(__clz(0) == 32);
  CHECK(__clz(-1) == 0);
  CHECK(__clz(1) == 31);
  CHECK(__clzll(1) == 63);
  CHECK(__ffs(0) == 0);
  CHECK(__ffs(8) == 4);
  CHECK(__ffs(std::numeric_limits<int>::min()) == 32);
  CHECK(__ffsll(1LL << 40) == 41);
  CHECK(__brev(1U) == 0x80000000U);
  CHECK(__brev(0x12345678U) == 0x1e6a2c48U);
  CHECK(__brevll(1ULL) == 1ULL << 63);
  CHECK(__byte_perm(0x33221100U, 0x77665544U, 0x7531U) == 0x77553311U);
  CHECK(__byte_perm(0x33221100U, 0x77665544U, 0x0123U) == 0x00112233U);
  CHECK(__funnelshift_l(0x80000000U, 0x00000001U, 1) == 3U);
  CHECK(__funnelshift_r(0x80000000U, 0x00000001U, 31) == 3U);
  CHECK(__funnelshift_l(5U, 7U, 32) == 7U);
  CHECK(__funnelshift_lc(5U, 7U, 40) == 5U);
  CHECK(__funnelshift_rc(5U, 7U, 40) == 7U);
}

TEST_CASE("device math: products and averages of integers") {
  CHECK(__mulhi(std::numeric_limits<int>::min(), 2) == -1);
  CHECK(__umulhi(0xffffffffU, 0xffffffffU) == 0xfffffffeU);
  CHECK(__umul64hi(~0ULL, ~0ULL) == ~0ULL - 1);
  CHECK(__umul64hi(1ULL << 63, 6) == 3);
  CHECK(__mul64hi(-1, 1) == -1);
  CHECK(__mul64hi(std::numeric_limits<long long>::min(), std::numeric_limits<long long>::min()) ==
        1LL << 62);
  CHECK(__mul24(0x00ffffff, 3) == -3);
  CHECK(__umul24(0x01000003U, 0xff000005U) == 15U);
  CHECK(__hadd(std::numeric_limits<int>::max(), std::numeric_limits<int>::max() - 1) ==
        std::numeric_limits<int>::max() - 1);
  CHECK(__rhadd(-3, 0) == -1);
  CHECK(__uhadd(0xffffffffU, 0xfffffffdU) == 0xfffffffeU);
  CHECK(__urhadd(1U, 2U) == 2U);
  CHECK(__sad(std::numeric_limits<int>::min(), std::numeric_limits<int>::max(), 1) == 0U);
  CHECK(__usad(3U, 10U, 5U) == 12U);
  CHECK(__dp4a(0x01ff02fe, 0x7f807f80, 10) == 10 + 127 + 128 + 254 + 256);
  CHECK(__dp4a(0xffffffffU, 0xffffffffU, 0U) == 4U * 255U * 255U);
  CHECK(__dp4a(make_char4(1, 2, 3, 4), make_char4(-1, -1, 1, 1), 0) == 4);
  CHECK(__dp2a_lo(0x0002ffff, 0x04030201, 0) == -1 + 4);
  CHECK(__dp2a_hi(0x0002ffffU, 0x04030201U, 0U) == 65535U * 3U + 8U);
}

TEST_CASE("device math: min and max order zeros, lose NaN and mix signs as CUDA does") {
  CHECK(std::signbit(min(0.0F, -0.0F)));
  CHECK(std::signbit(min(-0.0F, 0.0F)));
  CHECK_FALSE(std::signbit(max(0.0F, -0.0F)));
  CHECK_FALSE(std::signbit(max(-0.0, 0.0)));
  CHECK(max(NAN, 2.0F) == 2.0F);
  CHECK(min(2.0F, NAN) == 2.0F);
  CHECK(std::isnan(max(NAN, NAN)));
  CHECK(max(1.5F, 2.5) == 2.5);
  CHECK(max(-1, 1U) == 0xffffffffU);
  CHECK(min(-1, 1) == -1);
  CHECK(max(3ULL, 5LL) == 5ULL);
}

TEST_CASE("device math: functions beyond the C library") {
  CHECK(rsqrtf(16.0F) == 0.25F);
  CHECK(std::isinf(rsqrtf(0.0F)));
  CHECK(__saturatef(NAN) == 0.0F);
  CHECK(__saturatef(-1.0F) == 0.0F);
  CHECK(__saturatef(0.25F) == 0.25F);
  CHECK(__saturatef(7.0F) == 1.0F);
  CHECK(__fdividef(1.0F, 4.0F) == 0.25F);
  CHECK(__fdividef(1.0F, 0x1.8p126F) == 0.0F);
  CHECK(__expf(0.0F) == 1.0F);
  CHECK(__log2f(8.0F) == 3.0F);
  CHECK(__powf(2.0F, 10.0F) == 1024.0F);
  CHECK(__exp10f(2.0F) == 100.0F);
  float sine = 0.0F;
  float cosine = 0.0F;
  __sincosf(0.0F, &sine, &cosine);
  CHECK(sine == 0.0F);
  CHECK(cosine == 1.0F);
  CHECK(sinpi(0.5) == 1.0);
  CHECK(sinpi(-1.5) == 1.0);
  CHECK(sinpi(3.0) == 0.0);
  CHECK(sinpif(0.25F) == Approx(0.70710678F));
  CHECK(sinpif(1.75F) == Approx(-0.70710678F));
  CHECK(cospi(1.0) == -1.0);
  CHECK(cospi(2.5) == 0.0);
  CHECK(cospif(0.75F) == Approx(-0.70710678F));
  CHECK(cospif(-2.0F) == 1.0F);
  CHECK(norm3df(2.0F, 3.0F, 6.0F) == Approx(7.0F));
  CHECK(norm4d(2.0, 4.0, 5.0, 6.0) == Approx(9.0));
  CHECK(rhypot(3.0, 4.0) == Approx(0.2));
  CHECK(rcbrtf(8.0F) == 0.5F);
  CHECK(normcdf(0.0) == 0.5);
  CHECK(abs(-2.5F) == 2.5F);  // the float overload, in the global namespace
}
