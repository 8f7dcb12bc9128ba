// Compiled once per instruction set. The compilers' vector extension lets one source serve SSE2,
// AVX2, AVX-512 and NEON. Include no standard header with inline functions: the linker could keep
// the copy for the wrong instruction set.
#include "common/network/layer_kernels.hpp"

namespace convlab::CONVLAB_ISA {

namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
constexpr int kTileImages = 4;  // 4×4 accumulators of 32 registers
constexpr int kTileUnits = 4;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
constexpr int kTileImages = 2;  // 2×4 accumulators of 16 registers
constexpr int kTileUnits = 4;
#else
constexpr int kLanes = 4;
constexpr int kTileImages = 2;
constexpr int kTileUnits = 4;
#endif

typedef float Vec __attribute__((vector_size(kLanes * sizeof(float))));
// The same vector at any address, and free to alias the float array it is loaded from.
typedef float LooseVec __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));

inline Vec load(const float* from) {
  return *reinterpret_cast<const LooseVec*>(from);
}
// exp(x) for x in [0, 20]: 2^n · exp(r), |r| <= ln 2 / 2, by the Taylor series to r^7.
inline float exp_positive(float x) {
  const float n_plus_magic = x * 1.44269504f + 12582912.0f;  // adding 1.5 · 2^23 rounds to nearest
  const float n = n_plus_magic - 12582912.0f;
  // ln 2 in two parts: the first has few enough bits for n · part to be exact.
  const float r = (x - n * 0.693145752f) - n * 1.42860677e-6f;
  float series = 1.0f / 5040;
  series = series * r + 1.0f / 720;
  series = series * r + 1.0f / 120;
  series = series * r + 1.0f / 24;
  series = series * r + 1.0f / 6;
  series = series * r + 0.5f;
  series = series * r + 1.0f;
  series = series * r + 1.0f;
  std::int32_t exponent = 0;
  __builtin_memcpy(&exponent, &n_plus_magic, sizeof exponent);
  exponent = (exponent - 0x4B400000 + 127) << 23;
  float power = 0;
  __builtin_memcpy(&power, &exponent, sizeof power);
  return series * power;
}

// NaN stays NaN.
inline float tanh_of(float x) {
  const float magnitude = __builtin_fabsf(x);
  // Small: the Taylor series, because 1 - 2 / (e^2x + 1) cancels there.
  const float square = x * x;
  float series = -929569.0f / 638512875.0f;
  series = series * square + 21844.0f / 6081075.0f;
  series = series * square - 1382.0f / 155925.0f;
  series = series * square + 62.0f / 2835.0f;
  series = series * square - 17.0f / 315.0f;
  series = series * square + 2.0f / 15.0f;
  series = series * square - 1.0f / 3.0f;
  const float small = x + x * square * series;
  // Large: above 9.1 the nearest float to tanh is 1; the clamp also keeps exp in its range.
  const float clamped = magnitude > 9.5f ? 9.5f : magnitude;
  const float large = 1.0f - 2.0f / (exp_positive(clamped + clamped) + 1.0f);
  return magnitude < 0.5f ? small : __builtin_copysignf(large, x);
}

// Combines the window's rows into `row`, then the window's columns into the output.
template <class Combine, class Finish>
inline void pool(const float* input, int height, int width, int size, int stride, float* row,
                 float* output, int out_height, int out_width, Combine combine, Finish finish) {
  for (int oy = 0; oy < out_height; ++oy) {
    const int top = oy * stride;
    const int rows = top + size <= height ? size : height - top;
    const float* first = input + std::int64_t{top} * width;
    for (int x = 0; x < width; ++x) row[x] = first[x];
    for (int y = 1; y < rows; ++y) {
      const float* next = first + std::int64_t{y} * width;
      for (int x = 0; x < width; ++x) row[x] = combine(row[x], next[x]);
    }
    float* out = output + std::int64_t{oy} * out_width;
    for (int ox = 0; ox < out_width; ++ox) {
      const int left = ox * stride;
      const int columns = left + size <= width ? size : width - left;
      float value = row[left];
      for (int x = 1; x < columns; ++x) value = combine(value, row[left + x]);
      out[ox] = finish(value, rows * columns);
    }
  }
}

