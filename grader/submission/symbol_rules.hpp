#pragma once

#include <optional>
#include <string>
#include <vector>

namespace convlab::grader {

/// A forbidden function that an object file uses or defines.
struct SymbolProblem {
  enum class Kind {
    kLibrary,    ///< it calls a library that does the exercise
    kForbidden,  ///< it calls a function that its sandbox refuses
    kReplaced,   ///< it defines a function by which the grader observes it
  };
  Kind kind = Kind::kForbidden;
  std::string name{};  ///< without mangling
};

/// Checks the symbols of an object file, as `nm --extern-only --format=posix` lists them. Its own
/// names are free, because build_custom_submission.sh makes them local before it links, but for
/// those by which its accesses are observed.
/// It refuses libraries that do the exercise, calls that the sandbox refuses anyway, functions that
/// get around these rules, and the workbook's side of the channel to the grader. The sandbox stops
/// system calls that use no function.
/// @param allowed  libraries that it may call: "cublas"
std::optional<SymbolProblem> find_symbol_problem(const std::string& symbols,
                                                 const std::vector<std::string>& allowed = {});

/// A mangled name as its author wrote it, on one line; shortened if that would be endless.
std::string readable_symbol(const std::string& name);

/// Whether an object file calls one of these libraries.
bool calls_library(const std::string& symbols, const std::vector<std::string>& libraries);

}  // namespace convlab::grader
