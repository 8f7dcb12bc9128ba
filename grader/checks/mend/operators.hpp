#pragma once

#include <array>

#include "grader/checks/mend/expression.hpp"

namespace convlab::grader::mend {

/// How strongly an operator binds, and what it may become.
struct Operator {
  const char* text;
  int strength;
  const char* others;  ///< separated by blanks
  Kind kind;
};
inline constexpr std::array<Operator, 22> kOperators = {{
    {"*", 9, "+ /", Kind::kOperator},
    {"/", 9, "* %", Kind::kOperator},
    {"%", 9, "/", Kind::kOperator},
    {"+", 8, "- *", Kind::kOperator},
    {"-", 8, "+", Kind::kOperator},
    {"<<", 7, ">>", Kind::kOperator},
    {">>", 7, "<<", Kind::kOperator},
    {"<", 6, "<= > >= !=", Kind::kComparison},
    {">", 6, ">= < <= !=", Kind::kComparison},
    {"<=", 6, "< >= >", Kind::kComparison},
    {">=", 6, "> <= <", Kind::kComparison},
    {"==", 5, "!=", Kind::kComparison},
    {"!=", 5, "== <", Kind::kComparison},
    {"&", 4, "|", Kind::kOperator},
    {"|", 3, "&", Kind::kOperator},
    {"&&", 2, "||", Kind::kOperator},
    {"||", 1, "&&", Kind::kOperator},
    {"=", 0, "+=", Kind::kAssignment},
    {"+=", 0, "= -=", Kind::kAssignment},
    {"-=", 0, "+=", Kind::kAssignment},
    {"*=", 0, "+=", Kind::kAssignment},
    {"/=", 0, "*=", Kind::kAssignment},
}};

}  // namespace convlab::grader::mend
