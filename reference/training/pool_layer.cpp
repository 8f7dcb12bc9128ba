#include "reference/training/pool_layer.hpp"

#include <algorithm>

#include "common/network/layer_kernels.hpp"
#include "common/simd/isa.hpp"

namespace convlab::training {

void TrainablePool::forward(const float* input, float* output, int images, Scratch& scratch) {
  const auto kernel = layer_.function == PoolFunction::kMax ? CONVLAB_ISA_SELECT(max_pool)
                                                            : CONVLAB_ISA_SELECT(average_pool);
  scratch.row.resize(static_cast<std::size_t>(in_.width));
  for (int plane = 0; plane < images * in_.channels; ++plane) {
    kernel(input + std::int64_t{plane} * in_.height * in_.width, in_.height, in_.width, layer_.size,
           layer_.stride, scratch.row.data(),
           output + std::int64_t{plane} * out_.height * out_.width, out_.height, out_.width);
  }
}

void TrainablePool::backward(const float* input, const float* /*output*/, const float* d_output,
                             float* d_input, int images, int /*part*/, Scratch& /*scratch*/) {
  if (d_input == nullptr) return;
  std::fill_n(d_input, images * in_.size(), 0.0F);
  for (int plane = 0; plane < images * in_.channels; ++plane) {
    const std::int64_t in_place = std::int64_t{plane} * in_.height * in_.width;
    const std::int64_t out_place = std::int64_t{plane} * out_.height * out_.width;
    plane_gradient(input + in_place, d_output + out_place, d_input + in_place);
  }
}

void TrainablePool::plane_gradient(const float* input, const float* d_output,
                                   float* d_input) const {
  for (int out_y = 0; out_y < out_.height; ++out_y) {
    const int top = out_y * layer_.stride;
    const int bottom = std::min(top + layer_.size, in_.height);
    for (int out_x = 0; out_x < out_.width; ++out_x) {
      const int left = out_x * layer_.stride;
      const int right = std::min(left + layer_.size, in_.width);
      const int out = out_y * out_.width + out_x;
      if (layer_.function == PoolFunction::kAverage) {
        const float share = d_output[out] / static_cast<float>((bottom - top) * (right - left));
        for (int y = top; y < bottom; ++y) {
          for (int x = left; x < right; ++x) d_input[y * in_.width + x] += share;
        }
      } else {
        // Selections instead of branches, because no processor can predict which value is the
        // largest.
        int winner = top * in_.width + left;
        float largest = input[winner];
        for (int y = top; y < bottom; ++y) {
          for (int x = left; x < right; ++x) {
            const int place = y * in_.width + x;
            const bool larger = input[place] > largest;
            winner = larger ? place : winner;
            largest = larger ? input[place] : largest;
          }
        }
        d_input[winner] += d_output[out];
      }
    }
  }
}

}  // namespace convlab::training
