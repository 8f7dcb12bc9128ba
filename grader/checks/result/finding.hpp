#pragma once

#include <string>

namespace convlab::grader {

/// One thing that the grader found wrong, in words for the person who wrote the code.
struct Finding {
  std::string id{};        ///< "E-nan", see docs/diagnoses.md
  std::string title{};     ///< what is wrong, in a few words
  std::string seen{};      ///< where and what: numbers
  std::string cause{};     ///< what it usually means
  std::string next{};      ///< one next step
  std::string compiler{};  ///< the compiler's warnings about the same files, a line each
  std::string stage{};     ///< empty if it concerns the whole program

  friend bool operator==(const Finding&, const Finding&) = default;
};

}  // namespace convlab::grader
