// Layers backward, as plain loops. Forward, a convolution is milestone 1's, all else the network's.
//
// Threads  Each number is summed by one thread, in a fixed order, so that the result does not
//          depend on the number of threads.
// Run      build/bin/bench_training

#include <algorithm>

#include "common/network/network.hpp"
#include "reference/solutions/m1_cpu_baseline/im2col_gemm.hpp"
#include "reference/training/model.hpp"

namespace convlab::training {

namespace {

/// Where a row of the output, and the pixels that a weight takes for it, begin in one image. From
/// column to column the pixel moves by the stride.
struct Row {
  std::int64_t pixel;
  std::int64_t place;
};

Row row_of(const ConvShape& shape, std::int64_t weight, int h) {
  const std::int64_t tap = weight % shape.taps();
  const std::int64_t y = tap / shape.kernel % shape.kernel + h * shape.stride;
  const std::int64_t channel = tap / (shape.kernel * shape.kernel);
  return {(channel * shape.height + y) * shape.width + tap % shape.kernel,
          (weight / shape.taps() * shape.out_height() + h) * shape.out_width()};
}

/// to[i] += factor · from[i]
void add_multiple(float* to, float factor, const float* from, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) to[i] += factor * from[i];
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
    convolve_im2col(conv_shape(*conv, in_, images), input, tensors_[0].values.data(), output);
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
  const int columns = shape.out_width();
  const int step = shape.stride;
#pragma omp parallel for
  for (std::int64_t weight = 0; weight < shape.weights_size(); ++weight) {
    float sum = 0;
    for (int i = 0; i < shape.batch * shape.out_height(); ++i) {
      const int image = i / shape.out_height();
      const Row row = row_of(shape, weight, i % shape.out_height());
      const float* const in = input + image * in_.size() + row.pixel;
      const float* const d_out = d_output + image * out_.size() + row.place;
#pragma omp simd reduction(+ : sum)
      for (int w = 0; w < columns; ++w) sum += d_out[w] * in[w * step];
    }
    tensors_[0].gradient[static_cast<std::size_t>(weight)] = sum;
  }
#pragma omp parallel for
  for (int image = 0; image < (d_input == nullptr ? 0 : shape.batch); ++image) {
    std::fill_n(d_input + image * in_.size(), in_.size(), 0.0F);
    for (std::int64_t i = 0; i < shape.weights_size() * shape.out_height(); ++i) {
      const std::int64_t weight = i / shape.out_height();
      const Row row = row_of(shape, weight, static_cast<int>(i % shape.out_height()));
      const float factor = tensors_[0].values[static_cast<std::size_t>(weight)];
      const float* const d_out = d_output + image * out_.size() + row.place;
      float* const d_in = d_input + image * in_.size() + row.pixel;
#pragma omp simd
      for (int w = 0; w < columns; ++w) d_in[w * step] += factor * d_out[w];
    }
  }
}

void TrainableLayer::dense_backward(int units, const float* input, const float* d_output,
                                    float* d_input, int images) {
  const std::int64_t inputs = in_.size();
#pragma omp parallel for
  for (int u = 0; u < units; ++u) {
    float* const gradient = tensors_[0].gradient.data() + u * inputs;
    std::fill_n(gradient, inputs, 0.0F);
    float sum = 0;
    for (int image = 0; image < images; ++image) {
      const float factor = d_output[image * units + u];
      add_multiple(gradient, factor, input + image * inputs, inputs);
      sum += factor;
    }
    tensors_[1].gradient[static_cast<std::size_t>(u)] = sum;
  }
#pragma omp parallel for
  for (int image = 0; image < (d_input == nullptr ? 0 : images); ++image) {
    std::fill_n(d_input + image * inputs, inputs, 0.0F);
    for (int u = 0; u < units; ++u) {
      add_multiple(d_input + image * inputs, d_output[image * units + u],
                   tensors_[0].values.data() + u * inputs, inputs);
    }
  }
}

}  // namespace convlab::training
