#pragma once

#include <optional>
#include <string>
#include <vector>

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

/// A question with an answer that was counted in the student's own program.
struct Question {
  std::string text{};
  std::string source{};                ///< the quoted lines of the question, or empty
  std::vector<std::string> choices{};  ///< a, b, …; none: the answer is a whole number
  std::int64_t answer = 0;             ///< the number, or the choice from 0
  std::string why{};                   ///< how the answer follows from the counts
};

/// Up to three questions about a stage on a device.
std::vector<Question> questions_of(const StageCounts& facts, const SourceText& sources);

/// The same about a stage on the CPU.
/// @param layers  the convolutions of the network, one image each
std::vector<Question> questions_of(const std::vector<ConvShape>& layers);

/// Whether a text answers the question: "a" or "A)" of choices, "1 152", "1,152" or "1152".
/// @return nothing if it is not an answer to this kind of question
std::optional<bool> is_right(const Question& question, const std::string& text);

/// The answer as a person would write it: "b", "1 152".
std::string answer_text(const Question& question);

}  // namespace convlab::grader
