#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "common/emulation/include/convlab_emulation/shared_variable.hpp"

namespace convlab::emulation {

/// A __device__, __constant__ or __managed__ variable of the program.
struct Symbol {
  std::string name;
  const std::byte* address;
  std::size_t bytes;
  SymbolKind kind;
  std::string module;  ///< the file that was compiled
  /// Whether the host has asked for its address on the device. Until then the host has only the
  /// address of a shadow variable of the same name, unless the variable is managed.
  bool address_known;
};

/// The variable that contains the address.
std::optional<Symbol> find_symbol(const void* address);

/// All variables, in the order in which the program's files are linked.
std::vector<Symbol> all_symbols();

/// Notes that the host has asked for the address of the variable that contains this.
void note_symbol_address(const void* address);

/// Bytes of __constant__ variables, in the module that has most of them.
std::size_t constant_bytes();

/// Once: marks __constant__ variables without a value as unwritten memory is marked. They begin as
/// zeros, but a result that was computed from them tells that nothing was copied there.
void poison_constants();

/// Whether the address lies in static storage of the program, where every symbol does.
bool is_static_storage(const void* address);

}  // namespace convlab::emulation
