#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/emulation/rewrite/macros.hpp"

namespace convlab::rewrite {

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
  bool has_host_twin = false;  ///< a kernel and a function of the host have the name
};

/// CAPITALS are macros by custom; they may come from a header that is not read.
bool may_be_macro(std::string_view name, const MacroTable& macros);

/// The functions that the file declares, outside of each other.
std::vector<Function> find_functions(const Source& source, const MacroTable& macros);

using FunctionTable = std::map<std::string, NamedFunction, std::less<>>;

/// Adds the functions that the file declares. A qualifier may hide in a macro, so all files'
/// macros must be known.
void collect_functions(const Source& source, const MacroTable& macros, FunctionTable& functions);

}  // namespace convlab::rewrite
