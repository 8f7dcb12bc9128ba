#include "common/emulation/runtime/symbol_table.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include "common/emulation/runtime/handles.hpp"
#include "common/emulation/runtime/poison.hpp"

// Bounds of the program's image, from the linker.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
extern const char __executable_start;
extern const char end;
extern const char __bss_start;  // of variables without a value
}
// NOLINTEND(readability-identifier-naming)

namespace convlab::emulation {
namespace {

/// Constructors of static objects fill it: it is made at its first use.
struct SymbolTable {
  std::mutex mutex;
  std::vector<Symbol> symbols;

  Symbol* find(const void* address) {
    const auto* byte = static_cast<const std::byte*>(address);
    const auto found = std::ranges::find_if(symbols, [&](const Symbol& symbol) {
      return byte >= symbol.address && byte < symbol.address + symbol.bytes;
    });
    return found == symbols.end() ? nullptr : &*found;
  }
};

}  // namespace

DeviceSymbol::DeviceSymbol(const char* name, const volatile void* address, std::size_t bytes,
                           SymbolKind kind, const char* module) {
  const std::lock_guard lock(only<SymbolTable>().mutex);
  only<SymbolTable>().symbols.push_back(
      {name, static_cast<const std::byte*>(const_cast<const void*>(address)), bytes, kind, module,
       kind == SymbolKind::kManaged});
}

std::optional<Symbol> find_symbol(const void* address) {
  const std::lock_guard lock(only<SymbolTable>().mutex);
  const Symbol* const found = only<SymbolTable>().find(address);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

std::vector<Symbol> all_symbols() {
  const std::lock_guard lock(only<SymbolTable>().mutex);
  return only<SymbolTable>().symbols;
}

void note_symbol_address(const void* address) {
  const std::lock_guard lock(only<SymbolTable>().mutex);
  if (Symbol* const found = only<SymbolTable>().find(address); found != nullptr)
    found->address_known = true;
}

std::size_t constant_bytes() {
  const std::lock_guard lock(only<SymbolTable>().mutex);
  std::map<std::string, std::size_t> bytes_of_module;
  std::size_t most = 0;
  for (const Symbol& symbol : only<SymbolTable>().symbols)
    if (symbol.kind == SymbolKind::kConstant)
      most = std::max(most, bytes_of_module[symbol.module] += symbol.bytes);
  return most;
}

void poison_constants() {
  static const bool done = [] {
    for (const Symbol& symbol : all_symbols()) {
      const auto* byte = reinterpret_cast<const char*>(symbol.address);
      const bool has_no_value = byte >= &__bss_start && byte < &end;
      if (symbol.kind == SymbolKind::kConstant && has_no_value)
        fill_poison(const_cast<std::byte*>(symbol.address), symbol.bytes, kConstantObject, true);
    }
    return true;
  }();
  static_cast<void>(done);
}

bool is_static_storage(const void* address) {
  const auto* byte = static_cast<const char*>(address);
  return byte >= &__executable_start && byte < &end;
}

}  // namespace convlab::emulation
