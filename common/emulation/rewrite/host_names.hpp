#pragma once

#include <map>
#include <set>
#include <string>

#include "common/emulation/rewrite/macros.hpp"

namespace convlab::rewrite {

/// What the host has and a kernel has not: its variables, and the members of its classes.
struct HostNames {
  std::set<std::string, std::less<>> variables;
  /// Aliases of types, and "class::member" with an overload for the device: they stay unjudged.
  std::set<std::string, std::less<>> aliases;
  /// By class, the members that are functions of the host.
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> members;
};

/// Adds the variables at namespace scope that have no qualifier of the device and are no constants,
/// and the member functions without such a qualifier. Silent wherever a qualifier may hide.
void collect_host_names(const Source& source, const MacroTable& macros, HostNames& names);

}  // namespace convlab::rewrite
