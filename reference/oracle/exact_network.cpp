#include "reference/oracle/exact_network.hpp"

#include <algorithm>
#include <cmath>

#include "reference/oracle/comparison.hpp"
#include "reference/oracle/image_oracle.hpp"
#include "reference/oracle/oracle.hpp"
#include "reference/oracle/parallel_images.hpp"

namespace convlab::oracle {

namespace {

/// The numbers between two layers of one image, with bounds of their errors.
struct Features {
  std::vector<double> values;
  std::vector<double> errors;

  explicit Features(std::int64_t size = 0)
      : values(static_cast<std::size_t>(size)), errors(static_cast<std::size_t>(size)) {}
};

double rounding() {
  return error_bound(Precision::kFp32, 1) * kUnitRoundoff;
}

// |x| + e + e / (B·u): its sum with |w|, times B·u, is the whole e_out of exact_network.hpp.
double magnitude_of(double value, double error) {
  return std::fabs(value) + error + error / rounding();
}

void relu(Features& features) {
  for (std::size_t i = 0; i < features.values.size(); ++i) {
    double& value = features.values[i];
    double& error = features.errors[i];
    if (value <= 0.0) {
      error = std::max(0.0, value + error);
      value = 0.0;
    }
  }
}

void tanh(Features& features) {
  constexpr double kUlps = 8.0;  // of the project's own tanh, with room
  for (std::size_t i = 0; i < features.values.size(); ++i) {
    double& value = features.values[i];
    value = std::tanh(value);
    features.errors[i] += kUlps * 2.0 * kUnitRoundoff * std::fabs(value);
  }
}

Features pool(const PoolLayer& layer, const FeatureShape& in, const FeatureShape& out,
              const Features& input) {
  Features output(out.size());
  std::size_t to = 0;
  for (int channel = 0; channel < out.channels; ++channel) {
    for (int row = 0; row < out.height; ++row) {
      for (int column = 0; column < out.width; ++column, ++to) {
        double largest = -HUGE_VAL;
        double highest_upper = -HUGE_VAL;
        double highest_lower = -HUGE_VAL;
        double sum = 0.0;
        double error_sum = 0.0;
        double magnitude = 0.0;
        int count = 0;
        const int last_row = std::min(in.height, row * layer.stride + layer.size);
        const int last_column = std::min(in.width, column * layer.stride + layer.size);
        for (int i = row * layer.stride; i < last_row; ++i) {
          for (int j = column * layer.stride; j < last_column; ++j, ++count) {
            const auto from =
                static_cast<std::size_t>((std::int64_t{channel} * in.height + i) * in.width + j);
            const double value = input.values[from];
            const double error = input.errors[from];
            largest = std::max(largest, value);
            highest_upper = std::max(highest_upper, value + error);
            highest_lower = std::max(highest_lower, value - error);
            sum += value;
            error_sum += error;
            magnitude += std::fabs(value);
          }
        }
        if (layer.function == PoolFunction::kMax) {
          output.values[to] = largest;
          output.errors[to] = std::max(highest_upper - largest, largest - highest_lower);
        } else {
          output.values[to] = sum / count;
          output.errors[to] = (error_sum + rounding() * magnitude) / count;
        }
      }
    }
  }
  return output;
}

/// The images that go through the layers side by side. A dense layer is a convolution of kernel 1,
/// whose channels are its inputs and whose columns are these images.
constexpr int kLanes = kRowMultiple;

/// The data that all threads share: the convolutions and dense layers, in order, with converted
/// weights.
struct Plan {
  explicit Plan(const Network& n) : network(n), shapes(n.preset().feature_shapes()) {
    auto parameter = n.weights().parameters.begin();
    const auto add = [&](const ConvShape& shape) {
      products.push_back(shape);
      weights.emplace_back(shape, (parameter++)->values.data());
    };
    for (std::size_t i = 0; i + 1 < shapes.size(); ++i) {
      if (const auto* conv = std::get_if<ConvLayer>(&n.preset().layers[i])) {
        add(conv_shape(*conv, shapes[i], 1));
      } else if (const auto* dense = std::get_if<DenseLayer>(&n.preset().layers[i])) {
        add({.out_channels = dense->units,
             .in_channels = static_cast<int>(shapes[i].size()),
             .height = 1,
             .width = kLanes,
             .kernel = 1});
        biases.push_back((parameter++)->values);
      }
    }
  }

  const Network& network;
  std::vector<FeatureShape> shapes;
  std::vector<ConvShape> products;
  std::vector<PreparedWeights> weights;
  std::vector<std::vector<float>> biases;
};

/// One thread's way through the layers, kLanes images at a time.
class Pass {
 public:
  explicit Pass(const Plan& plan) : plan_(plan) {
    for (std::size_t i = 0; i < plan.products.size(); ++i) {
      oracles_.emplace_back(plan.products[i], plan.weights[i]);
    }
  }

