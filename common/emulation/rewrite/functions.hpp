#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/emulation/rewrite/macros.hpp"

namespace convlab::rewrite {

/// Something that device emulation cannot run, or that nvcc would refuse.
struct Diagnostic {
  std::size_t line;
  std::string message;
};

/// Where a function runs, by its qualifiers. kOther: both, constexpr, a member, or not certain.
enum class Side : unsigned char { kHost, kDevice, kKernel, kOther };

/// A function declared outside of other functions.
struct Function {
  std::size_t begin = 0;  ///< first token of its declaration, `template` included
  std::size_t name = 0;
  std::size_t body = 0;  ///< its {, or the number of tokens without a body
  Side side = Side::kOther;
  std::string space;  ///< the namespaces around it, "a::b::"
};

/// The properties that all declarations of one name share.
struct NamedFunction {
  Side side = Side::kOther;
  std::string space;
};

using FunctionTable = std::map<std::string, NamedFunction, std::less<>>;

/// Adds the functions that the file declares. A qualifier may hide in a macro, so all files'
/// macros must be known.
void collect_functions(const Source& source, const MacroTable& macros, FunctionTable& functions);

/// Calls across the border that nvcc refuses: a function of the host called in device code, a
/// function of the device called by the host, a kernel called without a configuration. Silent
/// wherever a name may mean something else.
std::vector<Diagnostic> find_wrong_calls(const Source& source, const MacroTable& macros,
                                         const FunctionTable& functions);

}  // namespace convlab::rewrite
