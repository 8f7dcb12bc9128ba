// Special functions against the host's library, SIMD intrinsics against their definitions.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "common/base/testing/catch.hpp"
#include "common/emulation/extended/simd_intrinsics.hpp"
#include "common/emulation/extended/special_functions.hpp"
#include "common/emulation/include/convlab_emulation/device_math.hpp"

TEST_CASE("extended math: inverse error functions undo the error functions") {
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  for (double y = 1e-300; y < 1.0; y = y < 0.01 ? y * 7 : y + 0.01) {
    CHECK(std::fabs(std::erf(erfinv(y)) / y - 1.0) < 4 * kEpsilon);
    CHECK(erfinv(-y) == -erfinv(y));
  }
  for (double x = 1e-300; x < 1.0; x = x < 0.01 ? x * 7 : x + 0.01) {
    const double z = erfcinv(x);
    // A rounding of z changes erfc(z) by up to 2 z² roundings.
    CHECK(std::fabs(std::erfc(z) / x - 1.0) < (4 + 4 * z * z) * kEpsilon);
  }
  // Abramowitz and Stegun's 1.96 of the normal distribution, to more places.
  CHECK(std::fabs(normcdfinv(0.975) - 1.959963984540054) < 1e-15);
  CHECK(std::fabs(normcdf(normcdfinv(1e-12)) / 1e-12 - 1.0) < 1e-12);
  CHECK(erfinv(1.0) == std::numeric_limits<double>::infinity());
  CHECK(erfinvf(-1.0F) == -std::numeric_limits<float>::infinity());
  CHECK(erfcinv(2.0) == -std::numeric_limits<double>::infinity());
  CHECK(normcdfinvf(0.0F) == -std::numeric_limits<float>::infinity());
  CHECK(std::isnan(erfinv(1.5)));
  CHECK(std::isnan(erfcinvf(-0.1F)));
  CHECK((erfinv(-0.0) == 0.0 && std::signbit(erfinv(-0.0))));
}

TEST_CASE("extended math: erfcx, Bessel functions and norms") {
  for (double x = -2.0; x < 20.0; x += 0.125)
    CHECK(std::fabs(erfcx(x) / (std::exp(x * x) * std::erfc(x)) - 1.0) < 1e-13);
  CHECK(std::fabs(erfcx(1e10) / 5.6418958354775628695e-11 - 1.0) < 1e-15);
  CHECK(erfcx(std::numeric_limits<double>::infinity()) == 0.0);
  for (double x = 0.0; x < 600.0; x += 0.7) {
    CHECK(std::fabs(cyl_bessel_i0(x) / std::cyl_bessel_i(0.0, x) - 1.0) < 1e-12);
    CHECK(std::fabs(cyl_bessel_i1(x + 0.1) / std::cyl_bessel_i(1.0, x + 0.1) - 1.0) < 1e-12);
  }
  CHECK(cyl_bessel_i1f(-1.0F) == -0.56515910399F);
  CHECK(cyl_bessel_i0(-800.0) == std::numeric_limits<double>::infinity());
  const double sides[] = {2e200, 3e200, 6e200};
  CHECK(norm(3, sides) == 7e200);
  CHECK(rnorm(2, sides + 1) == 1.0 / std::hypot(3e200, 6e200));
  const float small[] = {1.0F, 4.0F, 8.0F};
  CHECK(normf(3, small) == 9.0F);
  CHECK(rnormf(3, small) == 1.0F / 9.0F);
}

TEST_CASE("extended math: SIMD intrinsics over all pairs of bytes") {
  const auto clamp = [](int value, int low, int high) {
    return value < low ? low : value > high ? high : value;
  };
  int faults = 0;
  for (int i = 0; i < 256; ++i) {
    for (int j = 0; j < 256; ++j) {
      // The pair in byte 2, other values around it.
      const unsigned a = 0x80007fffU ^ static_cast<unsigned>(i) << 16;
      const unsigned b = 0xff00807fU ^ static_cast<unsigned>(j) << 16;
      const auto byte = [](unsigned word) { return static_cast<int>(word >> 16 & 0xffU); };
      const int x = byte(a);
      const int y = byte(b);
      const int sx = x < 128 ? x : x - 256;
      const int sy = y < 128 ? y : y - 256;
      faults += byte(__vadd4(a, b)) != (x + y) % 256;
      faults += byte(__vsub4(a, b)) != (x - y + 256) % 256;
      faults += byte(__vaddss4(a, b)) != (clamp(sx + sy, -128, 127) + 256) % 256;
      faults += byte(__vsubss4(a, b)) != (clamp(sx - sy, -128, 127) + 256) % 256;
      faults += byte(__vaddus4(a, b)) != clamp(x + y, 0, 255);
      faults += byte(__vsubus4(a, b)) != clamp(x - y, 0, 255);
      faults += byte(__vabsdiffs4(a, b)) != std::abs(sx - sy);
      faults += byte(__vabsdiffu4(a, b)) != std::abs(x - y);
      faults += byte(__vavgu4(a, b)) != (x + y + 1) / 2;
      faults += byte(__vhaddu4(a, b)) != (x + y) / 2;
      // Halves go away from zero only where the sum is not negative.
      const double half = (sx + sy) / 2.0;
      const int average = static_cast<int>(half >= 0 ? std::floor(half + 0.5) : std::floor(half));
      faults += byte(__vavgs4(a, b)) != (average + 256) % 256;
      faults += byte(__vcmpgts4(a, b)) != (sx > sy ? 255 : 0);
      faults += byte(__vcmpleu4(a, b)) != (x <= y ? 255 : 0);
      faults += byte(__vsetlts4(a, b)) != (sx < sy ? 1 : 0);
      faults += byte(__vmaxs4(a, b)) != (std::max(sx, sy) + 256) % 256;
      faults += byte(__vminu4(a, b)) != std::min(x, y);
      faults += byte(__vabsss4(a)) != clamp(std::abs(sx), 0, 127);
      faults += byte(__vneg4(b)) != (256 - y) % 256;
    }
  }
  CHECK(faults == 0);
  CHECK(__vsads2(0x80000001U, 0x7fff0003U) == 0xffffU + 2);
  CHECK(__vsadu4(0x00ff0180U, 0xff000000U) == 255 + 255 + 1 + 128);
  CHECK(__vabs2(0x80008001U) == 0x80007fffU);
  bool high = false;
  bool low = true;
  CHECK(__vibmax_s16x2(0x0001ffffU, 0x00010000U, &high, &low) == 0x00010000U);
  CHECK((high && !low));
  CHECK(__viaddmax_s32_relu(std::numeric_limits<int>::max(), 1, -5) == 0);
}
