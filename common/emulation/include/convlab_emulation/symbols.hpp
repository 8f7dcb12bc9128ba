#pragma once

#include <cstddef>

namespace convlab::emulation {

enum class SymbolKind { kDevice, kConstant, kManaged };

/// Tells the runtime of a variable of the device. The rewrite puts one behind each.
/// @param module  the file that is compiled; on a GPU the limit on constant memory is a module's
class DeviceSymbol {
 public:
  DeviceSymbol(const char* name, const volatile void* address, std::size_t bytes, SymbolKind kind,
               const char* module);
  DeviceSymbol(const DeviceSymbol&) = delete;
  DeviceSymbol& operator=(const DeviceSymbol&) = delete;
};

/// Tells the runtime that a source accesses 16 bytes at once (float4, tensor cores). Only then must
/// allocations be aligned to 16 bytes; otherwise they end nearer to the page that cannot be read.
/// The rewrite calls it in such a source. @return true
bool note_wide_accesses();

}  // namespace convlab::emulation
