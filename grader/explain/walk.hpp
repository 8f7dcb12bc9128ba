#pragma once

#include <string>

#include "grader/explain/facts.hpp"
#include "grader/result/check_result.hpp"

namespace convlab::grader {

/// The explanation of a passed file: launch, what a thread holds, every line that accesses memory,
/// each barrier. At most kColumns wide; every number was counted.
std::string walk_text(const StageFacts& facts, const SourceText& sources);

/// What the next milestone will change in this program, with its numbers.
/// @param milestone  "m2", "m3" or "m4"
std::string next_text(const std::string& milestone, const StageFacts& facts,
                      const SourceText& sources);

/// The same two for a stage on the CPU, from the times of its check: nothing was counted there.
/// @param stage  of the check
/// @param layers  the convolutions of the network, one image each
std::string walk_text(const CheckResult& check, const std::string& stage,
                      const std::vector<ConvShape>& layers);
std::string next_text(const std::vector<ConvShape>& layers);

/// "1 234 567": groups of three, as the chapters write large numbers, with no-break spaces.
std::string grouped(std::int64_t number);

/// "5", "5.2": at most one digit behind the point.
std::string short_number(double number);

}  // namespace convlab::grader
