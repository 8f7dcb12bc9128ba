#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/emulation/rewrite/source.hpp"

namespace convlab::rewrite {

/// A #define; of several of one name the first.
struct Macro {
  bool takes_arguments = false;
  std::vector<std::string> replacement;
  bool is_configuration = false;  ///< <<<…>>> in one of the definitions
};

using MacroTable = std::map<std::string, Macro, std::less<>>;

/// Adds the macros that the file defines.
void collect_macros(const Source& source, MacroTable& macros);

/// Where a function runs, by its qualifiers. kOther: both, constexpr, a member, or not certain.
enum class Side : unsigned char { kHost, kDevice, kKernel, kOther };

/// A function declared outside of other functions.
struct Function {
  std::size_t begin = 0;  ///< first token of its declaration, `template` included
  std::size_t head = 0;   ///< first token behind `template <…>`
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

/// Adds the kernels that the file declares.
void collect_kernels(const Source& source, const MacroTable& macros, KernelTable& kernels);

using FunctionTable = std::map<std::string, NamedFunction, std::less<>>;

/// Adds the functions that the file declares. A qualifier may hide in a macro, so all files'
/// macros must be known.
void collect_functions(const Source& source, const MacroTable& macros, FunctionTable& functions);

/// Variables that the host has and a kernel has not.
using HostVariables = std::set<std::string, std::less<>>;

/// Adds the variables at namespace scope that have no qualifier of the device and are no constants.
/// Silent wherever a qualifier may hide.
void collect_host_variables(const Source& source, const MacroTable& macros,
                            HostVariables& variables);

/// Something that device emulation cannot run, or that nvcc would refuse.
struct Diagnostic {
  std::size_t line;
  std::string message;
};

/// Calls across the border that nvcc refuses: a function of the host called in device code, a
/// function of the device called by the host, a kernel called without a configuration, a variable
/// or a class of the host in device code. Silent wherever a name may mean something else.
std::vector<Diagnostic> find_wrong_calls(const Source& source, const MacroTable& macros,
                                         const FunctionTable& functions,
                                         const HostVariables& host_variables);

}  // namespace convlab::rewrite
