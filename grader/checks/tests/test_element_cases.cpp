#include <bit>
#include <functional>
#include <string>
#include <vector>

#include "common/base/tests/support/catch.hpp"
#include "grader/checks/element_cases.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/checks/rules.hpp"
#include "reference/oracle/oracle.hpp"

using namespace convlab;

namespace {

/// What the output alone tells if each right sum is changed; empty if it is right.
std::string diagnosis_of(const grader::ElementCase& test,
                         const std::function<float(float sum, int place)>& stored) {
  const ConvShape& shape = test.shape;
  std::vector<float> input(static_cast<std::size_t>(shape.input_size()));
  std::vector<float> weights(static_cast<std::size_t>(shape.weights_size()));
  std::vector<float> output(static_cast<std::size_t>(shape.output_size()));
  grader::fill_random(test, 11, {input.data(), weights.data(), nullptr});
  const std::vector<double> sums = oracle::exact_sums(shape, input.data(), weights.data()).values;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    output[i] = stored(static_cast<float>(sums[i]), static_cast<int>(i));
  }
  const grader::Arrays arrays{input.data(), weights.data(), output.data()};
  const auto tolerance =
      test.exact ? oracle::Tolerance::exact() : oracle::Tolerance::of(Precision::kFp32, shape);
  const auto report =
      oracle::compare(shape, arrays.input, arrays.weights, arrays.output, tolerance);
  if (report.passed(shape)) return {};
  return grader::diagnose({shape, arrays, tolerance, report, test.exact}, test.name).id;
}

}  // namespace

TEST_CASE("diagnosis: what the output alone tells") {
  const grader::ElementCase whole{"whole", {3, 5, 4, 9, 11, 3, 1}, true};
  CHECK(diagnosis_of(whole, [](float sum, int) { return sum; }).empty());
  CHECK(diagnosis_of(whole, [](float sum, int) { return sum + 1.0f; }) == "E-wrong");
  CHECK(diagnosis_of(whole, [](float sum, int place) { return place > 9 ? sum / 0.0f : sum; }) ==
        "E-nan");
  CHECK(diagnosis_of(whole, [](float sum, int place) {
          return place > 9 ? std::bit_cast<float>(oracle::kPoisonBits) : sum;
        }) == "E-partly-written");
}

TEST_CASE("diagnosis: small errors of all outputs are a matter of precision") {
  const grader::ElementCase random{"random", {2, 16, 4, 40, 40, 7, 1}};
  for (const auto& [error, id] : {std::pair{0.0f, ""}, {1e-3f, "E-precision"}, {0.5f, "E-wrong"}}) {
    CHECK(diagnosis_of(random, [error = error](float sum, int place) {
            return sum * (1.0f + (place % 2 == 0 ? error : -error));
          }) == id);
  }
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
}
