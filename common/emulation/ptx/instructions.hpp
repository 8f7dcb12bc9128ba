#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convlab::ptx {

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
