#pragma once

#include <cstdint>

/// The hot loops of the oracle, compiled once per instruction set (convlab_add_isa_kernels).
/// They run on one thread; their callers spread images over threads.

namespace convlab::oracle {

/// Output maps that are computed together, so that each loaded input serves all of them.
inline constexpr int kMapBlock = 4;

/// Rows of outputs are computed in multiples of this; the rest reads zeros.
inline constexpr int kRowMultiple = 8;

/// One row of outputs of kMapBlock maps. Planes hold [channel][row][phase][column]: with stride s,
/// column j of phase p is pixel j·s + p, so that neighbouring outputs read neighbouring numbers.
struct RowTask {
  const double* values;             ///< at the row's first input row
  const double* magnitudes;         ///< laid out as values
  const double* weights;            ///< [channel][kernel row][kernel column][kMapBlock]
  const double* weight_magnitudes;  ///< their absolute values
  std::int64_t channel_pitch;
  std::int64_t row_pitch;
  std::int64_t phase_pitch;
  int channels;
  int kernel;
  int stride;
  int width;               ///< outputs in the row, a multiple of kRowMultiple
  double* out_values;      ///< kMapBlock rows of `width`
  double* out_magnitudes;  ///< kMapBlock rows of `width`
};

/// What an output row must satisfy: |output − value| ≤ relative · (magnitude + softening).
struct RowBound {
  double relative;
  double softening;  ///< positive: keeps 0/0 out of the ratio
};

}  // namespace convlab::oracle

#define CONVLAB_ORACLE_KERNELS(isa)                                                               \
  namespace convlab::oracle::isa {                                                                \
  void convolve_row(const RowTask& task);                                                         \
  /* Compares `count` outputs. Returns false if one is not finite or out of bounds; otherwise     \
     raises worst_ratio to the largest |output − value| / (magnitude + softening). */           \
  bool check_row(const double* values, const double* magnitudes, const float* outputs, int count, \
                 const RowBound& bound, double& worst_ratio);                                     \
  }

CONVLAB_ORACLE_KERNELS(baseline)
#if defined(__x86_64__)
CONVLAB_ORACLE_KERNELS(avx2)
CONVLAB_ORACLE_KERNELS(avx512)
#endif
#undef CONVLAB_ORACLE_KERNELS
