#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "common/base/testing/catch.hpp"
#include "reference/libraries/cpu_contender.hpp"
#include "reference/libraries/onednn_convolution.hpp"

using convlab::ConvShape;
using convlab::OnednnConvolution;

TEST_CASE("onednn: computes our convolution in both layouts") {
  // 1×2×3×3 pixels 0 to 17, stride 2 would leave one output: stride 1 leaves 2×2.
  const ConvShape shape{.out_channels = 2, .in_channels = 2, .height = 3, .width = 3, .kernel = 2};
  std::vector<float> input(18);
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i);
  // Map 0 takes the upper left pixel of channel 0, map 1 the lower right one of channel 1, twice.
  std::vector<float> weights(16, 0.0f);
  weights[0] = 1.0f;
  weights[15] = 2.0f;
  const std::vector<float> expected = {0, 1, 3, 4, 26, 28, 32, 34};
  for (auto layout : {OnednnConvolution::Layout::kPlain, OnednnConvolution::Layout::kBlocked}) {
    std::vector<float> output(8, std::numeric_limits<float>::quiet_NaN());
    OnednnConvolution convolution(shape, layout, input.data(), weights.data(), output.data());
    convolution.run();
    convolution.fetch_output();
    CHECK(output == expected);
  }
}

TEST_CASE("cpu contenders: stages and oneDNN agree on both layers") {
  const auto layers = convlab::timed_layers("fa23", 3);
  for (const auto& layer : layers) {
    std::vector<float> first;
    for (const convlab::Contender& contender : convlab::cpu_contenders()) {
      if (contender.name == "onednn-blocked") continue;  // its output is in another order
      std::fill(layer->output.begin(), layer->output.end(),
                std::numeric_limits<float>::quiet_NaN());
      contender.prepare (*layer)();
      const std::vector<float> result(layer->output.begin(), layer->output.end());
      if (first.empty()) first = result;
      double largest = 0.0;
      std::size_t unwritten = 0;
      for (std::size_t i = 0; i < result.size(); ++i) {
        unwritten += result[i] != result[i] ? 1 : 0;
        largest = std::max(largest, std::abs(double{result[i]} - double{first[i]}));
      }
      INFO(contender.name << ", " << layer->name);
      CHECK(unwritten == 0);
      CHECK(largest < 1e-4);
    }
  }
}
