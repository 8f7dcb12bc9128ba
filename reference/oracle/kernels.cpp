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
      int phase = 0;
      int step = 0;
      for (int j = 0; j < task.kernel; ++j) {
        const std::int64_t at = row + phase * task.phase_pitch + step;
        Doubles x[vectors];
        Doubles x_magnitude[vectors];
        for (int v = 0; v < vectors; ++v) {
          x[v] = load(task.values + at + std::int64_t{v} * kLanes);
          x_magnitude[v] = load(task.magnitudes + at + std::int64_t{v} * kLanes);
        }
        for (int m = 0; m < kMapBlock; ++m) {
          for (int v = 0; v < vectors; ++v) {
            sums[m][v] += x[v] * weight[m];
            magnitudes[m][v] += x_magnitude[v] * weight_magnitude[m];
          }
        }
        weight += kMapBlock;
        weight_magnitude += kMapBlock;
        if (++phase == task.stride) {
          phase = 0;
          ++step;
        }
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

bool check_row(const double* values, const double* magnitudes, const float* outputs, int count,
               const RowBound& bound, double& worst_ratio) {
  constexpr int kExponent = 0x7f800000;  // all ones in an infinity and in a NaN
  double worst = worst_ratio;
  int bad = 0;
#pragma omp simd reduction(max : worst) reduction(| : bad)
  for (int i = 0; i < count; ++i) {
    int bits = 0;
    __builtin_memcpy(&bits, outputs + i, sizeof bits);
    const double difference = static_cast<double>(outputs[i]) - values[i];
    const double error = difference < 0.0 ? -difference : difference;
    const double magnitude = magnitudes[i] + bound.softening;
    bad |= error <= magnitude * bound.relative ? 0 : 1;
    bad |= (bits & kExponent) == kExponent ? 1 : 0;
    const double ratio = error / magnitude;
    worst = ratio > worst ? ratio : worst;
  }
  if (bad == 0) worst_ratio = worst;
  return bad == 0;
}

}  // namespace convlab::oracle::CONVLAB_ISA
