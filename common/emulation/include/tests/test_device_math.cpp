// Device mathematics that common/emulation/tests/features/intrinsics.cu does not compare with a
// GPU, and the processor's rounding mode.

#include <cfenv>
#include <cmath>
#include <limits>

#include "common/base/tests/support/catch.hpp"
#include "common/emulation/include/convlab_emulation/device_math.hpp"
#include "common/emulation/include/cuComplex.h"

TEST_CASE("device math: an operation in another rounding mode leaves the host's as it was") {
  CHECK(__dsub_rz(1.0, 0x1p-80) == 1.0 - 0x1p-53);
  CHECK(__drcp_rn(4.0) == 0.25);
  CHECK(__fadd_ru(1.0F, 0x1p-80F) == 1.0F + std::numeric_limits<float>::epsilon());
  CHECK(std::fegetround() == FE_TONEAREST);
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
  CHECK(norm3df(2.0F, 3.0F, 6.0F) == Approx(7.0F));
  CHECK(rcbrtf(8.0F) == 0.5F);
  for (const double x : {-5.5, -2.0, -0.3, 1e-9, 0.2, 0.49, 0.51, 1.7, 3.9}) {
    CHECK(erfinv(std::erf(x)) == Approx(x).epsilon(1e-12 + 1e-16 / std::erfc(std::fabs(x))));
    if (x > -3) CHECK(erfcinv(std::erfc(x)) == Approx(x).epsilon(1e-7));  // 2 - y loses digits
    CHECK(erfcx(std::fabs(x)) * std::exp(-x * x) == Approx(std::erfc(std::fabs(x))));
  }
  // Both ways to compute it meet at 25.
  CHECK(erfcx(25.0) ==
        Approx(std::exp(24.999999 * 24.999999) * std::erfc(24.999999)).epsilon(1e-6));
  CHECK(erfcinv(1e-300) == Approx(26.209469960516).epsilon(1e-12));
  CHECK((std::isinf(erfinv(1.0)) && std::isinf(erfcinvf(2.0F)) && std::isnan(erfinvf(1.5F))));
  CHECK(normcdfinv(normcdf(1.25)) == Approx(1.25));
  const float sides[] = {1, 2, 2};
  CHECK((normf(3, sides) == 3 && rnormf(3, sides) == Approx(1 / 3.0) && rhypotf(3, 4) == 0.2F));
  CHECK((norm4d(1, 1, 1, 1) == Approx(2) && cyl_bessel_i0f(0) == 1 && cyl_bessel_i1(0) == 0));
  CHECK(cyl_bessel_i0(2.5) == Approx(std::cyl_bessel_i(0.0, 2.5)).epsilon(1e-13));
  CHECK(-cyl_bessel_i1(-30) == Approx(std::cyl_bessel_i(1.0, 30.0)).epsilon(1e-13));
  CHECK(normcdf(0.0) == 0.5);
  CHECK(abs(-2.5F) == 2.5F);  // the float overload, in the global namespace
}

TEST_CASE("numbers become floating point in each rounding mode") {
  const int x = -16777219;  // between two floats
  CHECK(__int2float_rn(x) == -0x1.000004p24F);
  CHECK(__int2float_rz(x) == -0x1.000002p24F);
  CHECK(__int2float_ru(x) == -0x1.000002p24F);
  CHECK(__int2float_rd(x) == -0x1.000004p24F);
  CHECK(__ull2float_rz(~0ULL - 12345) == 0x1.fffffep63F);
  CHECK(__ull2float_ru(~0ULL - 12345) == 0x1p64F);
  CHECK(__ll2double_ru((1LL << 53) + 1) == 0x1.0000000000001p53);
  CHECK(__ll2double_rd((1LL << 53) + 1) == 0x1p53);
  CHECK(__double2float_ru(0.1) == 0x1.99999ap-4F);
  CHECK(__double2float_rz(0.1) == 0x1.999998p-4F);
}

TEST_CASE("sinpi and cospi are exact where the result is 0 or 1") {
  for (const float turn : {-4.0F, 0.0F, 2.0F, 1e9F}) {
    CHECK(sinpif(turn) == 0);
    CHECK(sinpif(turn + 1) == 0);
    CHECK(cospif(turn) == 1);
  }
  CHECK(cospif(0.5F) == 0);
  CHECK(sinpif(-2.5F) == -1);
  CHECK(sinpif(0.25F) == 0x1.6a09e6p-1F);
}

TEST_CASE("device math: complex numbers, also near the largest") {
  const cuComplex a = make_cuComplex(1.0F, 2.0F);
  const cuComplex product = cuCmulf(a, make_cuFloatComplex(3.0F, -1.0F));
  CHECK((product.x == 5.0F && product.y == 5.0F));
  const cuComplex quotient = cuCdivf(product, a);
  CHECK((quotient.x == Approx(3.0F) && quotient.y == Approx(-1.0F)));
  CHECK(cuCabsf(make_cuFloatComplex(3e38F, 0.0F)) == 3e38F);
  CHECK(cuCabs(make_cuDoubleComplex(3.0, -4.0)) == Approx(5.0));
  CHECK(cuCabs(make_cuDoubleComplex(-INFINITY, 1.0)) == INFINITY);
  const cuDoubleComplex sum =
      cuCfma(cuConj(cuComplexFloatToDouble(a)), cuCadd({1, 0}, {1, 1}), cuCsub({1, 1}, {0, 1}));
  CHECK((sum.x == 5.0 && cuCimag(sum) == -3.0));
}
