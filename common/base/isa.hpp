#pragma once

namespace convlab {

/// Instruction sets for which hot loops of the workbook are compiled; see convlab_add_isa_kernels
/// in common/setup/cmake/ConvLabTargets.cmake.
enum class Isa { kBaseline, kAvx2, kAvx512 };

/// The best set that this processor, and its operating system, can run. CONVLAB_ISA in the
/// environment (baseline, avx2, avx512) lowers the choice, for tests; it never raises it.
Isa best_isa();

/// "baseline", "avx2", "avx512".
const char* to_string(Isa isa);

}  // namespace convlab

/// Yields the copy of the function NAME (declared beforehand in the namespaces
/// baseline and, on x86-64, avx2 and avx512) that suits this processor.
#if defined(__x86_64__)
#define CONVLAB_ISA_SELECT(name)                                   \
  (::convlab::best_isa() == ::convlab::Isa::kAvx512 ? avx512::name \
   : ::convlab::best_isa() == ::convlab::Isa::kAvx2 ? avx2::name   \
                                                    : baseline::name)
#else
#define CONVLAB_ISA_SELECT(name) (baseline::name)
#endif
