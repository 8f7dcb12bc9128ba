// SIMD intrinsics over many operands; every result is exact.

#include "common/emulation/tests/features/sweep.hpp"

namespace convlab::features {
namespace {

constexpr unsigned kCount = 1U << 18;

/// A word whose bytes are often one of 0, 1, 0x7f, 0x80, 0xff, where signs and carries turn.
__device__ unsigned operand(unsigned i) {
  const unsigned random = scramble(i);
  const unsigned choice = scramble(i ^ 0x5a5a5a5aU);
  unsigned word = 0;
  for (unsigned byte = 0; byte < 4; ++byte) {
    const unsigned pick = choice >> (8 * byte) & 7U;
    const unsigned edge = pick == 0 ? 0U : pick == 1 ? 1U : pick == 2 ? 0x7fU : pick == 3 ? 0x80U : 0xffU;
    word |= (pick < 5 ? edge : random >> (8 * byte) & 0xffU) << (8 * byte);
  }
  return word;
}

struct Operands {
  unsigned a, b, c;
  __device__ explicit Operands(unsigned i)
      : a(operand(i)), b(i % 7 == 0 ? a : operand(i + kCount)), c(operand(i + 2 * kCount)) {}
};

/// Puts results together, so that each of them counts.
struct Chain {
  unsigned value = 0;
  __device__ Chain& operator<<(unsigned next) {
    value = value * 31U + next;
    return *this;
  }
};

#define BOTH_WIDTHS(name, ...) chain << name##2(__VA_ARGS__) << name##4(__VA_ARGS__)
#define SIMD_FEATURE(function, title, body)          \
  CONVLAB_SWEEP("SIMD", title, function, kCount, {   \
    const Operands o(i);                             \
    Chain chain;                                     \
    body;                                            \
    return chain.value;                              \
  })

SIMD_FEATURE(sums, "__vadd, __vsub, also saturated",
             BOTH_WIDTHS(__vadd, o.a, o.b); BOTH_WIDTHS(__vaddss, o.a, o.b);
             BOTH_WIDTHS(__vaddus, o.a, o.b); BOTH_WIDTHS(__vsub, o.a, o.b);
             BOTH_WIDTHS(__vsubss, o.a, o.b); BOTH_WIDTHS(__vsubus, o.a, o.b))
SIMD_FEATURE(signs, "__vabs, __vneg, also saturated",
             BOTH_WIDTHS(__vabs, o.a); BOTH_WIDTHS(__vabsss, o.a); BOTH_WIDTHS(__vneg, o.a);
             BOTH_WIDTHS(__vnegss, o.a))
SIMD_FEATURE(differences, "__vabsdiff, __vsad",
             BOTH_WIDTHS(__vabsdiffs, o.a, o.b); BOTH_WIDTHS(__vabsdiffu, o.a, o.b);
             BOTH_WIDTHS(__vsads, o.a, o.b); BOTH_WIDTHS(__vsadu, o.a, o.b))
SIMD_FEATURE(averages, "__vavg, __vhadd",
             BOTH_WIDTHS(__vavgs, o.a, o.b); BOTH_WIDTHS(__vavgu, o.a, o.b);
             BOTH_WIDTHS(__vhaddu, o.a, o.b))
SIMD_FEATURE(extremes, "__vmin, __vmax",
             BOTH_WIDTHS(__vmaxs, o.a, o.b); BOTH_WIDTHS(__vmaxu, o.a, o.b);
             BOTH_WIDTHS(__vmins, o.a, o.b); BOTH_WIDTHS(__vminu, o.a, o.b))
SIMD_FEATURE(masks, "__vcmp",
             BOTH_WIDTHS(__vcmpeq, o.a, o.b); BOTH_WIDTHS(__vcmpne, o.a, o.b);
             BOTH_WIDTHS(__vcmpges, o.a, o.b); BOTH_WIDTHS(__vcmpgts, o.a, o.b);
             BOTH_WIDTHS(__vcmples, o.a, o.b); BOTH_WIDTHS(__vcmplts, o.a, o.b);
             BOTH_WIDTHS(__vcmpgeu, o.a, o.b); BOTH_WIDTHS(__vcmpgtu, o.a, o.b);
             BOTH_WIDTHS(__vcmpleu, o.a, o.b); BOTH_WIDTHS(__vcmpltu, o.a, o.b))
SIMD_FEATURE(flags, "__vset",
             BOTH_WIDTHS(__vseteq, o.a, o.b); BOTH_WIDTHS(__vsetne, o.a, o.b);
             BOTH_WIDTHS(__vsetges, o.a, o.b); BOTH_WIDTHS(__vsetgts, o.a, o.b);
             BOTH_WIDTHS(__vsetles, o.a, o.b); BOTH_WIDTHS(__vsetlts, o.a, o.b);
             BOTH_WIDTHS(__vsetgeu, o.a, o.b); BOTH_WIDTHS(__vsetgtu, o.a, o.b);
             BOTH_WIDTHS(__vsetleu, o.a, o.b); BOTH_WIDTHS(__vsetltu, o.a, o.b))

#define WORDS(name) \
  chain << static_cast<unsigned>(name##_s32(x, y, z)) << name##_u32(o.a, o.b, o.c)
#define HALVES(name) chain << name##_s16x2(o.a, o.b, o.c) << name##_u16x2(o.a, o.b, o.c)
#define RELU(name) \
  chain << static_cast<unsigned>(name##_s32_relu(x, y, z)) << name##_s16x2_relu(o.a, o.b, o.c)

SIMD_FEATURE(dpx, "__vimax3, __viaddmax and their kin (DPX)",
             const int x = static_cast<int>(o.a); const int y = static_cast<int>(o.b);
             const int z = static_cast<int>(o.c); WORDS(__vimax3); WORDS(__vimin3);
             WORDS(__viaddmax); WORDS(__viaddmin); HALVES(__vimax3); HALVES(__vimin3);
             HALVES(__viaddmax); HALVES(__viaddmin); RELU(__vimax3); RELU(__vimin3);
             RELU(__viaddmax); RELU(__viaddmin);
             chain << static_cast<unsigned>(__vimax_s32_relu(x, y))
                   << static_cast<unsigned>(__vimin_s32_relu(x, y))
                   << __vimax_s16x2_relu(o.a, o.b) << __vimin_s16x2_relu(o.a, o.b))
SIMD_FEATURE(choices, "__vibmax, __vibmin (DPX)",
             bool high = false; bool low = false;
             chain << static_cast<unsigned>(
                 __vibmax_s32(static_cast<int>(o.a), static_cast<int>(o.b), &low));
             chain << low << __vibmax_u32(o.a, o.b, &low); chain << low;
             chain << static_cast<unsigned>(
                 __vibmin_s32(static_cast<int>(o.a), static_cast<int>(o.b), &low));
             chain << low << __vibmin_u32(o.a, o.b, &low); chain << low;
             chain << __vibmax_s16x2(o.a, o.b, &high, &low); chain << high << low;
             chain << __vibmax_u16x2(o.a, o.b, &high, &low); chain << high << low;
             chain << __vibmin_s16x2(o.a, o.b, &high, &low); chain << high << low;
             chain << __vibmin_u16x2(o.a, o.b, &high, &low); chain << high << low)

}  // namespace
}  // namespace convlab::features
