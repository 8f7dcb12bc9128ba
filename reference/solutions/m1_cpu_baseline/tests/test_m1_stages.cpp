#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/stage/stage.hpp"
#include "reference/oracle/comparison.hpp"
#include "reference/solutions/m1_cpu_baseline/fewer_products.hpp"

using convlab::Convolution;
using convlab::ConvShape;
using convlab::Stage;

namespace {

// From -0.5 to 0.5, or from 0 to 1.
enum class Values { kSigned, kPositive };

std::vector<float> random_values(std::int64_t count, unsigned seed, Values kind) {
  std::mt19937 generator(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    value = static_cast<float>(generator() >> 8) / 16777216.0f -
            (kind == Values::kSigned ? 0.5f : 0.0f);
  }
  return values;
}

using RunConvolution = std::function<void(const ConvShape& shape, const float* input,
                                          const float* weights, float* output)>;

// Calls `run` on arrays with a fence on both sides and a poisoned output. Says where the first
// wrong element is; empty if all are right.
std::string first_fault(const std::string& name, const RunConvolution& run, const ConvShape& shape,
                        Values kind) {
  const std::vector<float> input = random_values(shape.input_size(), 1, kind);
  const std::vector<float> weights = random_values(shape.weights_size(), 2, kind);

  constexpr std::size_t kFence = 64;
  constexpr float kFenceValue = 12345.0f;
  const auto count = static_cast<std::size_t>(shape.output_size());
  std::vector<float> fenced(count + 2 * kFence, kFenceValue);
  float* const output = fenced.data() + kFence;
  for (std::size_t i = 0; i < count; ++i) output[i] = std::numeric_limits<float>::quiet_NaN();

  run(shape, input.data(), weights.data(), output);

  const std::string where = name + ", " + to_string(shape) + ": ";
  for (std::size_t i = 0; i < kFence; ++i) {
    if (fenced[i] != kFenceValue) return where + "wrote before the output";
    if (output[count + i] != kFenceValue) return where + "wrote behind the output";
  }
  const auto report =
      convlab::oracle::compare(shape, input.data(), weights.data(), output,
                               convlab::oracle::Tolerance::of(convlab::Precision::kFp32, shape));
  if (report.passed(shape)) return "";
  const convlab::oracle::Mismatch& first = *report.first;
  return where + "image " + std::to_string(first.image) + ", map " + std::to_string(first.map) +
         ", row " + std::to_string(first.row) + ", column " + std::to_string(first.column) +
         " is " + std::to_string(first.got) + ", expected " + std::to_string(first.expected);
}

std::string first_fault(const Stage& stage, const ConvShape& shape, Values kind) {
  const std::unique_ptr<Convolution> convolution = stage.make();
  return first_fault(
      stage.id,
      [&](const ConvShape& s, const float* input, const float* weights, float* output) {
        convolution->prolog(s, input, weights, output);
        convolution->convolve();
        convolution->epilog();
      },
      shape, kind);
}

void check_all_stages(const std::vector<ConvShape>& shapes, Values kind = Values::kSigned) {
  for (const ConvShape& shape : shapes) {
    for (const Stage& stage : convlab::registered_stages()) {
      CHECK(first_fault(stage, shape, kind) == "");
    }
  }
}

ConvShape make_shape(int batch, int maps, int channels, int height, int width, int kernel,
                     int stride) {
  return {.batch = batch,
          .out_channels = maps,
          .in_channels = channels,
          .height = height,
          .width = width,
          .kernel = kernel,
          .stride = stride};
}

}  // namespace

TEST_CASE("m1 stages: all are registered, and each is compared with one that exists") {
  std::set<std::string> ids;
  for (const Stage& stage : convlab::registered_stages()) {
    CHECK(ids.insert(stage.id).second);
    CHECK(stage.title != "");
    CHECK((stage.baseline.empty() || ids.count(stage.baseline) == 1));
    CHECK(stage.precision == convlab::Precision::kFp32);
  }
  CHECK(ids == std::set<std::string>{"baseline", "openmp", "im2col-gemm", "vectorized", "map-lanes",
                                     "per-layer", "fewer-products"});
}

