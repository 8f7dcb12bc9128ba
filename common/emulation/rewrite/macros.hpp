#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/emulation/rewrite/source.hpp"

namespace convlab::rewrite {

/// A #define. If a name has several, none of them is certain.
struct Macro {
  bool takes_arguments = false;
  std::vector<std::string> parameters;
  std::vector<std::string> replacement;
  int definitions = 1;
  bool is_configuration = false;  ///< <<<…>>> in one of the definitions
};

using MacroTable = std::map<std::string, Macro, std::less<>>;

/// Adds the macros that the file defines.
void collect_macros(const Source& source, MacroTable& macros);

/// The arguments of the __launch_bounds__ that the macro used at token `use` expands to, or
/// nothing: also where the macro has several definitions or makes a whole function.
std::optional<std::string> launch_bounds_of(const Source& source, std::size_t use,
                                            const MacroTable& macros);

}  // namespace convlab::rewrite
