#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/network/preset.hpp"
#include "grader/checks/element_cases.hpp"

namespace convlab::grader {

/// The rules that a file must satisfy.
enum class Rules {
  kWorkbook,  ///< any shape
  kCourse,    ///< only what its edition asked: the layers of the network, published cases
};

/// "workbook", "course".
const char* to_string(Rules rules);

/// The content of --rules.
struct RulesRequest {
  std::optional<Rules> rules{};           ///< none: of the course for a file with its interface
  std::optional<bool> published_cases{};  ///< none: for the form with a stride
};

/// @param name  "", "workbook", "course", or an edition of the course, "fa20" to "sp26"
/// @throws UsageError for any other; it lists the names
RulesRequest parse_rules(const std::string& name);

/// Which convolutions decide about a stage.
struct CasePlan {
  Rules rules = Rules::kWorkbook;
  std::vector<ElementCase> cases{};     ///< in the order in which they are run; each must be right
  std::vector<ElementCase> repeated{};  ///< quick ones, to ask again and in other orders of threads
  ConvShape phases{};      ///< in which the phases are told apart, and single numbers change
  ConvShape seen_again{};  ///< in which inputs come again, for CPU stages
};

/// Every shape must be right.
CasePlan workbook_plan();

/// Only the layers of the network must be right, at this batch, and the four published cases, which
/// editions from FA23 on run first.
CasePlan course_plan(const Preset& network, int batch, bool published_cases);

}  // namespace convlab::grader