TEST_CASE("m1 stages: the layers of every network") {
  const std::vector<ConvShape> shapes = {
      make_shape(2, 4, 1, 86, 86, 7, 1),   make_shape(2, 16, 4, 40, 40, 7, 1),
      make_shape(1, 32, 1, 28, 28, 5, 1),  make_shape(1, 64, 32, 12, 12, 5, 1),
      make_shape(2, 50, 1, 28, 28, 5, 1),  make_shape(2, 6, 1, 64, 64, 5, 1),
      make_shape(2, 16, 6, 30, 30, 5, 1),  make_shape(1, 12, 1, 72, 72, 7, 1),
      make_shape(1, 24, 12, 33, 33, 7, 1), make_shape(2, 6, 1, 48, 48, 5, 1),
      make_shape(2, 16, 6, 22, 22, 5, 1),  make_shape(1, 12, 1, 70, 70, 5, 1),
      make_shape(1, 24, 12, 33, 33, 5, 1),
  };
  check_all_stages(shapes);
  check_all_stages(shapes, Values::kPositive);
}

TEST_CASE("m1 stages: the element-wise cases of the course, strides 1 to 4") {
  check_all_stages({
      make_shape(1, 3, 3, 224, 224, 3, 1),
      make_shape(2, 3, 3, 301, 301, 3, 2),
      make_shape(3, 3, 3, 196, 196, 3, 3),
      make_shape(4, 3, 3, 239, 239, 3, 4),
  });
}

TEST_CASE("m1 stages: every small kernel, stride and map count on an oblong image") {
  for (int kernel : {1, 2, 3, 5, 7}) {
    for (int stride : {1, 2, 3, 4}) {
      for (int maps : {1, 2, 3, 5, 7, 8, 9}) {
        check_all_stages({make_shape(2, maps, 2, 9 + kernel, 20, kernel, stride)});
      }
    }
  }
}

TEST_CASE("m1 stages: sizes around every vector and tile") {
  for (int out_width = 1; out_width <= 100; ++out_width) {
    check_all_stages({make_shape(1, 1 + out_width % 19, 1, 4, out_width + 2, 3, 1)});
  }
  for (int maps = 1; maps <= 67; ++maps) {
    check_all_stages({make_shape(1, maps, 2, 5, 4 + maps % 31, 3, 1)});
  }
}

TEST_CASE("m1 stages: pairs of rows, where the stage itself would choose another way, too") {
  const auto check = [](const ConvShape& shape) {
    CHECK(first_fault("row pairs", convlab::convolve_row_pairs, shape, Values::kSigned) == "");
  };
  for (int kernel = 1; kernel <= 9; ++kernel) {
    for (int out_height : {1, 2, 3, 6, 7}) {
      for (int out_width : {1, 2, 17, 34, 37}) {
        const int maps = 1 + (7 * kernel + 3 * out_height + out_width) % 35;
        check(make_shape(2, maps, 1 + (kernel + out_width) % 5, out_height + kernel - 1,
                         out_width + kernel - 1, kernel, 1));
      }
    }
  }
  check(make_shape(1, 16, 5, 200, 90, 7, 1));  // several bands
  for (const Values kind : {Values::kSigned, Values::kPositive}) {
    for (const ConvShape& shape :
         {make_shape(2, 16, 4, 40, 40, 7, 1), make_shape(1, 64, 32, 12, 12, 5, 1),
          make_shape(2, 16, 6, 30, 30, 5, 1), make_shape(1, 24, 12, 33, 33, 7, 1),
          make_shape(2, 16, 6, 22, 22, 5, 1), make_shape(1, 24, 12, 33, 33, 5, 1)}) {
      CHECK(first_fault("row pairs", convlab::convolve_row_pairs, shape, kind) == "");
    }
  }
}

TEST_CASE("m1 stages: corner shapes") {
  check_all_stages({
      make_shape(1, 1, 1, 1, 1, 1, 1),      // one product
      make_shape(1, 1, 1, 7, 7, 7, 4),      // the window covers the image
      make_shape(1, 2, 3, 7, 9, 7, 5),      // one row of output, a stride beyond all courses
      make_shape(3, 2, 1, 5, 1, 1, 4),      // kernel below the stride
      make_shape(1, 3, 70, 6, 6, 3, 1),     // many channels
      make_shape(1, 2, 2, 400, 3, 3, 1),    // tall
      make_shape(1, 2, 2, 3, 4001, 3, 2),   // wide: several tiles in one row
      make_shape(33, 5, 1, 6, 6, 5, 1),     // more images than threads
      make_shape(1, 4, 90, 40, 40, 11, 1),  // more weights than a cache of the first level
  });
}
