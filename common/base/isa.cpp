#include "common/base/isa.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "common/base/enum_name.hpp"

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
  return enum_name(isa, {"baseline", "avx2", "avx512"});
}

}  // namespace convlab
