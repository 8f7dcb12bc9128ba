// Layers forward and backward, as plain loops. Forward, all but the convolution is the network's.
//
// Idea     With the pixels under each tap of the kernel in a row of a matrix (unfold), a
//          convolution and its gradients are products of matrices; so are those of a dense layer:
//
//              forward           y  = w · unfold(x)
//              input gradient    dx = fold(wᵀ · dy)
//              weight gradient   dw = Σ_images  dy · unfold(x)ᵀ
// Threads  Each number is summed by one thread, in a fixed order, so that the result does not
//          depend on the number of threads.
// Run      build/bin/bench_training

#include <algorithm>

#include "common/network/network.hpp"
#include "reference/training/model.hpp"

namespace convlab::training {

namespace {

/// Elements [row][k] of the left factor of a product; either step may be 1.
struct Factor {
  const float* values;
  std::int64_t row_step;
  std::int64_t k_step;
};

constexpr int kRows = 4;
constexpr int kColumns = 32;

/// The sums of one tile, which stay in registers if the compiler knows its size.
inline void multiply_tile(Factor a, const float* b, int depth, std::int64_t pitch, int rows,
                          int columns, float* to) {
  float sums[kRows][kColumns] = {};
  for (int k = 0; k < depth; ++k) {
    for (int row = 0; row < rows; ++row) {
      const float factor = a.values[row * a.row_step + k * a.k_step];
#pragma omp simd
      for (int column = 0; column < columns; ++column) {
        sums[row][column] += factor * b[k * pitch + column];
      }
    }
  }
  for (int row = 0; row < rows; ++row) std::copy_n(sums[row], columns, to + row * pitch);
}

/// to[row][column] = Σ_k a[row][k] · b[k][column]
void multiply(Factor a, const float* b, int rows, int depth, std::int64_t columns, float* to) {
  for (int row = 0; row < rows; row += kRows, a.values += kRows * a.row_step) {
    const int tall = std::min(kRows, rows - row);
    for (std::int64_t at = 0; at < columns; at += kColumns) {
      const int wide = static_cast<int>(std::min<std::int64_t>(kColumns, columns - at));
      float* const tile = to + row * columns + at;
      if (tall == kRows && wide == kColumns) {
        multiply_tile(a, b + at, depth, columns, kRows, kColumns, tile);
      } else {
        multiply_tile(a, b + at, depth, columns, tall, wide, tile);
      }
    }
  }
}

/// to[row][column] += Σ_k a[row][k] · b[column][k]
void multiply_rows(const float* a, const float* b, int rows, std::int64_t depth, int columns,
                   float* to) {
  for (int column = 0; column < columns; ++column, b += depth) {
    for (int row = 0; row < rows; ++row) {
      const float* const left = a + row * depth;
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t k = 0; k < depth; ++k) sum += left[k] * b[k];
      to[row * columns + column] += sum;
    }
  }
}

int places(const ConvShape& shape) {
  return shape.out_height() * shape.out_width();
}

/// Room for what unfold writes.
std::vector<float> matrix_of(const ConvShape& shape) {
  return std::vector<float>(static_cast<std::size_t>(std::int64_t{shape.taps()} * places(shape)));
}

/// Calls action(pixel, place) for every element of taps × outputs and the pixel of the image that
/// the tap finds there.
template <class Action>
void for_each_tap(const ConvShape& shape, const Action& action) {
  std::int64_t place = 0;
  for (int tap = 0; tap < shape.taps(); ++tap) {
    const int c = tap / (shape.kernel * shape.kernel);
    const int p = tap / shape.kernel % shape.kernel;
    for (int h = 0; h < shape.out_height(); ++h, place += shape.out_width()) {
      const std::int64_t row = (c * shape.height + h * shape.stride + p) * shape.width;
      for (int w = 0; w < shape.out_width(); ++w) {
        action(row + w * shape.stride + tap % shape.kernel, place + w);
      }
    }
  }
}

void unfold(const ConvShape& shape, const float* image, float* matrix) {
  for_each_tap(shape, [=](std::int64_t pixel, std::int64_t at) { matrix[at] = image[pixel]; });
}

void fold(const ConvShape& shape, const float* matrix, float* image) {
  std::fill_n(image, shape.input_image_size(), 0.0F);
  for_each_tap(shape, [=](std::int64_t pixel, std::int64_t at) { image[pixel] += matrix[at]; });
}

/// The gradient of a maximum goes to the first of the largest values.
void pool_backward(const PoolLayer& pool, const float* input, const FeatureShape& in,
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

TrainableLayer::TrainableLayer(const Layer& layer, const FeatureShape& in)
    : layer_(layer), in_(in), out_(output_shape(layer, in)) {
  if (const auto* conv = std::get_if<ConvLayer>(&layer)) {
    tensors_.emplace_back(conv_shape(*conv, in, 1).weights_size());
  } else if (const auto* dense = std::get_if<DenseLayer>(&layer)) {
    tensors_.emplace_back(dense->units * in.size());
    tensors_.emplace_back(dense->units);
  }
}

void TrainableLayer::forward(const float* input, float* output, int images) const {
  if (const auto* conv = std::get_if<ConvLayer>(&layer_)) {
    const ConvShape shape = conv_shape(*conv, in_, 1);
#pragma omp parallel
    {
      std::vector<float> matrix = matrix_of(shape);
#pragma omp for
      for (int image = 0; image < images; ++image) {
        unfold(shape, input + image * in_.size(), matrix.data());
        multiply({tensors_[0].values.data(), shape.taps(), 1}, matrix.data(), shape.out_channels,
                 shape.taps(), places(shape), output + image * out_.size());
      }
    }
  } else {
    const bool dense = !tensors_.empty();
    run_layer(layer_, in_, dense ? tensors_[0].values.data() : nullptr,
              dense ? tensors_[1].values.data() : nullptr, input, output, images);
  }
}

void TrainableLayer::backward(const float* input, const float* output, const float* d_output,
                              float* d_input, int images) {
  if (const auto* conv = std::get_if<ConvLayer>(&layer_)) {
    convolve_backward(conv_shape(*conv, in_, images), input, d_output, d_input);
  } else if (const auto* dense = std::get_if<DenseLayer>(&layer_)) {
    dense_backward(dense->units, input, d_output, d_input, images);
  } else if (d_input == nullptr) {
    return;
  } else if (const auto* pool = std::get_if<PoolLayer>(&layer_)) {
    std::fill_n(d_input, images * in_.size(), 0.0F);
    const std::int64_t in_plane = std::int64_t{in_.height} * in_.width;
    const std::int64_t out_plane = std::int64_t{out_.height} * out_.width;
#pragma omp parallel for
    for (std::int64_t plane = 0; plane < std::int64_t{images} * in_.channels; ++plane) {
      pool_backward(*pool, input + plane * in_plane, in_, d_output + plane * out_plane, out_,
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

void TrainableLayer::convolve_backward(const ConvShape& shape, const float* input,
                                       const float* d_output, float* d_input) {
  constexpr int kGroup = 4;  // images whose weight gradients one thread adds up
  const int groups = (shape.batch + kGroup - 1) / kGroup;
  const auto weights = static_cast<std::size_t>(shape.weights_size());
  std::vector<float> sums(static_cast<std::size_t>(groups) * weights);
#pragma omp parallel
  {
    std::vector<float> matrix = matrix_of(shape);
#pragma omp for schedule(dynamic)
    for (int group = 0; group < groups; ++group) {
      float* const sum = sums.data() + static_cast<std::size_t>(group) * weights;
      for (int image = group * kGroup; image < std::min(shape.batch, (group + 1) * kGroup);
           ++image) {
        const float* const gradient = d_output + image * out_.size();
        unfold(shape, input + image * in_.size(), matrix.data());
        multiply_rows(gradient, matrix.data(), shape.out_channels, places(shape), shape.taps(),
                      sum);
        if (d_input == nullptr) continue;
        multiply({tensors_[0].values.data(), 1, shape.taps()}, gradient, shape.taps(),
                 shape.out_channels, places(shape), matrix.data());
        fold(shape, matrix.data(), d_input + image * in_.size());
      }
    }
#pragma omp for
    for (std::size_t i = 0; i < weights; ++i) {
      float sum = 0;
      for (std::size_t at = i; at < sums.size(); at += weights) sum += sums[at];
      tensors_[0].gradient[i] = sum;
    }
  }
}

void TrainableLayer::dense_backward(int units, const float* input, const float* d_output,
                                    float* d_input, int images) {
  const std::int64_t inputs = in_.size();
#pragma omp parallel
  {
#pragma omp for
    for (int u = 0; u < units; u += 4) {
      multiply({d_output + u, 1, units}, input, std::min(4, units - u), images, inputs,
               tensors_[0].gradient.data() + u * inputs);
    }
#pragma omp for
    for (int u = 0; u < units; ++u) {
      float sum = 0;
      for (int image = 0; image < images; ++image) sum += d_output[image * units + u];
      tensors_[1].gradient[static_cast<std::size_t>(u)] = sum;
    }
#pragma omp for
    for (int image = 0; image < (d_input == nullptr ? 0 : images); image += 4) {
      multiply({d_output + image * units, units, 1}, tensors_[0].values.data(),
               std::min(4, images - image), units, inputs, d_input + image * inputs);
    }
  }
}

}  // namespace convlab::training
