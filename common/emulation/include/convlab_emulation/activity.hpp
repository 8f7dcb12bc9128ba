#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/base/device_notes.hpp"
#include "common/emulation/include/convlab_emulation/kernel_call.hpp"

namespace convlab::emulation {

class Parcel;

/// What the program has asked of the emulated device. Counts; times would mean nothing.
struct Activity {
  struct Copies {
    int calls = 0;
    std::int64_t bytes = 0;
  };
  std::map<std::string, int> launches{};   ///< kernels that began to run, by name in the source
  std::map<std::string, Copies> copies{};  ///< by direction, "host to device"
};

/// Since the last call.
Activity take_activity();

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

/// Forgets what cudaHostRegister has pinned: the last line of many a program never releases it.
void release_pinned();

/// Makes the device work again, whatever has happened: nothing is allocated, no error is kept. For
/// whoever makes faults on purpose.
void renew_device();
/// From now on no fault is reported: to find its place takes longer than to make it.
void keep_faults_silent();

/// Withholds numbers from now on: what the host gets is tokens, unique numbers without a meaning.
/// The runtime replaces tokens by the words that they stand for on the way to the device, and words
/// by new tokens on the way back. So the host can move numbers and put them in order, but not
/// compute with them. Forgets earlier tokens; the same key draws the same ones again.
void withhold_numbers(std::uint64_t key);
void stop_withholding();

/// Fills `tokens`, an array of the host that it does not write, with new tokens.
void make_tokens(const float* numbers, float* tokens, std::int64_t count);

/// Replaces tokens by what they stand for. Does nothing if nothing is withheld.
void reveal_numbers(float* numbers, std::int64_t count);

/// While it lives, this thread's copies out of and into device memory move true words.
class WorkbookCopies {
 public:
  WorkbookCopies();
  WorkbookCopies(const WorkbookCopies&) = delete;
  WorkbookCopies& operator=(const WorkbookCopies&) = delete;
  ~WorkbookCopies();
};

/// When a kernel begins to run, which a captured one does with its graph.
void note_launch(const std::string& kernel);
void note_copy(bool from_device, bool to_device, std::int64_t bytes);
void note_allocation(std::int64_t bytes);
/// When a launch is asked for.
void note_configuration(const KernelCall& call);
/// That a kernel runs in this stream.
void note_stream(int number);
/// Where threads ended early, and what lanes read of absent ones (kernel_process.hpp).
void pass_launch_notes(Parcel& parcel);
/// When threads of a block meet in a barrier and others have ended: `ended` of them.
void note_early_end(const KernelCall& call, int ended, const CallSite& barrier);
/// A shuffle takes the value of a lane that has ended or is elsewhere.
void note_absent_value(const KernelCall& call, const CallSite& shuffle);

}  // namespace convlab::emulation
