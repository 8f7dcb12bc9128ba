// Each mistake changes every term. The first case whose output it changes must get its finding.
#include <algorithm>
#include <bit>
#include <functional>
#include <string>
#include <vector>

#include "common/base/tests/support/catch.hpp"
#include "grader/checks/element_cases.hpp"
#include "grader/checks/findings/diagnosis.hpp"
#include "grader/checks/rules.hpp"

using namespace convlab;
using grader::Arrays;

namespace {

/// The phase that contains the loops.
struct Place {
  int b, m, c, p, q, row, column;
};

/// A convolution with one thing changed.
struct Loops {
  std::function<std::int64_t(const ConvShape&, const Place&)> input = [](const ConvShape& s,
                                                                         const Place& at) {
    return ((std::int64_t{at.b} * s.in_channels + at.c) * s.height + at.row) * s.width + at.column;
  };
  std::function<std::int64_t(const ConvShape&, const Place&)> weight = [](const ConvShape& s,
                                                                          const Place& at) {
    return ((std::int64_t{at.m} * s.in_channels + at.c) * s.kernel + at.p) * s.kernel + at.q;
  };
  std::function<int(const ConvShape&)> channels = [](const ConvShape& s) { return s.in_channels; };
  std::function<float(float sum, int b, int m, int h, int w)> stored = [](float sum, int, int, int,
                                                                          int) { return sum; };

  void run(const ConvShape& s, const Arrays& arrays) const {
    float* output = arrays.output;
    for (int b = 0; b < s.batch; ++b) {
      for (int m = 0; m < s.out_channels; ++m) {
        for (int h = 0; h < s.out_height(); ++h) {
          for (int w = 0; w < s.out_width(); ++w) {
            *output++ = stored(sum_at(s, arrays, b, m, h, w), b, m, h, w);
          }
        }
      }
    }
  }

 private:
  [[nodiscard]] float sum_at(const ConvShape& s, const Arrays& arrays, int b, int m, int h,
                             int w) const {
    float sum = 0.0f;
    for (int c = 0; c < channels(s); ++c) {
      for (int p = 0; p < s.kernel; ++p) {
        for (int q = 0; q < s.kernel; ++q) {
          const Place at{b, m, c, p, q, h * s.stride + p, w * s.stride + q};
          // An index outside the array is another finding; here it reads the last element.
          sum += arrays.input[std::min(input(s, at), s.input_size() - 1)] *
                 arrays.weights[weight(s, at)];
        }
      }
    }
    return sum;
  }
};

/// The finding of the first case that the mistake changes; empty if it changes none.
std::string diagnosis_of(const Loops& loops) {
  std::uint64_t seed = 11;
  for (const grader::ElementCase& test : grader::element_cases()) {
    const ConvShape& shape = test.shape;
    std::vector<float> input(static_cast<std::size_t>(shape.input_size()));
    std::vector<float> weights(static_cast<std::size_t>(shape.weights_size()));
    std::vector<float> output(static_cast<std::size_t>(shape.output_size()),
                              std::bit_cast<float>(oracle::kPoisonBits));
    const Arrays arrays{input.data(), weights.data(), output.data()};
    grader::fill_random(test, ++seed, arrays);
    loops.run(shape, arrays);
    const auto tolerance =
        test.exact ? oracle::Tolerance::exact() : oracle::Tolerance::of(Precision::kFp32, shape);
    const auto report =
        oracle::compare(shape, arrays.input, arrays.weights, arrays.output, tolerance);
    if (!report.passed(shape)) {
      return grader::diagnose({shape, arrays, tolerance, report}, test.name).id;
    }
  }
  return {};
}

}  // namespace

TEST_CASE("diagnosis: right loops get none") {
  CHECK(diagnosis_of({}).empty());
}

TEST_CASE("diagnosis: what the output alone tells") {
  Loops everywhere;
  everywhere.stored = [](float sum, int, int, int, int) { return sum + 1.0f; };
  CHECK(diagnosis_of(everywhere) == "E-wrong");
  Loops divides;
  divides.stored = [](float sum, int, int, int h, int) { return h > 2 ? sum / 0.0f : sum; };
  CHECK(diagnosis_of(divides) == "E-nan");
}

TEST_CASE("diagnosis: small errors of all outputs are a matter of precision") {
  // The first cases have whole numbers and no tolerance.
  const ConvShape shape{2, 16, 4, 40, 40, 7, 1};
  const auto id_of = [&](float error) {
    Loops loops;
    loops.stored = [error](float sum, int, int, int, int w) {
      return sum * (1.0f + (w % 2 == 0 ? error : -error));
    };
    std::vector<float> input(static_cast<std::size_t>(shape.input_size()));
    std::vector<float> weights(static_cast<std::size_t>(shape.weights_size()));
    std::vector<float> output(static_cast<std::size_t>(shape.output_size()));
    const Arrays arrays{input.data(), weights.data(), output.data()};
    grader::fill_random({.shape = shape}, 3, arrays);
    loops.run(shape, arrays);
    const auto tolerance = oracle::Tolerance::of(Precision::kFp32, shape);
    const auto report =
        oracle::compare(shape, arrays.input, arrays.weights, arrays.output, tolerance);
    return grader::diagnose({shape, arrays, tolerance, report}, "a case").id;
  };
  CHECK(id_of(1e-3f) == "E-precision");
  CHECK(id_of(0.5f) == "E-wrong");
}

TEST_CASE("rules: an edition says which cases decide") {
  CHECK(grader::parse_rules("").rules == std::nullopt);
  CHECK(grader::parse_rules("workbook").rules == grader::Rules::kWorkbook);
  CHECK(grader::parse_rules("fa21").published_cases == false);
  CHECK(grader::parse_rules("sp25").published_cases == true);
  CHECK_THROWS_WITH(grader::parse_rules("fa12"), Catch::Matchers::ContainsSubstring("fa12"));
  const Preset network = load_preset("fa23");
  const grader::CasePlan plan = grader::course_plan(network, 3, true);
  const auto layers = network.conv_shapes(3);
  for (const grader::ElementCase& test : plan.cases) {
    const bool is_layer = test.shape == layers[0] || test.shape == layers[1];
    CHECK((is_layer || test.name.find("course case") == 0));
  }
  CHECK(plan.cases.size() == 8);
  CHECK(grader::course_plan(network, 3, false).cases.size() == 4);
  CHECK(plan.measured.size() == grader::element_cases().size());
  CHECK(grader::workbook_plan().measured.empty());
}
