#pragma once

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
  std::map<std::string, int> launches{};   ///< by the kernel's name in the source
  std::map<std::string, Copies> copies{};  ///< by direction, "host to device"
};

Activity activity();

/// Device memory that begins with exactly these numbers.
std::vector<float*> memory_that_begins_with(const float* numbers, std::int64_t count);

/// Puts numbers there, if the memory is still allocated.
void overwrite_memory(float* place, const float* numbers, std::int64_t count);

/// Whether some stream has work that nobody has waited for yet.
bool has_pending_work();

void note_launch(const std::string& kernel);
void note_copy(bool from_device, bool to_device, std::int64_t bytes);

}  // namespace convlab::emulation
