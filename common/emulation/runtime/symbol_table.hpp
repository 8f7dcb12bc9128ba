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
  std::string file;  ///< that declares it
};

/// The variable that contains the address.
std::optional<Symbol> find_symbol(const void* address);

/// Bytes of the __constant__ variables of the file that has the most of them.
std::size_t constant_bytes();

/// Whether the address lies in static storage of the program, where every symbol does.
bool is_static_storage(const void* address);

}  // namespace convlab::emulation
