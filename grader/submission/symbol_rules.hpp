#pragma once

#include <optional>
#include <string>
#include <vector>

namespace convlab::grader {

/// What is wrong with the functions that an object uses or defines.
struct SymbolProblem {
  enum class Kind {
    kLibrary,      ///< it calls a library that does the exercise
    kForbidden,    ///< it calls what its box refuses
    kReplacement,  ///< it brings a function of the system, of CUDA or of the workbook
  };
  Kind kind = Kind::kForbidden;
  std::string name{};  ///< without mangling
};

/// Looks through the external symbols of an object, as `nm --extern-only --format=posix` lists
/// them. Refused are libraries that do the exercise, what the box refuses in any case, what reaches
/// around these rules, and the workbook's side of the talk with the grader. A system call without a
/// function's name is met by the box.
/// @param allowed  libraries that it may call all the same: "cublas"
std::optional<SymbolProblem> find_symbol_problem(const std::string& symbols,
                                                 const std::vector<std::string>& allowed = {});

/// Whether an object calls one of these libraries.
bool calls_library(const std::string& symbols, const std::vector<std::string>& libraries);

}  // namespace convlab::grader