  void run(std::vector<Features>& images) {
    auto oracle = oracles_.begin();
    auto bias = plan_.biases.begin();
    const std::vector<Layer>& layers = plan_.network.preset().layers;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const FeatureShape& out = plan_.shapes[i + 1];
      if (std::holds_alternative<ConvLayer>(layers[i])) {
        for (Features& image : images) image = convolved(*oracle, image, out);
        ++oracle;
      } else if (const auto* pooling = std::get_if<PoolLayer>(&layers[i])) {
        for (Features& image : images) image = pool(*pooling, plan_.shapes[i], out, image);
      } else if (std::holds_alternative<DenseLayer>(layers[i])) {
        multiply(*oracle++, *bias++, images);
      } else {
        const bool is_relu =
            std::get<ActivationLayer>(layers[i]).function == ActivationFunction::kRelu;
        for (Features& image : images) is_relu ? relu(image) : tanh(image);
      }
    }
  }

 private:
  static Features convolved(ImageOracle& oracle, const Features& input, const FeatureShape& out) {
    std::vector<double> magnitudes(input.values.size());
    for (std::size_t i = 0; i < magnitudes.size(); ++i) {
      magnitudes[i] = magnitude_of(input.values[i], input.errors[i]);
    }
    oracle.load(input.values.data(), magnitudes.data());
    Features output(out.size());
    oracle.for_each_row([&](const OutputRow& at, const double* values, const double* sums) {
      for (int column = 0; column < out.width; ++column) {
        const auto to = static_cast<std::size_t>(at.begin + column);
        output.values[to] = values[column];
        output.errors[to] = sums[column] * rounding();
      }
    });
    return output;
  }

  // Lanes without an image stay zero.
  static void multiply(ImageOracle& oracle, const std::vector<float>& bias,
                       std::vector<Features>& images) {
    const std::size_t inputs = images[0].values.size();
    std::vector<double> values(inputs * kLanes);
    std::vector<double> magnitudes(values.size());
    for (std::size_t lane = 0; lane < images.size(); ++lane) {
      for (std::size_t k = 0; k < inputs; ++k) {
        const double value = images[lane].values[k];
        values[k * kLanes + lane] = value;
        magnitudes[k * kLanes + lane] = magnitude_of(value, images[lane].errors[k]);
      }
      images[lane] = Features(static_cast<std::int64_t>(bias.size()));
    }
    oracle.load(values.data(), magnitudes.data());
    oracle.for_each_row([&](const OutputRow& at, const double* sums, const double* sizes) {
      const auto unit = static_cast<std::size_t>(at.map);
      const double offset = bias[unit];
      for (std::size_t lane = 0; lane < images.size(); ++lane) {
        images[lane].values[unit] = sums[lane] + offset;
        images[lane].errors[unit] = (sizes[lane] + std::fabs(offset)) * rounding();
      }
    });
  }

  const Plan& plan_;
  std::vector<ImageOracle> oracles_;
};

ExactPrediction prediction_of(const Features& logits) {
  ExactPrediction result{.logits = logits.values, .bounds = logits.errors};
  const auto& values = logits.values;
  result.predicted =
      static_cast<int>(std::max_element(values.begin(), values.end()) - values.begin());
  const auto best = static_cast<std::size_t>(result.predicted);
  const double lowest_best = values[best] - logits.errors[best];
  for (std::size_t c = 0; c < values.size(); ++c) {
    if (c != best && !(values[c] + logits.errors[c] < lowest_best)) result.decided = false;
  }
  return result;
}

}  // namespace

std::vector<ExactPrediction> predict_exactly(const Network& network,
                                             const std::vector<float>& images, int batch) {
  const Plan plan(network);
  const std::int64_t pixels = plan.shapes.front().size();
  std::vector<ExactPrediction> predictions(static_cast<std::size_t>(batch));
  const int groups = (batch + kLanes - 1) / kLanes;
  parallel_images(
      groups, [&] { return Pass(plan); },
      [&](Pass& pass, int group) {
        const int first = group * kLanes;
        const int count = std::min(kLanes, batch - first);
        std::vector<Features> lanes;
        for (int i = 0; i < count; ++i) {
          Features& lane = lanes.emplace_back(pixels);
          std::copy_n(images.begin() + (first + i) * pixels, pixels, lane.values.begin());
        }
        pass.run(lanes);
        std::transform(lanes.begin(), lanes.end(), predictions.begin() + first, prediction_of);
      });
  return predictions;
}

}  // namespace convlab::oracle
