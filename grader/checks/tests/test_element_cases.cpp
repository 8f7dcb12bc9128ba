#include "common/base/tests/support/catch.hpp"
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
