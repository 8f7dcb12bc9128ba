#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/stage/stage.hpp"
#include "reference/oracle/comparison.hpp"
#include "reference/oracle/tests/fixtures.hpp"
#include "reference/solutions/m1_cpu_baseline/fewer_products.hpp"

using namespace convlab;

namespace {

using RunConvolution = std::function<void(const ConvShape& shape, const float* input,
                                          const float* weights, float* output)>;

// Calls `run` on arrays with a fence on both sides and a poisoned output.
void check(const std::string& name, const RunConvolution& run, const ConvShape& shape,
           float smallest) {
  INFO(name << ", " << to_string(shape));
  const std::vector<float> input = oracle::random_floats(shape.input_size(), 1, smallest);
  const std::vector<float> weights = oracle::random_floats(shape.weights_size(), 2, smallest);
  constexpr std::size_t kFence = 64;
  constexpr float kFenceValue = 12345.0f;
  const auto count = static_cast<std::ptrdiff_t>(shape.output_size());
  std::vector<float> fenced(static_cast<std::size_t>(count) + 2 * kFence, kFenceValue);
  const auto output = fenced.begin() + kFence;
  std::fill_n(output, count, std::numeric_limits<float>::quiet_NaN());
  run(shape, input.data(), weights.data(), &*output);
  CHECK(std::count(fenced.begin(), output, kFenceValue) == kFence);
  CHECK(std::count(output + count, fenced.end(), kFenceValue) == kFence);
  CHECK(oracle::compare(shape, input.data(), weights.data(), &*output,
                        oracle::Tolerance::of(Precision::kFp32, shape))
            .passed(shape));
}

void check_all_stages(const std::vector<ConvShape>& shapes, float smallest = -1.0f) {
  for (const ConvShape& shape : shapes) {
    for (const Stage& stage : registered_stages()) {
      const std::unique_ptr<Convolution> convolution = stage.make();
      check(
          stage.id,
          [&](const ConvShape& s, const float* input, const float* weights, float* output) {
            convolution->prolog(s, input, weights, output);
            convolution->convolve();
            convolution->epilog();
          },
          shape, smallest);
    }
  }
}

}  // namespace

TEST_CASE("m1 stages: all are registered, and each is compared with one that exists") {
  std::set<std::string> ids;
  for (const Stage& stage : registered_stages()) {
    CHECK(ids.insert(stage.id).second);
    CHECK(stage.title != "");
    CHECK((stage.baseline.empty() || ids.count(stage.baseline) == 1));
    CHECK(stage.precision == Precision::kFp32);
  }
  CHECK(ids == std::set<std::string>{"baseline", "openmp", "im2col-gemm", "vectorized", "map-lanes",
                                     "per-layer", "fewer-products"});
}

TEST_CASE("m1 stages: the layers of every network") {
  const std::vector<ConvShape> shapes = {
      {2, 4, 1, 86, 86, 7, 1},   {2, 16, 4, 40, 40, 7, 1}, {1, 32, 1, 28, 28, 5, 1},
      {1, 64, 32, 12, 12, 5, 1}, {2, 50, 1, 28, 28, 5, 1}, {2, 6, 1, 64, 64, 5, 1},
      {2, 16, 6, 30, 30, 5, 1},  {1, 12, 1, 72, 72, 7, 1}, {1, 24, 12, 33, 33, 7, 1},
      {2, 6, 1, 48, 48, 5, 1},   {2, 16, 6, 22, 22, 5, 1}, {1, 12, 1, 70, 70, 5, 1},
      {1, 24, 12, 33, 33, 5, 1},
  };
  check_all_stages(shapes);
  check_all_stages(shapes, 0.0f);
}

TEST_CASE("m1 stages: the element-wise cases of the course, strides 1 to 4") {
  check_all_stages({
      {1, 3, 3, 224, 224, 3, 1},
      {2, 3, 3, 301, 301, 3, 2},
      {3, 3, 3, 196, 196, 3, 3},
      {4, 3, 3, 239, 239, 3, 4},
  });
}

TEST_CASE("m1 stages: every small kernel, stride and map count on an oblong image") {
  for (int kernel : {1, 2, 3, 5, 7}) {
    for (int stride : {1, 2, 3, 4}) {
      for (int maps : {1, 2, 3, 5, 7, 8, 9}) {
        check_all_stages({{2, maps, 2, 9 + kernel, 20, kernel, stride}});
      }
    }
  }
}

TEST_CASE("m1 stages: sizes around every vector and tile") {
  for (int out_width = 1; out_width <= 100; ++out_width) {
    check_all_stages({{1, 1 + out_width % 19, 1, 4, out_width + 2, 3, 1}});
  }
  for (int maps = 1; maps <= 67; ++maps) {
    check_all_stages({{1, maps, 2, 5, 4 + maps % 31, 3, 1}});
  }
}

TEST_CASE("m1 stages: pairs of rows, where the stage itself would choose another way, too") {
  std::vector<ConvShape> shapes = {{1, 16, 5, 200, 90, 7, 1},  // several bands
                                   {2, 16, 4, 40, 40, 7, 1},  {1, 64, 32, 12, 12, 5, 1},
                                   {2, 16, 6, 30, 30, 5, 1},  {1, 24, 12, 33, 33, 7, 1},
                                   {2, 16, 6, 22, 22, 5, 1},  {1, 24, 12, 33, 33, 5, 1}};
  for (int kernel = 1; kernel <= 9; ++kernel) {
    for (int out_height : {1, 2, 3, 6, 7}) {
      for (int out_width : {1, 2, 17, 34, 37}) {
        const int maps = 1 + (7 * kernel + 3 * out_height + out_width) % 35;
        shapes.push_back({2, maps, 1 + (kernel + out_width) % 5, out_height + kernel - 1,
                          out_width + kernel - 1, kernel, 1});
      }
    }
  }
  for (const ConvShape& shape : shapes) {
    for (const float smallest : {-1.0f, 0.0f}) {
      check("row pairs", convolve_row_pairs, shape, smallest);
    }
  }
}

TEST_CASE("m1 stages: corner shapes") {
  check_all_stages({
      {1, 1, 1, 1, 1, 1, 1},      // one product
      {1, 1, 1, 7, 7, 7, 4},      // the window covers the image
      {1, 2, 3, 7, 9, 7, 5},      // one row of output, a stride beyond all courses
      {3, 2, 1, 5, 1, 1, 4},      // kernel below the stride
      {1, 3, 70, 6, 6, 3, 1},     // many channels
      {1, 2, 2, 400, 3, 3, 1},    // tall
      {1, 2, 2, 3, 4001, 3, 2},   // wide: several tiles in one row
      {33, 5, 1, 6, 6, 5, 1},     // more images than threads
      {1, 4, 90, 40, 40, 11, 1},  // more weights than a cache of the first level
  });
}
