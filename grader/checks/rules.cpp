#include "grader/checks/rules.hpp"

#include <algorithm>

#include "common/base/enum_name.hpp"
#include "common/base/error.hpp"
#include "common/base/unknown_name.hpp"

namespace convlab::grader {

const char* to_string(Rules rules) {
  return enum_name(rules, {"workbook", "course"});
}

std::vector<int> RulesRequest::batches() const {
  if (task && !task->batches.empty()) return task->batches;
  return edition ? edition->batches : std::vector<int>{};
}

RulesRequest parse_rules(const std::string& name, const std::string& task) {
  for (const std::string& id : {task, name}) {
    const auto named = find_task(id);
    if (!named) continue;
    if (!name.empty() && name != id && name != named->edition.name) {
      throw UsageError("The task " + task + " has the rules of " + named->edition.name +
                       "; leave out --rules " + name + ".");
    }
    return {.rules = Rules::kCourse, .edition = named->edition, .task = named->task};
  }
  if (name.empty()) return {};
  for (const Rules rules : {Rules::kWorkbook, Rules::kCourse}) {
    if (name == to_string(rules)) return {.rules = rules};
  }
  std::vector<std::string> known = edition_names();
  if (std::ranges::find(known, name) == known.end()) {
    known.insert(known.begin(), {"workbook", "course"});
    throw UsageError(unknown_name("edition", name, known));
  }
  RulesRequest request{.rules = Rules::kCourse};
  request.edition = load_edition(name);
  return request;
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

CasePlan course_plan(const Preset& network, int batch, const std::vector<ConvShape>& published) {
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
  for (const ConvShape& shape : published) {
    const int number = static_cast<int>(&shape - published.data()) + 1;
    plan.cases.push_back({"course case " + std::to_string(number), shape, false});
  }
  for (ElementCase& test : plan.cases) test.probe = ElementCase::Probe::kThisShape;
  for (ElementCase& test : plan.repeated) test.probe = ElementCase::Probe::kThisShape;
  return plan;
}

}  // namespace convlab::grader
