#include "common/simd/isa.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace convlab {

namespace {

Isa detect() {
  Isa found = Isa::kBaseline;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found = Isa::kAvx2;
  if (found == Isa::kAvx2 && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq")) {
    found = Isa::kAvx512;
  }
#endif
  if (const char* wish = std::getenv("CONVLAB_ISA")) {
    for (Isa isa : {Isa::kBaseline, Isa::kAvx2, Isa::kAvx512}) {
      if (std::string_view(wish) == to_string(isa)) found = std::min(found, isa);
    }
  }
  return found;
}

}  // namespace

Isa best_isa() {
  static const Isa isa = detect();
  return isa;
}

const char* to_string(Isa isa) {
  switch (isa) {
    case Isa::kBaseline:
      return "baseline";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
  }
  return "unknown";
}

}  // namespace convlab
