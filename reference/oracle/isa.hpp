#pragma once

namespace convlab::oracle {

/// The instruction sets for which convlab_add_isa_kernels (ConvLabTargets.cmake) compiles.
enum class Isa { kBaseline, kAvx2, kAvx512 };

/// The best one that this processor, and its operating system, can run.
inline Isa best_isa() {
  static const Isa best = [] {
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")) {
      return Isa::kAvx512;
    }
    if (has_avx2) return Isa::kAvx2;
#endif
    return Isa::kBaseline;
  }();
  return best;
}

}  // namespace convlab::oracle

/// The copy of a function, declared in the namespaces baseline and, on x86-64, avx2 and avx512,
/// that suits this processor.
#if defined(__x86_64__)
#define CONVLAB_ISA_SELECT(name)             \
  (best_isa() == Isa::kAvx512 ? avx512::name \
   : best_isa() == Isa::kAvx2 ? avx2::name   \
                              : baseline::name)
#else
#define CONVLAB_ISA_SELECT(name) (baseline::name)
#endif
