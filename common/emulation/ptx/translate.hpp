#pragma once

#include <initializer_list>
#include <optional>
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

// ---- what translate() looks up (instructions.cpp) -----------------------------------------------

/// What an instruction takes at one place.
struct Slot {
  enum class Kind {
    kWrite,      ///< a register, or {…} of several, that receives the result
    kRead,       ///< a register, or {…} of several; a number if there is only one
    kAddress,    ///< [register + offset]
    kImmediate,  ///< a number, literal or an operand
  };
  Kind kind;
  int bytes;  ///< of a register
  int count;  ///< of registers; 1: no braces
};

/// A known instruction: the function of ptx.hpp that does its work, and its operands.
struct Instruction {
  std::string function;
  std::vector<Slot> slots;
  int optional_slots = 0;  ///< of these, how many may be left out at the end
};

/// What a special register, such as "laneid" of %laneid, holds, as an expression of C++.
/// Source: PTX ISA, "Special Registers".
std::optional<std::string_view> find_special_register(std::string_view name);

/// @param name  with all its modifiers: "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
std::optional<Instruction> find_instruction(std::string_view name);

}  // namespace convlab::ptx
