#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace convlab::emulation {

/// A __device__ or __constant__ variable of the program.
struct Symbol {
  std::string name;
  const std::byte* address;
  std::size_t bytes;
  bool constant;
};

/// The variable that contains the address.
std::optional<Symbol> find_symbol(const void* address);

/// Bytes of all __constant__ variables together.
std::size_t constant_bytes();

/// Whether the address lies in static storage of the program, where every symbol does.
bool is_static_storage(const void* address);

}  // namespace convlab::emulation
