#include "reference/training/conv_layer.hpp"

namespace convlab::training {

namespace {

ConvShape shape_of(const ConvLayer& layer, const FeatureShape& in) {
  return {.batch = 1,
          .out_channels = layer.out_channels,
          .in_channels = in.channels,
          .height = in.height,
          .width = in.width,
          .kernel = layer.kernel,
          .stride = layer.stride};
}

}  // namespace

TrainableConv::TrainableConv(const ConvLayer& layer, const FeatureShape& in)
    : shape_(shape_of(layer, in)), conv_(shape_) {
  const auto size = static_cast<std::size_t>(shape_.weights_size());
  weights_ = {std::vector<float>(size), std::vector<float>(size)};
}

void TrainableConv::start_step(int parts) {
  conv_.set_weights(weights_.values.data());
  part_gradients_.resize(static_cast<std::size_t>(parts));
  for (std::vector<float>& part : part_gradients_) part.assign(weights_.values.size(), 0.0F);
}

void TrainableConv::forward(const float* input, float* output, int images, Scratch& scratch) {
  for (int image = 0; image < images; ++image) {
    conv_.forward(input + image * shape_.input_image_size(),
                  output + image * shape_.output_image_size(), scratch.conv);
  }
}

void TrainableConv::backward(const float* input, const float* /*output*/, const float* d_output,
                             float* d_input, int images, int part, Scratch& scratch) {
  float* gradient = part_gradients_[static_cast<std::size_t>(part)].data();
  for (int image = 0; image < images; ++image) {
    const float* d_out = d_output + image * shape_.output_image_size();
    const std::int64_t place = image * shape_.input_image_size();
    conv_.add_weight_gradient(input + place, d_out, gradient, scratch.conv);
    if (d_input != nullptr) conv_.input_gradient(d_out, d_input + place, scratch.conv);
  }
}

void TrainableConv::finish_step() {
  weights_.gradient.assign(weights_.values.size(), 0.0F);
  for (const std::vector<float>& part : part_gradients_) {
    for (std::size_t i = 0; i < part.size(); ++i) weights_.gradient[i] += part[i];
  }
}

}  // namespace convlab::training
