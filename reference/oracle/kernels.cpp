// The oracle's loops on vectors of doubles.
//
// Idea     Every output needs two sums over the same taps: Σ a·b and Σ |a|·|b|. A block of
//          kMapBlock maps × kVectors vectors of outputs keeps all its sums in registers; a tap
//          loads the inputs once, and each weight is one broadcast for all outputs of its row.
// Cost     AVX-512: per tap 24 fused multiply-adds for 14 loads, so the multipliers are the limit.
// Includes none of the standard library: see convlab_add_isa_kernels.

#include "reference/oracle/kernels.hpp"

namespace convlab::oracle::CONVLAB_ISA {

namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 8;
constexpr int kVectors = 3;
#elif defined(__AVX2__)
constexpr int kLanes = 4;
constexpr int kVectors = 1;
#else
constexpr int kLanes = 2;
constexpr int kVectors = 1;
#endif
static_assert(kRowMultiple % kLanes == 0);

// `aligned` lowers the alignment: rows begin anywhere.
using Doubles [[gnu::vector_size(kLanes * 8), gnu::aligned(8), gnu::may_alias]] = double;

inline Doubles load(const double* from) {
  return *reinterpret_cast<const Doubles*>(from);
}
inline void store(double* to, Doubles value) {
  *reinterpret_cast<Doubles*>(to) = value;
}

template <int vectors>
inline void convolve_block(const RowTask& task, int column) {
  Doubles sums[kMapBlock][vectors] = {};
  Doubles magnitudes[kMapBlock][vectors] = {};
  const double* weight = task.weights;
  const double* weight_magnitude = task.weight_magnitudes;
  for (int channel = 0; channel < task.channels; ++channel) {
    for (int i = 0; i < task.kernel; ++i) {
      const std::int64_t row = channel * task.channel_pitch + i * task.row_pitch + column;
      for (int j = 0; j < task.kernel; ++j) {
        Doubles x[vectors];
        Doubles x_magnitude[vectors];
        for (int v = 0; v < vectors; ++v) {
          x[v] = load(task.values + row + j + std::int64_t{v} * kLanes);
          x_magnitude[v] = load(task.magnitudes + row + j + std::int64_t{v} * kLanes);
        }
        for (int m = 0; m < kMapBlock; ++m) {
          for (int v = 0; v < vectors; ++v) {
            sums[m][v] += x[v] * weight[m];
            magnitudes[m][v] += x_magnitude[v] * weight_magnitude[m];
          }
        }
        weight += kMapBlock;
        weight_magnitude += kMapBlock;
      }
    }
  }
  for (int m = 0; m < kMapBlock; ++m) {
    for (int v = 0; v < vectors; ++v) {
      const std::int64_t to = std::int64_t{m} * task.width + column + std::int64_t{v} * kLanes;
      store(task.out_values + to, sums[m][v]);
      store(task.out_magnitudes + to, magnitudes[m][v]);
    }
  }
}

// The rest of a row, in blocks as wide as fit.
template <int vectors>
void convolve_from(const RowTask& task, int column) {
  for (; column + vectors * kLanes <= task.width; column += vectors * kLanes)
    convolve_block<vectors>(task, column);
  if constexpr (vectors > 1) convolve_from<vectors - 1>(task, column);
}

}  // namespace

void convolve_row(const RowTask& task) {
  convolve_from<kVectors>(task, 0);
}

}  // namespace convlab::oracle::CONVLAB_ISA
