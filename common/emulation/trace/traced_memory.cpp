#include "common/emulation/trace/traced_memory.hpp"

#include <vector>

#include "common/emulation/include/convlab_emulation/shared_variable.hpp"
#include "common/emulation/runtime/block_runner.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/handles.hpp"
#include "common/emulation/runtime/report.hpp"
#include "common/emulation/runtime/symbol_table.hpp"

namespace convlab::emulation {
namespace {

/// The __device__ variables: all are known before a kernel runs.
const std::vector<Symbol>& device_variables() {
  static const std::vector<Symbol> variables = [] {
    std::vector<Symbol> all = all_symbols();
    std::erase_if(all, [](const Symbol& each) { return each.kind == SymbolKind::kConstant; });
    return all;
  }();
  return variables;
}

const Symbol* variable_at(std::uintptr_t address) {
  for (const Symbol& each : device_variables()) {
    const auto begin = reinterpret_cast<std::uintptr_t>(each.address);
    if (address >= begin && address < begin + each.bytes) return &each;
  }
  return nullptr;
}

}  // namespace

bool is_traced_memory(std::uintptr_t address) {
  const void* const pointer = reinterpret_cast<const void*>(address);
  return is_shared(pointer) || device_memory().contains(pointer) ||
         (!device_variables().empty() && variable_at(address) != nullptr);
}

FaultMemory memory_at(std::uintptr_t address) {
  const void* const pointer = reinterpret_cast<const void*>(address);
  const char* const kernel = BlockRunner::current()->call().name;
  if (is_shared(pointer)) {
    const auto memory = BlockRunner::current()->shared_memory().find(pointer);
    return memory ? fault_memory(*memory, kernel) : FaultMemory{};
  }
  if (device_memory().contains(pointer)) {
    const auto memory = device_memory().nearest(pointer);
    return memory ? fault_memory(*memory, kernel) : FaultMemory{};
  }
  const Symbol* const variable = variable_at(address);
  if (variable == nullptr) return {};
  return {.variable = variable->name,
          .bytes = static_cast<long long>(variable->bytes),
          .offset = static_cast<long long>(address -
                                           reinterpret_cast<std::uintptr_t>(variable->address))};
}

}  // namespace convlab::emulation
