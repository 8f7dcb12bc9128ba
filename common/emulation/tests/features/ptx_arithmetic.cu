// Inline PTX: arithmetic, predicates, conversions, barriers with numbers.

#include "common/emulation/tests/features/sweep.hpp"

namespace convlab::features {
namespace {

constexpr unsigned kCount = 1U << 16;

__device__ unsigned word(unsigned i, unsigned operand) {
  // Small, large and special words meet each other.
  constexpr unsigned kSpecial[] = {0, 1, 31, 32, 33, 0x7fffffffU, 0x80000000U, 0xffffffffU};
  const unsigned bits = scramble(i * 4 + operand);
  return bits % 5 == 0 ? kSpecial[bits >> 29] : bits % 5 == 1 ? bits >> 24 : scramble(bits);
}

__device__ unsigned long long wide_word(unsigned i, unsigned operand) {
  return static_cast<unsigned long long>(word(i, operand)) << 32 | word(i + kCount, operand);
}

__device__ float number(unsigned i, unsigned operand) {
  constexpr float kSpecial[] = {0.0F, -0.0F, 1.0F, -1.0F, 1e30F, -1e30F, 1e-30F, 2.5F};
  const unsigned bits = scramble(i * 4 + operand);
  return bits % 4 == 0 ? kSpecial[bits >> 29]
                       : __uint_as_float((bits & 0x807fffffU) | (110U + (bits >> 23) % 40U) << 23);
}

__device__ unsigned mixed(unsigned sum, unsigned part) {
  return sum * 31U + part;
}
__device__ unsigned mixed(unsigned sum, int part) {
  return sum * 31U + static_cast<unsigned>(part);
}
__device__ unsigned mixed(unsigned sum, float part) {
  return sum * 31U + __float_as_uint(part);
}
__device__ unsigned mixed(unsigned sum, unsigned long long part) {
  return mixed(mixed(sum, static_cast<unsigned>(part >> 32)), static_cast<unsigned>(part));
}
__device__ unsigned mixed(unsigned sum, double part) {
  return mixed(sum, static_cast<unsigned long long>(__double_as_longlong(part)));
}

/// One word that depends on each of the results.
template <class... Results>
__device__ unsigned one_word(Results... results) {
  unsigned sum = 0;
  ((sum = mixed(sum, results)), ...);
  return sum;
}
template <class Result, int count>
__device__ unsigned one_word(const Result (&results)[count]) {
  unsigned sum = 0;
  for (const Result result : results) sum = mixed(sum, result);
  return sum;
}

__device__ unsigned compared(int a, int b) {
  unsigned is[6];
  asm("{ .reg .pred p;"
      "  setp.eq.s32 p, %6, %7; selp.u32 %0, 1, 0, p;"
      "  setp.ne.s32 p, %6, %7; selp.u32 %1, 1, 0, p;"
      "  setp.lt.s32 p, %6, %7; selp.u32 %2, 1, 0, p;"
      "  setp.le.s32 p, %6, %7; selp.u32 %3, 1, 0, p;"
      "  setp.gt.s32 p, %6, %7; selp.u32 %4, 1, 0, p;"
      "  setp.ge.s32 p, %6, %7; selp.u32 %5, 1, 0, p; }"
      : "=&r"(is[0]), "=&r"(is[1]), "=&r"(is[2]), "=&r"(is[3]), "=&r"(is[4]), "=&r"(is[5])
      : "r"(a), "r"(b));
  return one_word(is);
}
__device__ unsigned compared(unsigned a, unsigned b) {
  unsigned is[6];
  asm("{ .reg .pred p;"
      "  setp.eq.u32 p, %6, %7; selp.u32 %0, 1, 0, p;"
      "  setp.ne.u32 p, %6, %7; selp.u32 %1, 1, 0, p;"
      "  setp.lt.u32 p, %6, %7; selp.u32 %2, 1, 0, p;"
      "  setp.le.u32 p, %6, %7; selp.u32 %3, 1, 0, p;"
      "  setp.gt.u32 p, %6, %7; selp.u32 %4, 1, 0, p;"
      "  setp.ge.u32 p, %6, %7; selp.u32 %5, 1, 0, p; }"
      : "=&r"(is[0]), "=&r"(is[1]), "=&r"(is[2]), "=&r"(is[3]), "=&r"(is[4]), "=&r"(is[5])
      : "r"(a), "r"(b));
  return one_word(is);
}
__device__ unsigned compared(long long a, long long b) {
  unsigned is[6];
  asm("{ .reg .pred p;"
      "  setp.eq.s64 p, %6, %7; selp.u32 %0, 1, 0, p;"
      "  setp.ne.s64 p, %6, %7; selp.u32 %1, 1, 0, p;"
      "  setp.lt.s64 p, %6, %7; selp.u32 %2, 1, 0, p;"
      "  setp.le.s64 p, %6, %7; selp.u32 %3, 1, 0, p;"
      "  setp.gt.s64 p, %6, %7; selp.u32 %4, 1, 0, p;"
      "  setp.ge.s64 p, %6, %7; selp.u32 %5, 1, 0, p; }"
      : "=&r"(is[0]), "=&r"(is[1]), "=&r"(is[2]), "=&r"(is[3]), "=&r"(is[4]), "=&r"(is[5])
      : "l"(a), "l"(b));
  return one_word(is);
}
__device__ unsigned compared(float a, float b) {
  unsigned is[6];
  asm("{ .reg .pred p;"
      "  setp.eq.f32 p, %6, %7; selp.u32 %0, 1, 0, p;"
      "  setp.ne.f32 p, %6, %7; selp.u32 %1, 1, 0, p;"
      "  setp.lt.f32 p, %6, %7; selp.u32 %2, 1, 0, p;"
      "  setp.le.f32 p, %6, %7; selp.u32 %3, 1, 0, p;"
      "  setp.gt.f32 p, %6, %7; selp.u32 %4, 1, 0, p;"
      "  setp.ge.f32 p, %6, %7; selp.u32 %5, 1, 0, p; }"
      : "=&r"(is[0]), "=&r"(is[1]), "=&r"(is[2]), "=&r"(is[3]), "=&r"(is[4]), "=&r"(is[5])
      : "f"(a), "f"(b));
  return one_word(is);
}
__device__ unsigned compared(double a, double b) {
  unsigned is[6];
  asm("{ .reg .pred p;"
      "  setp.eq.f64 p, %6, %7; selp.u32 %0, 1, 0, p;"
      "  setp.ne.f64 p, %6, %7; selp.u32 %1, 1, 0, p;"
      "  setp.lt.f64 p, %6, %7; selp.u32 %2, 1, 0, p;"
      "  setp.le.f64 p, %6, %7; selp.u32 %3, 1, 0, p;"
      "  setp.gt.f64 p, %6, %7; selp.u32 %4, 1, 0, p;"
      "  setp.ge.f64 p, %6, %7; selp.u32 %5, 1, 0, p; }"
      : "=&r"(is[0]), "=&r"(is[1]), "=&r"(is[2]), "=&r"(is[3]), "=&r"(is[4]), "=&r"(is[5])
      : "d"(a), "d"(b));
  return one_word(is);
}

__device__ unsigned comparisons(unsigned i) {
  const unsigned a = word(i, 0);
  const unsigned b = i % 3 == 0 ? a : word(i, 1);
  const float x = i % 7 == 0 ? __uint_as_float(0x7fffffffU) : number(i, 0);
  const float y = i % 3 == 0 ? x : number(i, 1);
  return one_word(compared(static_cast<int>(a), static_cast<int>(b)), compared(a, b),
                  compared(static_cast<long long>(wide_word(i, 0)),
                           static_cast<long long>(wide_word(i, i % 3 == 0 ? 0 : 1))),
                  compared(x, y), compared(static_cast<double>(x), static_cast<double>(y)));
}

__device__ unsigned guards(unsigned i) {
  unsigned result;
  asm("{ .reg .pred %%p, q; .reg .u32 t; setp.lt.s32 %%p, %1, 0; setp.gt.u32 q, %2, %1;"
      "  mov.u32 t, 7; selp.b32 %0, 1, 2, %%p; @%%p add.u32 %0, %0, %2; @q mul.lo.u32 t, t, %1;"
      "  @!q add.u32 %0, %0, 1000; add.u32 %0, %0, t; }"
      : "=&r"(result)
      : "r"(word(i, 0)), "r"(word(i, 1)));
  return result;
}

__device__ unsigned least_and_most(unsigned i) {
  unsigned part[9];
  asm("min.s32 %0, %5, %6; max.s32 %1, %5, %6; min.u32 %2, %5, %6; abs.s32 %3, %5; neg.s32 %4, %5;"
      : "=&r"(part[0]), "=&r"(part[1]), "=&r"(part[2]), "=&r"(part[3]), "=r"(part[4])
      : "r"(word(i, 0)), "r"(word(i, 1) & 0x7fffffffU));
  // What a GPU makes of a division by 0 is not defined.
  asm("div.u32 %0, %4, %5; rem.u32 %1, %4, %5; div.s32 %2, %4, %6; rem.s32 %3, %4, %6;"
      : "=&r"(part[5]), "=&r"(part[6]), "=&r"(part[7]), "=r"(part[8])
      : "r"(word(i, 0)), "r"(word(i, 1) | 2U), "r"((word(i, 1) & 0xffffU) + 1));
  unsigned long long most;
  asm("max.s64 %0, %1, %2;" : "=l"(most) : "l"(wide_word(i, 0)), "l"(wide_word(i, 1)));
  return one_word(one_word(part), most);
}

__device__ unsigned real_numbers(unsigned i) {
  const float divisor = number(i, 1) == 0.0F ? 3.0F : number(i, 1);
  float part[10];
  asm("add.f32 %0, %5, %6; sub.rn.f32 %1, %5, %6; mul.f32 %2, %5, %6; min.f32 %3, %5, %6;"
      "max.f32 %4, %5, %6;"
      : "=&f"(part[0]), "=&f"(part[1]), "=&f"(part[2]), "=&f"(part[3]), "=f"(part[4])
      : "f"(number(i, 0)), "f"(number(i, 1)));
  asm("div.rn.f32 %0, %5, %6; rcp.rn.f32 %1, %6; neg.f32 %2, %5; fma.rn.f32 %3, %5, %6, %7;"
      "abs.f32 %4, %5; sqrt.rn.f32 %4, %4;"
      : "=&f"(part[5]), "=&f"(part[6]), "=&f"(part[7]), "=&f"(part[8]), "=&f"(part[9])
      : "f"(number(i, 0)), "f"(divisor), "f"(number(i, 2)));
  double sum;
  asm("fma.rn.f64 %0, %1, %2, %1;"
      : "=d"(sum)
      : "d"(static_cast<double>(number(i, 0))), "d"(static_cast<double>(number(i, 1))));
  return one_word(one_word(part), sum);
}

__device__ unsigned conversions(unsigned i) {
  unsigned long long wide[2];
  double exact[2];
  asm("cvt.s64.s32 %0, %4; cvt.u64.u32 %1, %4; cvt.rn.f64.s32 %2, %4; cvt.f64.f32 %3, %5;"
      : "=&l"(wide[0]), "=&l"(wide[1]), "=&d"(exact[0]), "=d"(exact[1])
      : "r"(word(i, 0)), "f"(number(i, 0)));
  unsigned low;
  float rounded[4];
  asm("cvt.u32.u64 %0, %5; cvt.rn.f32.u64 %1, %5; cvt.rn.f32.s32 %2, %6; cvt.rn.f32.u32 %3, %6;"
      "cvt.rn.f32.f64 %4, %7;"
      : "=&r"(low), "=&f"(rounded[0]), "=&f"(rounded[1]), "=&f"(rounded[2]), "=f"(rounded[3])
      : "l"(wide_word(i, 1)), "r"(word(i, 0)), "d"(exact[1] * 1.00000001));
  return one_word(one_word(wide), one_word(exact), low, one_word(rounded));
}

__device__ unsigned fields(unsigned i) {
  const unsigned a = word(i, 0);
  const unsigned b = word(i, 1);
  const unsigned at = word(i, 2) % 40;
  const unsigned long long wide = wide_word(i, 3);
  unsigned r[9];
  unsigned long long w[3];
  asm("bfe.u32 %0, %9, %11, %12; bfe.s32 %1, %9, %11, %12; bfi.b32 %2, %9, %10, %11, %12;"
      "bfind.u32 %3, %9; bfind.s32 %4, %9; brev.b32 %5, %9; popc.b32 %6, %9; clz.b32 %7, %9;"
      "prmt.b32 %8, %9, %10, %13;"
      : "=&r"(r[0]), "=&r"(r[1]), "=&r"(r[2]), "=&r"(r[3]), "=&r"(r[4]), "=&r"(r[5]), "=&r"(r[6]),
        "=&r"(r[7]), "=r"(r[8])
      : "r"(a), "r"(b), "r"(at), "r"(b % 40), "r"(word(i, 3)));
  unsigned s[6];
  asm("shf.l.wrap.b32 %0, %6, %7, %8; shf.r.wrap.b32 %1, %6, %7, %8; shf.l.clamp.b32 %2, %6, %7, %8;"
      "shf.r.clamp.b32 %3, %6, %7, %8; sad.u32 %4, %6, %7, %8; sad.s32 %5, %6, %7, %8;"
      : "=&r"(s[0]), "=&r"(s[1]), "=&r"(s[2]), "=&r"(s[3]), "=&r"(s[4]), "=r"(s[5])
      : "r"(a), "r"(b), "r"(at));
  asm("bfe.u64 %0, %3, %4, %5; bfe.s64 %1, %3, %4, %5; bfi.b64 %2, %3, %6, %4, %5;"
      : "=&l"(w[0]), "=&l"(w[1]), "=l"(w[2])
      : "l"(wide), "r"(at * 2), "r"(b % 70), "l"(wide_word(i, 1)));
  return one_word(one_word(r), one_word(s), one_word(w));
}

__device__ unsigned carries(unsigned i) {
  unsigned r[7];
  asm("add.cc.u32 %0, %7, %8; addc.cc.u32 %1, %9, %10; addc.u32 %2, 0, 0;"
      "sub.cc.u32 %3, %7, %8; subc.u32 %4, %9, %10;"
      "mad.lo.cc.u32 %5, %7, %8, %9; madc.hi.u32 %6, %7, %8, %10;"
      : "=&r"(r[0]), "=&r"(r[1]), "=&r"(r[2]), "=&r"(r[3]), "=&r"(r[4]), "=&r"(r[5]), "=r"(r[6])
      : "r"(word(i, 0)), "r"(word(i, 1)), "r"(word(i, 2)), "r"(word(i, 3)));
  unsigned long long w[6];
  asm("mul.wide.u32 %0, %6, %7; mul.wide.s32 %1, %6, %7; mul.hi.u64 %2, %8, %9; mul.hi.s64 %3, %8, "
      "%9; add.cc.u64 %4, %8, %9; addc.u64 %5, %8, %9;"
      : "=&l"(w[0]), "=&l"(w[1]), "=&l"(w[2]), "=&l"(w[3]), "=&l"(w[4]), "=l"(w[5])
      : "r"(word(i, 0)), "r"(word(i, 1)), "l"(wide_word(i, 0)), "l"(wide_word(i, 2)));
  return one_word(one_word(r), one_word(w));
}

__device__ unsigned modes(unsigned i) {
  const float a = number(i, 0);
  const float b = number(i, 1);
  float r[6];
  asm("add.rz.f32 %0, %6, %7; sub.rm.f32 %1, %6, %7; mul.rp.f32 %2, %6, %7; div.rz.f32 %3, %6, %7;"
      "fma.rm.f32 %4, %6, %7, %8; sqrt.rp.f32 %5, %8;"
      : "=&f"(r[0]), "=&f"(r[1]), "=&f"(r[2]), "=&f"(r[3]), "=&f"(r[4]), "=f"(r[5])
      : "f"(a), "f"(b), "f"(1.0F / 3));
  int whole[4];
  asm("cvt.rni.s32.f32 %0, %4; cvt.rzi.s32.f32 %1, %4; cvt.rmi.s32.f32 %2, %4; cvt.rpi.s32.f32 %3, "
      "%4;"
      : "=&r"(whole[0]), "=&r"(whole[1]), "=&r"(whole[2]), "=r"(whole[3])
      : "f"(a * 64));
  // A rounded product and a rounded sum are never fused.
  float apart;
  asm("{ .reg .f32 t; mul.rn.f32 t, %1, %2; add.rn.f32 %0, t, %3; }"
      : "=f"(apart)
      : "f"(a), "f"(b), "f"(-1.0F));
  // The sign and the low bits of a NaN are told elsewhere.
  unsigned sum = one_word(whole);
  for (const float each : r) sum = mixed(sum, each == each ? each : 0.0F);
  return mixed(sum, apart == apart ? apart : 0.0F);
}

#define PTX(function, title) \
  CONVLAB_SWEEP("inline PTX", title, sweep_##function, kCount, { return function(i); })

PTX(comparisons, "setp with eq, ne, lt, le, gt, ge; selp")
PTX(guards, "@p and @!p before an instruction; predicates of a statement")
PTX(least_and_most, "min, max, abs, neg of whole numbers; div, rem")
PTX(real_numbers, "add, sub, mul, fma, div, rcp, sqrt, min, max, abs, neg of float and double")
PTX(fields, "bfe, bfi, bfind, brev, popc, clz, prmt, shf, sad")
PTX(carries, "add.cc, addc, sub.cc, subc, mad.lo.cc, madc.hi; mul.wide, mul.hi")
PTX(modes, "rz, rm, rp of float; cvt.rni, rzi, rmi, rpi; rn is never fused")
PTX(conversions, "cvt between whole numbers, and to floating point")

/// Each half of the block goes its own number of rounds; then the first tells the second.
__global__ void meet_in_halves(int* out) {
  __shared__ int values[128];
  const int half = static_cast<int>(threadIdx.x / 64);
  for (int round = 0; round < 2 + half; ++round) {
    values[threadIdx.x] = static_cast<int>(threadIdx.x) + round;
    asm volatile("bar.sync %0, 64;" ::"r"(half + 1) : "memory");
    out[threadIdx.x] = values[threadIdx.x ^ 63U];
    asm volatile("bar.sync %0, %1;" ::"r"(half + 1), "n"(64) : "memory");
  }
  if (half == 0) {
    values[threadIdx.x] = 1000;
    asm volatile("bar.arrive 3, 128;" ::: "memory");
  } else {
    asm volatile("barrier.sync 3, 128;" ::: "memory");
    out[threadIdx.x] += values[threadIdx.x - 64];
  }
}

__global__ void change(unsigned* out) {
  __shared__ unsigned words[8];
  if (threadIdx.x < 8) words[threadIdx.x] = threadIdx.x == 3 ? ~0U : 0;
  __syncthreads();
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(words));
  const unsigned t = threadIdx.x;
  asm volatile(
      "{ .reg .u32 old; atom.shared.add.u32 old, [%0], %1; red.shared.max.s32 [%0 + 4], %1;"
      "red.shared.min.u32 [%0 + 12], %1; red.shared.or.b32 [%0 + 16], %2;"
      "atom.shared.inc.u32 old, [%0 + 20], 40; red.shared.xor.b32 [%0 + 24], %1; }" ::"r"(at),
      "r"(t * 3), "r"(1U << t % 32)
      : "memory");
  unsigned old = 0;
  asm volatile("atom.shared.cas.b32 %0, [%1], 0, %2;" : "=r"(old) : "r"(at + 28), "r"(7U) : "memory");
  asm volatile("red.global.add.u32 [%0], %1;" ::"l"(out + 8), "r"(old) : "memory");
  __syncthreads();
  if (t < 8) out[t] = words[t];
}

const Register kChanged{"inline PTX", "atom and red on shared and global memory",
                        [] { return results_of(change, 1, 128, 9); }};

const Register kHalves{"inline PTX", "bar.sync, bar.arrive, barrier.sync with numbers of barriers",
                       [] { return results_of(meet_in_halves, 1, 128, 128); }};

}  // namespace
}  // namespace convlab::features
