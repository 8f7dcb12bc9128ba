// Register tiles for the two sums of training.
//
// Idea     Each loaded vector feeds several multiply-adds whose sums stay in registers: a tile of
//          rows × vectors (weighted sums) or rows × terms (dot products). The data of one call fits
//          the first two caches, see the callers, so nothing is packed or copied.
// Cost     AVX-512, 8 rows × 3 vectors: 24 multiply-adds for 3 loads and 8 broadcasts.
// Run      build/bin/bench_training
//
// Compiled once per instruction set, with the compilers' vector extension. Include no standard
// header with inline functions: the linker could keep the copy for the wrong instruction set.
#include "reference/training/sum_kernels.hpp"

namespace convlab::training::CONVLAB_ISA {

namespace {

#if defined(__AVX512F__)
constexpr std::int64_t kLanes = 16;
constexpr int kSumRows = 8;  // 8×3 sums of 32 registers
constexpr int kSumVectors = 3;
constexpr int kDotRows = 4;  // 4×6 sums of 32 registers
constexpr int kDotTerms = 6;
#else
#if defined(__AVX2__)
constexpr std::int64_t kLanes = 8;
#else
constexpr std::int64_t kLanes = 4;
#endif
constexpr int kSumRows = 4;  // 4×3 sums of 16 registers
constexpr int kSumVectors = 3;
constexpr int kDotRows = 3;  // 3×4 sums of 16 registers
constexpr int kDotTerms = 4;
#endif

typedef float Vec __attribute__((vector_size(kLanes * sizeof(float))));
// The same vector at any address, and free to alias the float array it is loaded from.
typedef float LooseVec __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));

inline Vec load(const float* from) {
  return *reinterpret_cast<const LooseVec*>(from);
}
inline void store(float* to, Vec value) {
  *reinterpret_cast<LooseVec*>(to) = value;
}

inline float sum_of(Vec value) {
  float lanes[kLanes];
  store(lanes, value);
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  return lanes[0];
}

struct Sums {
  const float* coefficients;
  std::int64_t coefficient_pitch;
  const float* base;
  const std::int64_t* offsets;
  int terms;
  float* output;
  std::int64_t output_pitch;
};

template <int Rows, int Vectors>
inline void sum_tile(const Sums& sums, int first_row, std::int64_t column) {
  Vec tile[Rows][Vectors] = {};
  const float* coefficient = sums.coefficients + first_row;
  for (int t = 0; t < sums.terms; ++t, coefficient += sums.coefficient_pitch) {
    const float* source = sums.base + sums.offsets[t] + column;
    Vec values[Vectors];
    for (int v = 0; v < Vectors; ++v) values[v] = load(source + v * kLanes);
    for (int r = 0; r < Rows; ++r) {
      for (int v = 0; v < Vectors; ++v) tile[r][v] += coefficient[r] * values[v];
    }
  }
  for (int r = 0; r < Rows; ++r) {
    float* target = sums.output + (first_row + r) * sums.output_pitch + column;
    for (int v = 0; v < Vectors; ++v) store(target + v * kLanes, tile[r][v]);
  }
}

template <int Rows>
inline void sum_column(const Sums& sums, int first_row, std::int64_t column, std::int64_t left) {
  if (left >= kSumVectors * kLanes) {
    sum_tile<Rows, kSumVectors>(sums, first_row, column);
  } else if (left >= kLanes) {
    sum_tile<Rows, 1>(sums, first_row, column);
  } else {
    for (int r = first_row; r < first_row + Rows; ++r) {
      for (std::int64_t n = column; n < column + left; ++n) {
        float sum = 0;
        for (int t = 0; t < sums.terms; ++t) {
          sum += sums.coefficients[t * sums.coefficient_pitch + r] * sums.base[sums.offsets[t] + n];
        }
        sums.output[r * sums.output_pitch + n] = sum;
      }
    }
  }
}

// Calls sum_column<rows> for rows of 1 … kSumRows.
template <int Rows = kSumRows>
inline void sum_rows(int rows, const Sums& sums, int first_row, std::int64_t column,
                     std::int64_t left) {
  if constexpr (Rows == 1) {
    sum_column<1>(sums, first_row, column, left);
  } else if (rows == Rows) {
    sum_column<Rows>(sums, first_row, column, left);
  } else {
    sum_rows<Rows - 1>(rows, sums, first_row, column, left);
  }
}

