#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/emulation/rewrite/source.hpp"

namespace convlab::grader::mend {

/// A part of a file that may be edited.
struct Site {
  enum class Form {
    kStatement,  ///< one that declares nothing, with its semicolon
    kJump,       ///< break or continue: it only goes or stays
    kValue,      ///< what a variable begins with, what is returned, a bound that OpenMP reads
    kCondition,
    kStep,   ///< of a for loop
    kPlace,  ///< between two statements: nothing yet
    kMacro,  ///< an index in what a macro with parameters writes, or all of it
    kCopy,   ///< in front of the file: copies of it
  };
  Form form = Form::kStatement;
  std::size_t begin = 0;  ///< tokens; a place is in front of `begin`
  std::size_t end = 0;
  std::size_t function = 0;  ///< the { of its body
  bool is_loop = false;      ///< of kCondition: it is asked again and again
  bool begins_loop = false;  ///< of kPlace: the body of a loop begins here
  bool is_in_switch = false;
  /// Of a statement, the places to which it may move: in its block, and around what holds that.
  std::vector<std::size_t> places{};
};

/// A variable of a function, with the tokens between which it is known.
struct Variable {
  std::string name{};
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string start{};      ///< its first value, if that is one number
  std::string alias{};      ///< its first value as text
  bool is_counter = false;  ///< of a loop, or made of the number of a thread
  bool is_constant = false;
  bool is_floating = false;
};

/// A statement of a function, with what it holds.
struct Statement {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t begin = 0;  ///< tokens; in a directive that stands in front of it, if there is one
  std::size_t end = 0;
  std::size_t parent = kNone;  ///< a block or the head of a loop, by its index
  bool is_loop = false;
  bool is_block = false;
  bool declares = false;
};

struct Outline {
  std::vector<Site> sites{};
  std::vector<Variable> variables{};
  std::vector<Statement> statements{};
};

/// The statements, conditions and variables of all functions of a file.
Outline outline_of(const rewrite::Source& source);

}  // namespace convlab::grader::mend
