#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/emulation/rewrite/functions.hpp"
#include "common/emulation/rewrite/macros.hpp"
#include "common/emulation/rewrite/source.hpp"

namespace convlab::rewrite {

/// __shared__ variables outside of functions, with what declares them in a function that uses them.
using SharedVariableTable = std::map<std::string, std::string, std::less<>>;

/// The names that a source and its includes declare.
struct Names {
  KernelTable kernels;
  MacroTable macros;
  FunctionTable functions;
  SharedVariableTable shared_variables;
};

}  // namespace convlab::rewrite
