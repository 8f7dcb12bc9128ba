#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace convlab::ptx {

/// One operand of an asm statement: "=f"(sum[0]).
struct Operand {
  std::string constraint;
  std::string expression;  ///< C++ text
};

/// An asm statement of CUDA C++, taken apart.
struct AsmStatement {
  std::string code;               ///< the PTX, its string literals joined and unescaped
  std::vector<Operand> operands;  ///< outputs, then inputs: %0, %1, …
};

/// C++ that does the same, or why there is none.
struct Translation {
  std::string code;     ///< a statement without its semicolon; empty if refused
  std::string refusal;  ///< the instruction that is not known, or what is wrong with it
};

/// Translates the instructions that the course's kernels use (docs/emulation.md lists them) into
/// calls of common/emulation/include/convlab_emulation/ptx.hpp. Every operand's expression is
/// evaluated once, in its order, as by nvcc.
Translation translate(const AsmStatement& statement);

/// As + does, but for GCC 12's false warning: https://gcc.gnu.org/bugzilla/show_bug.cgi?id=105651
std::string joined(std::initializer_list<std::string_view> parts);

}  // namespace convlab::ptx
