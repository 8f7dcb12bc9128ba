#include <cmath>
#include <vector>

#include "common/base/tests/support/catch.hpp"
#include "grader/checks/element_cases.hpp"
#include "grader/checks/rules.hpp"

using namespace convlab;

TEST_CASE("rules: an edition says which cases decide") {
  CHECK(grader::parse_rules("").rules == std::nullopt);
  CHECK(grader::parse_rules("workbook").rules == grader::Rules::kWorkbook);
  const auto published = grader::parse_rules("fa23").edition->cases;
  CHECK(grader::parse_rules("sp25").edition->cases.empty());
  CHECK_THROWS_WITH(grader::parse_rules("fa12"), Catch::Matchers::ContainsSubstring("fa12"));
  const Preset network = load_preset("fa23");
  const grader::CasePlan plan = grader::course_plan(network, 3, published);
  const auto layers = network.conv_shapes(3);
  for (const grader::ElementCase& test : plan.cases) {
    const bool is_layer = test.shape == layers[0] || test.shape == layers[1];
    CHECK((is_layer || test.name.find("course case") == 0));
  }
  CHECK(plan.cases.size() == 8);
  CHECK(grader::course_plan(network, 3, {}).cases.size() == 4);
}

TEST_CASE("element cases: small inputs are the usual ones times a power of two") {
  const ConvShape shape{2, 3, 2, 5, 6, 3, 1};
  const auto input_of = [&](int exponent) {
    std::vector<float> input(static_cast<std::size_t>(shape.input_size()));
    std::vector<float> weights(static_cast<std::size_t>(shape.weights_size()));
    grader::fill_random({.shape = shape, .exponent = exponent}, 7,
                        {.input = input.data(), .weights = weights.data()});
    input.insert(input.end(), weights.begin(), weights.end());
    return input;
  };
  const std::vector<float> usual = input_of(0);
  const std::vector<float> small = input_of(-20);
  for (std::size_t i = 0; i < usual.size(); ++i) {
    const bool is_input = i < static_cast<std::size_t>(shape.input_size());
    CHECK(small[i] == (is_input ? std::ldexp(usual[i], -20) : usual[i]));
  }
}
