#pragma once

#include <string>
#include <vector>

#include "common/emulation/rewrite/functions.hpp"
#include "common/emulation/rewrite/host_names.hpp"

namespace convlab::rewrite {

/// Something that device emulation cannot run, or that nvcc would refuse.
struct Diagnostic {
  std::size_t line;
  std::string message;
};

/// Calls across the border that nvcc refuses: a function of the host called in device code, a
/// function of the device called by the host, a kernel called without a configuration, a variable
/// or a class of the host in device code. Silent wherever a name may mean something else.
std::vector<Diagnostic> find_wrong_calls(const Source& source, const MacroTable& macros,
                                         const FunctionTable& functions, const HostNames& host);

}  // namespace convlab::rewrite
