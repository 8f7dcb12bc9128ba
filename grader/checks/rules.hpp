#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/network/preset.hpp"
#include "grader/checks/edition.hpp"
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
  std::optional<Rules> rules{};  ///< none: of the course for a file with its interface
  std::optional<Edition> edition{};
  std::optional<EditionTask> task{};  ///< of the edition, for which the file was handed in

  /// Whether the whole work may be done in prolog.
  [[nodiscard]] bool prolog_may_compute() const { return task && task->prolog_computes; }
  [[nodiscard]] std::vector<int> batches() const;  ///< that the edition asks for; none: the usual
};

/// @param name  "", "workbook", "course", or an edition of the course or a task of one
/// (edition.hpp)
/// @param task  "sp26-req-0", or anything else; it names its edition, too
/// @throws UsageError for any other; it lists the names
RulesRequest parse_rules(const std::string& name, const std::string& task = "");

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

/// Only the layers of the network must be right, at this batch, and the published cases.
CasePlan course_plan(const Preset& network, int batch, const std::vector<ConvShape>& published);

}  // namespace convlab::grader
