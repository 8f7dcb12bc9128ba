#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/emulation/include/convlab_emulation/kernel_call.hpp"
#include "common/error/device_notes.hpp"
#include "common/error/flow_word.hpp"

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

/// What the program did since the last call: allocations, copies, launches; and what an output was
/// computed from, with CONVLAB_EMU_POISON=numbered.
DeviceNotes take_notes(const float* output, std::int64_t count);

/// Sets the time limit of each kernel from now on, in seconds; 0 for none.
void limit_kernels(double seconds);

/// Settings by their variables, "CONVLAB_EMU_ORDER=reverse"; they count more than the environment.
/// @throws convlab::UsageError naming the one that cannot be read
void choose_settings(const std::vector<std::string>& variables);

/// Until the next call, the host sees `shown` where device memory has other bytes: in what it
/// copies out, and in what it reads of memory that both sides use. Kernels see no difference.
/// @param places  each of `bytes` bytes; none: both see the same again
void show_host(const std::vector<std::byte*>& places, const std::byte* shown, std::size_t bytes);

/// Records from now on what the host gives to kernels and what kernels write: the words of memory
/// that have changed since the last kernel, or with it; launch configurations and arguments.
void record_words();

/// What was recorded, in order. The words of kernels end with a quarter of kMostFlowWords; nothing
/// is told where the host gave more than the other three, and one word of by_kernel 2 where so much
/// memory was in use that comparing it takes too long. Stops recording.
std::vector<FlowWord> take_words();

/// When a kernel begins to run, which a captured one does with its graph.
void note_launch(const std::string& kernel);
void note_call(const char* function);
void note_copy(bool from_device, bool to_device, std::int64_t bytes);
void note_allocation(std::int64_t bytes);
/// When a launch is asked for.
void note_configuration(const KernelCall& call);
/// When threads of a block meet in a barrier and others have ended: `ended` of them.
void note_early_end(const KernelCall& call, int ended, const CallSite& barrier);

}  // namespace convlab::emulation
