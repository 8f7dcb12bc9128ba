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
  };
  Form form = Form::kStatement;
  std::size_t begin = 0;  ///< tokens; a place is in front of `begin`
  std::size_t end = 0;
  std::size_t function = 0;  ///< the { of its body
  bool is_loop = false;      ///< of kCondition: it is asked again and again
  bool begins_loop = false;  ///< of kPlace: the body of a loop begins here
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

struct Outline {
  std::vector<Site> sites{};
  std::vector<Variable> variables{};
};

/// The statements, conditions and variables of all functions of a file.
Outline outline_of(const rewrite::Source& source);

}  // namespace convlab::grader::mend
