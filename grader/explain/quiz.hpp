#pragma once

#include <optional>
#include <string>
#include <vector>

#include "grader/explain/facts.hpp"

namespace convlab::grader {

/// A question whose answer was counted in the student's own program.
struct Question {
  std::string text{};
  std::string source{};                ///< quoted lines that it is about, or nothing
  std::vector<std::string> choices{};  ///< a, b, …; none: a whole number is asked
  std::int64_t answer = 0;             ///< the number, or the choice from 0
  std::string why{};                   ///< how it follows from what was counted
};

/// Two or three questions about a stage on a device.
std::vector<Question> questions_of(const StageFacts& facts, const SourceText& sources);

/// The same about a stage on the CPU.
/// @param layers  the convolutions of the network, one image each
std::vector<Question> questions_of(const std::vector<ConvShape>& layers);

/// Whether a text answers the question: "a" or "A)" of choices, "1 152", "1,152" or "1152".
/// @return nothing if it is no answer to this kind of question
std::optional<bool> is_right(const Question& question, const std::string& text);

/// The answer as a person would write it: "b", "1 152".
std::string answer_text(const Question& question);

}  // namespace convlab::grader
