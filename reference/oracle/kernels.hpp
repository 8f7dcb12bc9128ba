#pragma once

#include <cstdint>

/// The hot loops of the oracle, compiled once per instruction set (convlab_add_isa_kernels).
/// They run on one thread; their callers spread images over threads.

namespace convlab::oracle {

/// Output maps that are computed together, so that each loaded input serves all of them.
inline constexpr int kMapBlock = 4;

/// Rows of outputs are computed in multiples of this; the rest reads zeros.
inline constexpr int kRowMultiple = 8;

/// One row of outputs of kMapBlock maps, for each column that a window may begin in.
struct RowTask {
  const double* values;             ///< at the row's first input row
  const double* magnitudes;         ///< laid out as values
  const double* weights;            ///< [channel][kernel row][kernel column][kMapBlock]
  const double* weight_magnitudes;  ///< their absolute values
  std::int64_t channel_pitch;
  std::int64_t row_pitch;
  int channels;
  int kernel;
  int width;               ///< outputs in the row, a multiple of kRowMultiple
  double* out_values;      ///< kMapBlock rows of `width`
  double* out_magnitudes;  ///< kMapBlock rows of `width`
};

}  // namespace convlab::oracle

namespace convlab::oracle::baseline {
void convolve_row(const RowTask& task);
}
#if defined(__x86_64__)
namespace convlab::oracle::avx2 {
void convolve_row(const RowTask& task);
}
namespace convlab::oracle::avx512 {
void convolve_row(const RowTask& task);
}
#endif
