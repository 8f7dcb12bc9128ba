#pragma once

// What copies and fills of memory have in common: whose memory it is, and what they may touch.
// Variables of the device are such memory.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "common/emulation/include/convlab_emulation/shared_variable.hpp"
#include "common/emulation/runtime/pages.hpp"
#include "common/emulation/runtime/stream.hpp"

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
  std::string file;  ///< where it is declared
  std::uint32_t line;
  bool is_read_only;  ///< a constant of C++: nobody can write there, the emulation neither
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
/// Whether it is a function, a literal or a constant of the program, where nobody can write.
bool is_constant(const void* address);

/// Which side can use an address.
enum class Side { kHost, kDevice, kBoth };
Side side_of(const void* address);

/// Why no kernel can use a pointer, in words that follow "argument 1". Empty for a pointer that a
/// kernel can use: null, device, pinned or managed memory, the address of a symbol.
std::string why_no_kernel_may_use(const void* address);

/// Host memory that cudaHostRegister has pinned.
struct PinnedMemory : MemoryPieces {};

/// Says what is wrong if the piece of device memory at `address` has fewer than `bytes` bytes left;
/// otherwise empty.
std::string outside(const void* address, std::size_t bytes);

/// Layers of rows of bytes. Pitches lead from row to row, slices from layer to layer.
struct Copy {
  Copy(void* target, std::size_t target_pitch, const void* source, std::size_t source_pitch,
       std::size_t row_bytes, std::size_t rows)
      : to(static_cast<std::byte*>(target)),
        to_pitch(target_pitch),
        from(static_cast<const std::byte*>(source)),
        from_pitch(source_pitch),
        width(row_bytes),
        height(rows) {}
  /// So many bytes in one row.
  Copy(void* target, const void* source, std::size_t bytes)
      : Copy(target, bytes, source, bytes, bytes, 1) {}
  /// A box between two other ones. A cudaArray_t is none: ask for it before.
  explicit Copy(const cudaMemcpy3DParms& box);

  std::byte* to;
  std::size_t to_pitch;
  const std::byte* from;
  std::size_t from_pitch;
  std::size_t width;
  std::size_t height;
  std::size_t layers = 1;
  std::size_t to_slice = 0;
  std::size_t from_slice = 0;
  bool to_symbol = false;  ///< a variable of the device, by name
  bool from_symbol = false;

  [[nodiscard]] Side to_side() const { return to_symbol ? Side::kDevice : side_of(to); }
  [[nodiscard]] Side from_side() const { return from_symbol ? Side::kDevice : side_of(from); }
  [[nodiscard]] std::size_t bytes() const { return width * height * layers; }
  [[nodiscard]] bool is_empty() const { return bytes() == 0; }
  [[nodiscard]] std::size_t to_span() const {
    return (layers - 1) * to_slice + (height - 1) * to_pitch + width;
  }
  [[nodiscard]] std::size_t from_span() const {
    return (layers - 1) * from_slice + (height - 1) * from_pitch + width;
  }
  /// Raises a fault of the device if the memory was freed after check().
  void run(const char* function) const;
};

/// The same value in every element of 1, 2 or 4 bytes.
struct Fill {
  std::byte* to = nullptr;
  std::size_t pitch = 0;
  unsigned value = 0;
  std::size_t element_bytes = 1;
  std::size_t width = 0;  ///< in bytes
  std::size_t height = 1;

  [[nodiscard]] bool is_empty() const { return width == 0 || height == 0; }
  [[nodiscard]] std::size_t span() const { return (height - 1) * pitch + width; }
  /// Raises a fault of the device if the memory was freed after check().
  void run(const char* function) const;
};

/// Refuses a box of a cudaArray_t, and one whose rows do not fit into its layers.
cudaError_t check(const cudaMemcpy3DParms* box, const char* function);

/// Checks a copy or a fill that is not empty. If something is wrong, reports and records it.
/// @return the error, or cudaSuccess
/// @param function  the caller's name for the report
cudaError_t check(const Copy& copy, cudaMemcpyKind kind, const char* function);
cudaError_t check(const Fill& fill, const char* function);

}  // namespace convlab::emulation