inline float sum_of(Vec value) {
  float sum = 0;
  for (int lane = 0; lane < kLanes; ++lane) sum += value[lane];
  return sum;
}

// outputs[i][u] += Σ_k inputs[i][k] · weights[u][k] over `count` values of k, for Images × Units
// dot products at once: every load feeds Images or Units multiply-adds.
template <int Images, int Units>
inline void dot_tile(const float* inputs, const float* weights, std::int64_t pitch, int count,
                     float* outputs, std::int64_t output_pitch) {
  Vec sums[Images][Units] = {};
  int k = 0;
  for (; k + kLanes <= count; k += kLanes) {
    Vec left[Images];
    for (int i = 0; i < Images; ++i) left[i] = load(inputs + i * pitch + k);
    for (int u = 0; u < Units; ++u) {
      const Vec right = load(weights + u * pitch + k);
      for (int i = 0; i < Images; ++i) sums[i][u] += left[i] * right;
    }
  }
  for (int i = 0; i < Images; ++i) {
    for (int u = 0; u < Units; ++u) {
      float sum = sum_of(sums[i][u]);
      for (int rest = k; rest < count; ++rest) {
        sum += inputs[i * pitch + rest] * weights[u * pitch + rest];
      }
      outputs[i * output_pitch + u] += sum;
    }
  }
}

}  // namespace

void relu(float* values, std::int64_t size) {
  // NaN passes through, because a wrong convolution must stay visible.
  for (std::int64_t i = 0; i < size; ++i) values[i] = values[i] < 0.0f ? 0.0f : values[i];
}

void tanh(float* values, std::int64_t size) {
#pragma omp simd
  for (std::int64_t i = 0; i < size; ++i) values[i] = tanh_of(values[i]);
}

void max_pool(const float* input, int height, int width, int size, int stride, float* row,
              float* output, int out_height, int out_width) {
  const auto larger = [](float a, float b) { return a < b ? b : a; };
  const auto keep = [](float value, int) { return value; };
  pool(input, height, width, size, stride, row, output, out_height, out_width, larger, keep);
}

void average_pool(const float* input, int height, int width, int size, int stride, float* row,
                  float* output, int out_height, int out_width) {
  const auto add = [](float a, float b) { return a + b; };
  const auto divide = [](float value, int count) { return value / static_cast<float>(count); };
  pool(input, height, width, size, stride, row, output, out_height, out_width, add, divide);
}

void dense(const float* inputs, const float* weights, const float* bias, float* outputs, int images,
           int units, int input_size) {
  for (int i = 0; i < images; ++i) {
    for (int u = 0; u < units; ++u) outputs[std::int64_t{i} * units + u] = bias[u];
  }
  // A slice of all weight rows that stays in the second-level cache while the images pass by.
  constexpr int kSlice = 1024;
  const std::int64_t pitch = input_size;
  for (int begin = 0; begin < input_size; begin += kSlice) {
    const int count = begin + kSlice <= input_size ? kSlice : input_size - begin;
    int i = 0;
    for (; i + kTileImages <= images; i += kTileImages) {
      const float* rows = inputs + i * pitch + begin;
      float* out = outputs + std::int64_t{i} * units;
      int u = 0;
      for (; u + kTileUnits <= units; u += kTileUnits) {
        dot_tile<kTileImages, kTileUnits>(rows, weights + u * pitch + begin, pitch, count, out + u,
                                          units);
      }
      for (; u < units; ++u) {
        dot_tile<kTileImages, 1>(rows, weights + u * pitch + begin, pitch, count, out + u, units);
      }
    }
    for (; i < images; ++i) {
      for (int u = 0; u < units; ++u) {
        dot_tile<1, 1>(inputs + i * pitch + begin, weights + u * pitch + begin, pitch, count,
                       outputs + std::int64_t{i} * units + u, units);
      }
    }
  }
}

}  // namespace convlab::CONVLAB_ISA
