#pragma once

#include <optional>
#include <string>

namespace convlab::grader {

/// What is wrong with the functions that an object uses or defines.
struct SymbolProblem {
  enum class Kind {
    kLibrary,      ///< it calls a library that does the exercise
    kForbidden,    ///< it calls a function that no convolution needs
    kReplacement,  ///< it defines a function of the system, of CUDA or of the workbook
  };
  Kind kind = Kind::kForbidden;
  std::string name{};  ///< without mangling
};

/// Examines the external symbols of an object, as `nm --extern-only --format=posix` lists
/// them. Undefined ones must be on the list of what a convolution may use: the language's own
/// library, mathematics, memory, text output, threads, the CUDA runtime and the workbook's
/// interface.
std::optional<SymbolProblem> find_symbol_problem(const std::string& symbols);

}  // namespace convlab::grader
