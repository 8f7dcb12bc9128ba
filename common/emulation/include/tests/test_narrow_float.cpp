// Half and bfloat16 on the host. What a GPU computes with them, number by number, is compared in
// common/emulation/tests/features/half.cu.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "common/base/tests/support/catch.hpp"

TEMPLATE_TEST_CASE("narrow float: sizes, alignment and trivial copies are the GPU's", "", __half,
                   __nv_bfloat16) {
  using T = TestType;
  STATIC_REQUIRE(sizeof(T) == 2);
  STATIC_REQUIRE(alignof(T) == 2);
  STATIC_REQUIRE(std::is_trivially_copyable_v<T>);
  STATIC_REQUIRE(std::is_trivially_default_constructible_v<T>);
  STATIC_REQUIRE(sizeof(half2) == 4);
  STATIC_REQUIRE(alignof(half2) == 4);
  STATIC_REQUIRE(sizeof(__nv_bfloat162) == 4);
  STATIC_REQUIRE(alignof(__nv_bfloat162) == 4);
  STATIC_REQUIRE(!std::is_trivially_copyable_v<half2>);  // nor in CUDA 13
  CHECK(std::bit_cast<std::uint32_t>(static_cast<__half2_raw>(__halves2half2(1.0F, -2.0F))) ==
        0xc0003c00U);
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
    const half nan = __ushort_as_half(static_cast<unsigned short>(bits));
    CHECK(std::bit_cast<std::uint32_t>(__half2float(nan)) == 0x7fffffffU);
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
