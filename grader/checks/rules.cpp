#include "grader/checks/rules.hpp"

#include <algorithm>
#include <iterator>

#include "common/base/enum_name.hpp"
#include "common/base/error.hpp"
#include "common/base/unknown_name.hpp"

namespace convlab::grader {

namespace {

// Terms of the course whose interface this workbook builds.
const std::vector<std::string> kEditions = {"fa20", "sp21", "fa21", "sp22", "fa22", "sp23",
                                            "fa23", "sp24", "fa24", "sp25", "fa25", "sp26"};

}  // namespace

const char* to_string(Rules rules) {
  return enum_name(rules, {"workbook", "course"});
}

RulesRequest parse_rules(const std::string& name) {
  if (name.empty()) return {};
  if (name == to_string(Rules::kWorkbook)) return {.rules = Rules::kWorkbook};
  if (name == to_string(Rules::kCourse)) return {.rules = Rules::kCourse};
  const auto edition = std::ranges::find(kEditions, name);
  if (edition == kEditions.end()) {
    std::vector<std::string> known = {"workbook", "course"};
    known.insert(known.end(), kEditions.begin(), kEditions.end());
    throw UsageError(unknown_name("edition", name, known));
  }
  // Since then the interface has a stride, and a run begins with the published cases.
  return {.rules = Rules::kCourse,
          .published_cases = edition >= std::ranges::find(kEditions, "fa23")};
}

CasePlan workbook_plan() {
  CasePlan plan{.cases = element_cases(),
                .phases = {3, 2, 4, 19, 17, 3, 1},  // fewer outputs than inputs
                .seen_again = {8, 8, 3, 40, 40, 5, 1}};
  // Some quick cases with several blocks, images and channels; streams may divide 130 images.
  constexpr std::int64_t kFew = 400'000;
  for (const ElementCase& test : plan.cases) {
    const bool has_parts = test.shape.batch > 1 && test.shape.in_channels > 1;
    if (has_parts && test.shape.multiply_adds() < kFew) plan.repeated.push_back(test);
    if (test.name == "130 images") plan.repeated.insert(plan.repeated.end() - 1, test);
  }
  return plan;
}

CasePlan course_plan(const Preset& network, int batch, bool with_published_cases) {
  CasePlan plan{.rules = Rules::kCourse};
  const std::vector<ConvShape> layers = network.conv_shapes(batch);
  const auto name = [&](std::size_t layer) {
    return "convolution " + std::to_string(layer + 1) + " of " + network.name;
  };
  // Small enough that sums in halves are exact, too: 800 products of random sign stay below 2048.
  constexpr int kLargest = 4;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    plan.cases.push_back({name(i) + ", whole numbers", layers[i], true, kLargest});
  }
  plan.repeated = plan.cases;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    plan.cases.push_back({name(i) + ", random", layers[i], false});
  }
  plan.phases = plan.seen_again = layers.front();
  if (with_published_cases) {
    std::ranges::copy_if(
        element_cases(), std::back_inserter(plan.cases),
        [](const ElementCase& test) { return test.name.starts_with("course case"); });
  }
  for (ElementCase& test : plan.cases) test.probe = ElementCase::Probe::kThisShape;
  for (ElementCase& test : plan.repeated) test.probe = ElementCase::Probe::kThisShape;
  return plan;
}

}  // namespace convlab::grader
