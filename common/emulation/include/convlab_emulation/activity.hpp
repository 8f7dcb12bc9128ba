#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace convlab::emulation {

/// What the program has asked of the emulated device so far. Counts; times would mean nothing.
struct Activity {
  struct Copies {
    int calls = 0;
    std::int64_t bytes = 0;
  };
  std::map<std::string, int> launches{};   ///< kernels that began to run, by name in the source
  std::map<std::string, int> calls{};      ///< of the runtime's functions, by name
  std::map<std::string, Copies> copies{};  ///< by direction, "host to device"
};

Activity activity();

/// One allocation of device memory.
struct MemoryRange {
  std::byte* begin = nullptr;
  std::int64_t bytes = 0;
};

/// Everything that is allocated now.
std::vector<MemoryRange> allocated_memory();

/// Whether some stream has work that nobody has waited for yet.
bool has_pending_work();

/// When a kernel begins to run, which a captured one does with its graph.
void note_launch(const std::string& kernel);
void note_call(const char* function);
void note_copy(bool from_device, bool to_device, std::int64_t bytes);

}  // namespace convlab::emulation
