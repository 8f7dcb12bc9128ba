#pragma once

#include <functional>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "common/device/device_session.hpp"
#include "common/stage/stage.hpp"
#include "common/timing/statistics.hpp"

namespace convlab {

/// The ranked run of the course: the host's clock, on the same buffers.
struct RankedRun {
  int warm_ups = 5;
  int calls = 10;
  double most_ms = 40.0;  ///< the first call may not take longer
};

/// How to time a stage.
struct RunPlan {
  DeviceSession* device = nullptr;  ///< none for stages on the CPU
  int warm_ups = 0;                 ///< calls of convolve before the samples
  int samples = 1;                  ///< calls of convolve between one prolog and one epilog
  int emulated_calls = 1;           ///< the same on an emulated device
  double most_ms = 0.0;  ///< of a RankedRun; 0: it is none, and each call counts by both clocks
  /// Called behind prolog, before the first call of convolve and behind epilog: what lies between
  /// the first two, emptying the device's cache, and after the last is no work of the stage.
  std::function<void()> tell{};
};

/// What a stage did in its phases. Counts of kernels are -1 if they are unknown.
struct PhaseKernels {
  int prolog = -1;
  int convolve = -1;
  int epilog = -1;
  bool unjoined = false;   ///< convolve left work that the default stream does not wait for
  int copies = 0;          ///< places in device memory that held the input and were changed with it
  bool copied_in = false;  ///< convolve itself copied the input to one of them
  std::int64_t read_back = 0;  ///< bytes that convolve copied from the device to the host
  bool finished = false;       ///< after prolog, device memory already held what became the output
  /// If convolve reads the input only in another form on the emulated device: the part of the
  /// outputs that it makes of several numbers each, which lie there after prolog; -1 otherwise. A
  /// number that is only moved keeps its size if signs of numbers are turned at random.
  double computed = -1.0;
  [[nodiscard]] bool computes_all() const { return computed > 0.99; }
};

/// Durations of one run of a convolution, in milliseconds; nothing on an emulated device.
struct PhaseTimes {
  std::vector<OpSample> samples{};
  double op_ms = 0.0;     ///< convolve alone: median score of the samples
  double layer_ms = 0.0;  ///< prolog, one convolve (op_ms) and epilog
};

/// Runs the phases of a new convolution of this stage, and times them. The arrays are laid out as
/// ConvShape says. Exceptions of the stage pass through.
/// @throws EnvironmentError if the device lacks what the stage needs
/// @throws DeviceError if something failed on the device, even if the stage did not look
/// @throws Error (exit code 1) if a ranked run ends
PhaseTimes run_stage(const Stage& stage, const ConvShape& shape, const float* input,
                     const float* weights, float* output, const RunPlan& plan = {});

/// The grader's next request to a convolution after its prolog.
enum class Step {
  kEmptyCall,  ///< an operation that does nothing, called and timed as convolve is
  kNewInput,  ///< the input array holds other numbers now: they also go to its copies on the device
  kConvolve,  ///< and epilog
};

/// Runs the phases once; convolve is timed. On the CPU the time is that of convolve and epilog:
/// there is nothing to copy out, so work in epilog belongs to the convolution.
/// @param next  asked after prolog and after each step; on a device also after convolve, where the
///              answer does not matter. Told how many copies of the input the device's memory
///              holds: 0 if they do not hold all of it, -1 if nobody knows.
PhaseTimes run_in_steps(const Stage& stage, const ConvShape& shape, const float* input,
                        const float* weights, float* output, DeviceSession* device,
                        const std::function<Step(int copies)>& next);

/// Runs the phases once, with a pause after prolog and one after convolve, in which `pause` may put
/// other numbers into the input array. If the device knows its memory, copies of the input there
/// change with it. Then, unless the device withholds numbers, there is a further pause before
/// convolve, after which host and device hold different inputs. So the output shows in which phase
/// it was computed, and by whom.
PhaseKernels run_phases(const Stage& stage, const ConvShape& shape, const float* input,
                        const float* weights, float* output, DeviceSession* device,
                        const std::function<void()>& pause);

}  // namespace convlab
