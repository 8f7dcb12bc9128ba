#pragma once

#include <string>

#include "grader/checks/result/check_result.hpp"
#include "grader/measure/stage_counts.hpp"

namespace convlab::grader {

/// The explanation of a passed file: launch, what a thread holds, every line that accesses memory,
/// each barrier. At most kColumns wide; every number was counted.
std::string walk_text(const StageCounts& facts, const SourceText& sources);

/// The same for a stage on the CPU, from the times of its check: nothing was counted there.
/// @param stage  of the check
/// @param layers  the convolutions of the network, one image each
std::string walk_text(const CheckResult& check, const std::string& stage,
                      const std::vector<ConvShape>& layers);

}  // namespace convlab::grader
