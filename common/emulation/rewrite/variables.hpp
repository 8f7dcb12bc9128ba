#pragma once

#include <cstddef>

#include "common/emulation/rewrite/editor.hpp"

namespace convlab::rewrite {

/// Adds the __shared__ variables that stand outside of functions.
void collect_shared_variables(const Source& source, SharedVariableTable& variables);

/// Turns a __shared__ declaration into a reference to the block's memory; outside of functions,
/// into a declaration for use_shared_variables. @param keyword  its __shared__
void rewrite_shared_variable(const File& file, std::size_t keyword);

/// A function that uses shared variables of the file gets them where its body begins.
/// @param brace  any {
void use_shared_variables(const File& file, std::size_t brace);

/// Whether token i is __device__, __constant__ or __managed__.
bool qualifies_variable(const Source& source, std::size_t i);

/// Registers a variable of the device; functions and declarations are left alone.
/// @param keyword  one that qualifies_variable
void register_symbol(const File& file, std::size_t keyword);

}  // namespace convlab::rewrite
