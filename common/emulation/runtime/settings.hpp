#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace convlab::emulation {

/// What of a program's work the device does; the rest it leaves out, which shows what makes the
/// output.
enum class Work {
  kAll,
  kGraphs,        ///< kernels of graphs, and no others
  kFirstStream,   ///< kernels of the stream whose kernel comes first
  kOtherStreams,  ///< kernels of all other streams
  kFirstDevice,   ///< kernels of the first of two devices
  kSecondDevice,
  kPlainCopies,  ///< copies that the host waits for, and all kernels
  kSamples,      ///< some blocks of each grid, spread to its ends, and small copies; new memory is
                 ///< not filled: the sizes may be far beyond the machine's memory
  // All but these (Settings::left_out):
  kNoKernels,
  kNoInputs,   ///< asynchronous copies to the device, which bring ones
  kNoOutputs,  ///< those from it
};
struct GpuModel;

/// What the environment asks of the emulated device. docs/emulation.md lists the variables.
struct Settings {
  /// CONVLAB_EMU_ORDER=forward|reverse: the last thread of a block, the last block of a grid
  /// begins.
  bool reverses = false;
  bool lazy_streams = false;       ///< CONVLAB_EMU_STREAMS=eager|lazy
  double timeout_seconds = 600;    ///< CONVLAB_EMU_TIMEOUT, per kernel; 0 for none
  int workers = 0;                 ///< CONVLAB_EMU_THREADS; 0 for one per core
  std::uint64_t memory_bytes = 0;  ///< CONVLAB_EMU_MEMORY, in MiB; 0 for the model's
  const GpuModel* gpu = nullptr;   ///< CONVLAB_EMU_GPU (gpu_model.hpp)
  bool forgives_reads = false;     ///< CONVLAB_EMU_READS=exact|forgiven|forgiven:BYTE
  bool arrays_at_begin = false;    ///< CONVLAB_EMU_ARRAYS=end|begin: where of their pages they lie
  int byte_beyond = 0xff;          ///< what a forgiven read finds in each byte; poison is NaN
  bool numbered_poison = false;    ///< CONVLAB_EMU_POISON=plain|numbered|told (poison.hpp)
  bool zeros_in_memory = false;    ///< CONVLAB_EMU_POISON=zeros
  bool tell_poison = false;        ///< told: a copy to the host says where its poison comes from
  /// CONVLAB_EMU_REGISTERS: a command that prints lines "kernel number", what a thread of a kernel
  /// takes on a GPU
  std::string registers{};
  Work work = Work::kAll;  ///< CONVLAB_EMU_WORK
  /// CONVLAB_EMU_WORK=without-kernels:tiled;2.0;, without-inputs:2.0;, without-outputs:2.0;:
  /// kernels by their names, and what streams do by theirs (device_notes.hpp).
  std::vector<std::string> left_out{};
  [[nodiscard]] bool leaves_out(std::string_view name) const {
    return std::find(left_out.begin(), left_out.end(), name) != left_out.end();
  }
};

/// Reads the environment. @throws convlab::UsageError naming the variable that cannot be read
Settings read_settings();

/// Begins to observe as CONVLAB_EMU_TRACE says, before the first kernel; a second call does
/// nothing. Null in programs that were not compiled for it.
inline void (*begin_observing)(const std::string& how) = nullptr;

/// The settings of this process, read when first asked for; then only choose_settings and
/// limit_kernels change them.
const Settings& settings();

}  // namespace convlab::emulation
