// Layers forward and backward, as plain loops.
//
// Idea     A row of outputs is a sum of shifted rows of inputs, so the innermost loop runs along
//          a row and the compiler makes vectors of it. Both gradients of a convolution are
//          convolutions, too:
//
//              forward           y[m]        = Σ_c  x[c] correlated with w[m, c]
//              input gradient    dx[c]       = Σ_m  dy[m], with K − 1 zeros around, correlated with
//                                              w[m, c] turned by 180°
//              weight gradient   dw[m, c]    = Σ_images  x[c] correlated with dy[m]
//
//          With a stride, dy gets zeros in between. None of the networks here has one.
// Threads  Each output element is summed by one thread, in a fixed order, so that the result does
//          not depend on the number of threads.
// Run      build/bin/bench_training

#include "reference/training/layer.hpp"

#include <algorithm>
#include <array>
#include <type_traits>

#include "common/base/isa.hpp"
#include "common/network/layer_kernels.hpp"

namespace convlab::training {

namespace {

// Taps of a weight gradient that are computed together, so that their sums stay in registers.
constexpr int kTaps = 8;

/// Calls action(side) with a number that the compiler knows for the usual sides of a kernel: then
/// it unrolls the loops over the taps.
template <class Action>
void with_side(int side, const Action& action) {
  if (side == 3) return action(std::integral_constant<int, 3>{});
  if (side == 5) return action(std::integral_constant<int, 5>{});
  if (side == 7) return action(std::integral_constant<int, 7>{});
  action(side);
}

/// One image.
/// @param input    channels × height × width
/// @param weights  maps × channels × side × side
/// @param output   maps × out_height × out_width, every element is written
template <class Side, class Stride>
void correlate(Side side, Stride stride, const float* input, int channels, int height, int width,
               const float* weights, int maps, float* output) {
  const int out_height = (height - side) / stride + 1;
  const int out_width = (width - side) / stride + 1;
  std::fill_n(output, std::int64_t{maps} * out_height * out_width, 0.0F);
  for (int m = 0; m < maps; ++m) {
    for (int h = 0; h < out_height; ++h, output += out_width) {
      for (int c = 0; c < channels; ++c) {
        for (int p = 0; p < side; ++p) {
          const float* row = input + (std::int64_t{c} * height + h * stride + p) * width;
          const float* taps = weights + ((std::int64_t{m} * channels + c) * side + p) * side;
          float* const out = output;
#pragma omp simd
          for (int w = 0; w < out_width; ++w) {
            float sum = out[w];
            for (int q = 0; q < side; ++q) sum += taps[q] * row[w * stride + q];
            out[w] = sum;
          }
        }
      }
    }
  }
}

/// Adds one image's gradient of one pair of channels to `sums`, for the taps from (p, q) on.
/// @param input  a plane that may be read kTaps rows and columns past its end
template <int Rows>
void add_tap_sums(const float* input, int width, const float* d_output, int out_height,
                  int out_width, std::array<std::array<float, kTaps>, Rows>& sums) {
  std::array<std::array<float, kTaps>, Rows> own = sums;
  for (int h = 0; h < out_height; ++h) {
    for (int w = 0; w < out_width; ++w) {
      const float gradient = d_output[h * out_width + w];
      const float* at = input + std::int64_t{h} * width + w;
      for (int p = 0; p < Rows; ++p) {
        float* const row = own[static_cast<std::size_t>(p)].data();
#pragma omp simd
        for (int q = 0; q < kTaps; ++q) row[q] += gradient * at[std::int64_t{p} * width + q];
      }
    }
  }
  sums = own;
}

/// Copies planes and puts zeros around each, and `stride` − 1 zeros between neighbours.
std::vector<float> spread(const float* from, std::int64_t planes, int height, int width, int stride,
                          int before, int to_height, int to_width) {
  const std::int64_t plane = std::int64_t{to_height} * to_width;
  std::vector<float> to(static_cast<std::size_t>(planes * plane));
#pragma omp parallel for
  for (std::int64_t i = 0; i < planes; ++i) {
    for (int h = 0; h < height; ++h) {
      const float* row = from + (i * height + h) * width;
      float* out = to.data() + i * plane + std::int64_t{before + h * stride} * to_width + before;
      for (int w = 0; w < width; ++w) out[std::int64_t{w} * stride] = row[w];
    }
  }
  return to;
}

ConvShape shape_of(const ConvLayer& conv, const FeatureShape& in, int images) {
  return {.batch = images,
          .out_channels = conv.out_channels,
          .in_channels = in.channels,
          .height = in.height,
          .width = in.width,
          .kernel = conv.kernel,
          .stride = conv.stride};
}

void forward_dense(const float* input, std::int64_t inputs, const Tensor& weights,
                   const Tensor& bias, int units, float* output, int images) {
#pragma omp parallel for
  for (int u = 0; u < units; ++u) {
    const float* row = weights.values.data() + u * inputs;
    for (int i = 0; i < images; ++i) {
      const float* x = input + i * inputs;
      float sum = bias.values[static_cast<std::size_t>(u)];
#pragma omp simd reduction(+ : sum)
      for (std::int64_t j = 0; j < inputs; ++j) sum += row[j] * x[j];
      output[std::int64_t{i} * units + u] = sum;
    }
  }
}

void forward_pool(const PoolLayer& pool, const float* input, const FeatureShape& in, float* output,
                  const FeatureShape& out, int images) {
  const auto kernel = pool.function == PoolFunction::kMax ? CONVLAB_ISA_SELECT(max_pool)
                                                          : CONVLAB_ISA_SELECT(average_pool);
#pragma omp parallel
  {
    std::vector<float> row(static_cast<std::size_t>(in.width));
#pragma omp for
    for (int plane = 0; plane < images * in.channels; ++plane) {
      kernel(input + std::int64_t{plane} * in.height * in.width, in.height, in.width, pool.size,
             pool.stride, row.data(), output + std::int64_t{plane} * out.height * out.width,
             out.height, out.width);
    }
  }
}

/// The gradient of a maximum goes to the first of the largest values.
void backward_pool(const PoolLayer& pool, const float* input, const FeatureShape& in,
                   const float* d_output, const FeatureShape& out, float* d_input) {
  for (int out_y = 0; out_y < out.height; ++out_y) {
    const int top = out_y * pool.stride;
    const int bottom = std::min(top + pool.size, in.height);
    for (int out_x = 0; out_x < out.width; ++out_x, ++d_output) {
      const int left = out_x * pool.stride;
      const int right = std::min(left + pool.size, in.width);
      const float share = *d_output / static_cast<float>((bottom - top) * (right - left));
      int winner = top * in.width + left;
      for (int y = top; y < bottom; ++y) {
        for (int place = y * in.width + left; place < y * in.width + right; ++place) {
          if (pool.function == PoolFunction::kAverage) d_input[place] += share;
          winner = input[place] > input[winner] ? place : winner;
        }
      }
      if (pool.function == PoolFunction::kMax) d_input[winner] += *d_output;
    }
  }
}

}  // namespace

void convolve(const ConvShape& shape, const float* input, const float* weights, float* output) {
  validate(shape);
  const auto all_images = [&](auto side, auto stride) {
#pragma omp parallel for
    for (int image = 0; image < shape.batch; ++image) {
      correlate(side, stride, input + image * shape.input_image_size(), shape.in_channels,
                shape.height, shape.width, weights, shape.out_channels,
                output + image * shape.output_image_size());
    }
  };
  if (shape.stride > 1) return all_images(shape.kernel, shape.stride);
  with_side(shape.kernel, [&](auto side) { all_images(side, std::integral_constant<int, 1>{}); });
}

TrainableLayer::TrainableLayer(const Layer& layer, const FeatureShape& in)
    : layer_(layer), in_(in), out_(output_shape(layer, in)) {
  std::int64_t weights = 0;
  std::size_t units = 0;
  if (const auto* conv = std::get_if<ConvLayer>(&layer)) {
    weights = shape_of(*conv, in, 1).weights_size();
  } else if (const auto* dense = std::get_if<DenseLayer>(&layer)) {
    weights = dense->units * in.size();
    units = static_cast<std::size_t>(dense->units);
  }
  weights_.values.resize(static_cast<std::size_t>(weights));
  weights_.gradient.resize(weights_.values.size());
  bias_.values.resize(units);
  bias_.gradient.resize(units);
}

std::vector<Tensor*> TrainableLayer::tensors() {
  std::vector<Tensor*> all;
  for (Tensor* tensor : {&weights_, &bias_}) {
    if (!tensor->values.empty()) all.push_back(tensor);
  }
  return all;
}

void TrainableLayer::forward(const float* input, float* output, int images) const {
  if (const auto* conv = std::get_if<ConvLayer>(&layer_)) {
    convolve(shape_of(*conv, in_, images), input, weights_.values.data(), output);
  } else if (const auto* dense = std::get_if<DenseLayer>(&layer_)) {
    forward_dense(input, in_.size(), weights_, bias_, dense->units, output, images);
  } else if (const auto* pool = std::get_if<PoolLayer>(&layer_)) {
    forward_pool(*pool, input, in_, output, out_, images);
  } else {
    const bool relu = std::get<ActivationLayer>(layer_).function == ActivationFunction::kRelu;
    const auto function = relu ? CONVLAB_ISA_SELECT(relu) : CONVLAB_ISA_SELECT(tanh);
#pragma omp parallel for
    for (int image = 0; image < images; ++image) {
      std::copy_n(input + image * in_.size(), in_.size(), output + image * in_.size());
      function(output + image * in_.size(), in_.size());
    }
  }
}

void TrainableLayer::backward(const float* input, const float* output, const float* d_output,
                              float* d_input, int images) {
  if (const auto* conv = std::get_if<ConvLayer>(&layer_)) {
    backward(*conv, input, d_output, d_input, images);
  } else if (const auto* dense = std::get_if<DenseLayer>(&layer_)) {
    backward(*dense, input, d_output, d_input, images);
  } else if (d_input == nullptr) {
    return;
  } else if (const auto* pool = std::get_if<PoolLayer>(&layer_)) {
    std::fill_n(d_input, images * in_.size(), 0.0F);
    const std::int64_t in_plane = std::int64_t{in_.height} * in_.width;
    const std::int64_t out_plane = std::int64_t{out_.height} * out_.width;
#pragma omp parallel for
    for (std::int64_t plane = 0; plane < std::int64_t{images} * in_.channels; ++plane) {
      backward_pool(*pool, input + plane * in_plane, in_, d_output + plane * out_plane, out_,
                    d_input + plane * in_plane);
    }
  } else {
    // Both derivatives follow from the output.
    const bool relu = std::get<ActivationLayer>(layer_).function == ActivationFunction::kRelu;
#pragma omp parallel for simd
    for (std::int64_t i = 0; i < images * in_.size(); ++i) {
      const float slope = relu ? (output[i] > 0 ? 1.0F : 0.0F) : 1 - output[i] * output[i];
      d_input[i] = slope * d_output[i];
    }
  }
}

void TrainableLayer::backward(const ConvLayer& conv, const float* input, const float* d_output,
                              float* d_input, int images) {
  const int side = conv.kernel;
  const int maps = out_.channels;
  const int channels = in_.channels;
  const int height = in_.height - side + 1;  // of the output at stride 1
  const int width = in_.width - side + 1;
  const std::int64_t plane = std::int64_t{height} * width;

  const int read_height = in_.height + kTaps;
  const int read_width = in_.width + kTaps;
  const std::vector<float> readable = spread(input, std::int64_t{images} * channels, in_.height,
                                             in_.width, 1, 0, read_height, read_width);
  std::vector<float> every_place;
  const float* gradient = d_output;
  if (conv.stride > 1) {
    every_place = spread(d_output, std::int64_t{images} * maps, out_.height, out_.width,
                         conv.stride, 0, height, width);
    gradient = every_place.data();
  }
#pragma omp parallel for schedule(dynamic)
  for (int pair = 0; pair < maps * channels; ++pair) {
    const int m = pair / channels;
    const int c = pair % channels;
    float* taps = weights_.gradient.data() + std::int64_t{pair} * side * side;
    const auto some_rows = [&](auto rows, int first_row, int first_column) {
      std::array<std::array<float, kTaps>, rows> sums{};
      for (int i = 0; i < images; ++i) {
        const std::int64_t from = ((std::int64_t{i} * channels + c) * read_height + first_row);
        add_tap_sums<rows>(readable.data() + from * read_width + first_column, read_width,
                           gradient + (std::int64_t{i} * maps + m) * plane, height, width, sums);
      }
      for (int p = first_row; p < std::min(first_row + rows, side); ++p) {
        for (int q = first_column; q < std::min(first_column + kTaps, side); ++q) {
          taps[p * side + q] = sums[static_cast<std::size_t>(p - first_row)]
                                   [static_cast<std::size_t>(q - first_column)];
        }
      }
    };
    for (int q = 0; q < side; q += kTaps) {
      if (side == 5) {
        some_rows(std::integral_constant<int, 5>{}, 0, q);
        continue;
      }
      for (int p = 0; p < side; p += kTaps) some_rows(std::integral_constant<int, kTaps>{}, p, q);
    }
  }
  if (d_input == nullptr) return;

  std::vector<float> turned(weights_.values.size());
  for (int m = 0; m < maps; ++m) {
    for (int c = 0; c < channels; ++c) {
      const auto from = weights_.values.begin() + std::int64_t{m * channels + c} * side * side;
      std::reverse_copy(from, from + side * side,
                        turned.begin() + std::int64_t{c * maps + m} * side * side);
    }
  }
  const int wide_height = height + 2 * (side - 1);
  const int wide_width = width + 2 * (side - 1);
  const std::vector<float> wide = spread(gradient, std::int64_t{images} * maps, height, width, 1,
                                         side - 1, wide_height, wide_width);
  convolve({.batch = images,
            .out_channels = channels,
            .in_channels = maps,
            .height = wide_height,
            .width = wide_width,
            .kernel = side,
            .stride = 1},
           wide.data(), turned.data(), d_input);
}

void TrainableLayer::backward(const DenseLayer& dense, const float* input, const float* d_output,
                              float* d_input, int images) {
  const std::int64_t inputs = in_.size();
#pragma omp parallel for
  for (int u = 0; u < dense.units; ++u) {
    float* row = weights_.gradient.data() + u * inputs;
    std::fill_n(row, inputs, 0.0F);
    float sum = 0;
    for (int i = 0; i < images; ++i) {
      const float gradient = d_output[std::int64_t{i} * dense.units + u];
      const float* x = input + i * inputs;
      sum += gradient;
#pragma omp simd
      for (std::int64_t j = 0; j < inputs; ++j) row[j] += gradient * x[j];
    }
    bias_.gradient[static_cast<std::size_t>(u)] = sum;
  }
  if (d_input == nullptr) return;
#pragma omp parallel for
  for (int i = 0; i < images; ++i) {
    float* row = d_input + i * inputs;
    std::fill_n(row, inputs, 0.0F);
    for (int u = 0; u < dense.units; ++u) {
      const float gradient = d_output[std::int64_t{i} * dense.units + u];
      const float* weights = weights_.values.data() + u * inputs;
#pragma omp simd
      for (std::int64_t j = 0; j < inputs; ++j) row[j] += gradient * weights[j];
    }
  }
}

}  // namespace convlab::training
