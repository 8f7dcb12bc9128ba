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

TEST_CASE("narrow float: pairs take their parts to the right half") {
  __half2 empty(1.0F, 2.0F);
  empty = {};
  CHECK(__high2float(empty) == 0);
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