struct Dots {
  const float* left;
  std::int64_t left_pitch;
  const float* base;
  const std::int64_t* offsets;
  float* output;
  std::int64_t output_pitch;
  std::int64_t count;
};

template <int Rows, int Terms>
inline void dot_tile(const Dots& dots, int first_row, int first_term) {
  const float* left[Rows];
  const float* right[Terms];
  for (int r = 0; r < Rows; ++r) left[r] = dots.left + (first_row + r) * dots.left_pitch;
  for (int t = 0; t < Terms; ++t) right[t] = dots.base + dots.offsets[first_term + t];
  Vec tile[Rows][Terms] = {};
  std::int64_t n = 0;
  for (; n + kLanes <= dots.count; n += kLanes) {
    Vec values[Rows];
    for (int r = 0; r < Rows; ++r) values[r] = load(left[r] + n);
    for (int t = 0; t < Terms; ++t) {
      const Vec factor = load(right[t] + n);
      for (int r = 0; r < Rows; ++r) tile[r][t] += values[r] * factor;
    }
  }
  for (int r = 0; r < Rows; ++r) {
    for (int t = 0; t < Terms; ++t) {
      float sum = sum_of(tile[r][t]);
      for (std::int64_t rest = n; rest < dots.count; ++rest) sum += left[r][rest] * right[t][rest];
      dots.output[(first_row + r) * dots.output_pitch + first_term + t] += sum;
    }
  }
}

template <int Rows, int Terms = kDotTerms>
inline void dot_terms(int terms, const Dots& dots, int first_row, int first_term) {
  if constexpr (Terms == 1) {
    dot_tile<Rows, 1>(dots, first_row, first_term);
  } else if (terms == Terms) {
    dot_tile<Rows, Terms>(dots, first_row, first_term);
  } else {
    dot_terms<Rows, Terms - 1>(terms, dots, first_row, first_term);
  }
}

template <int Rows = kDotRows>
inline void dot_rows(int rows, int terms, const Dots& dots, int first_row, int first_term) {
  if constexpr (Rows == 1) {
    dot_terms<1>(terms, dots, first_row, first_term);
  } else if (rows == Rows) {
    dot_terms<Rows>(terms, dots, first_row, first_term);
  } else {
    dot_rows<Rows - 1>(rows, terms, dots, first_row, first_term);
  }
}

// The size of the next tile, at most `most`, chosen so that the remaining tiles are about equal.
inline int next_tile(int left, int most) {
  const int tiles = (left + most - 1) / most;
  return (left + tiles - 1) / tiles;
}

}  // namespace

void weighted_sums(const float* coefficients, std::int64_t coefficient_pitch, const float* base,
                   const std::int64_t* offsets, int terms, int rows, float* output,
                   std::int64_t output_pitch, std::int64_t count) {
  const Sums sums{coefficients, coefficient_pitch, base, offsets, terms, output, output_pitch};
  // Columns outside: their slice of all terms stays in the first-level cache for all rows.
  std::int64_t column = 0;
  while (column < count) {
    const std::int64_t left = count - column;
    for (int row = 0; row < rows;) {
      const int tile = next_tile(rows - row, kSumRows);
      sum_rows(tile, sums, row, column, left);
      row += tile;
    }
    column += left >= kSumVectors * kLanes ? kSumVectors * kLanes : left >= kLanes ? kLanes : left;
  }
}

void dot_products(const float* left, std::int64_t left_pitch, const float* base,
                  const std::int64_t* offsets, int terms, int rows, float* output,
                  std::int64_t output_pitch, std::int64_t count) {
  const Dots dots{left, left_pitch, base, offsets, output, output_pitch, count};
  for (int row = 0; row < rows;) {
    const int row_tile = next_tile(rows - row, kDotRows);
    for (int term = 0; term < terms;) {
      const int term_tile = next_tile(terms - term, kDotTerms);
      dot_rows(row_tile, term_tile, dots, row, term);
      term += term_tile;
    }
    row += row_tile;
  }
}

}  // namespace convlab::training::CONVLAB_ISA
