#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/device_notes.hpp"
#include "common/stage/stage.hpp"
#include "grader/checks/result/finding.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// The counts of one convolution of one image on the emulated device.
struct StageCounts {
  StageInfo stage{};
  ConvShape shape{};
  std::vector<DeviceLaunch> launches{};
  AccessNotes counted{};
  /// Of the output the part that tensor cores make; the others of their products are for nothing.
  double tensor_part = 1.0;
  std::map<std::string, int> registers{};  ///< of a thread, by kernel; none if unknown
};

/// A run of a stage with whole numbers, in a program that was built to be traced
/// (CustomSubmissionTarget::traced).
struct TracedRun {
  Arrays arrays{};  ///< valid until the next run
  Call call{};
  std::optional<Finding> finding{};  ///< a race, or why there is no output
};

/// @param mode      of CONVLAB_EMU_TRACE
/// @param settings  further variables of the emulated device
TracedRun run_traced(Submission& submission, const StageInfo& stage, const ConvShape& shape,
                     const std::string& mode, const std::vector<std::string>& settings = {});

/// Counts one run of a stage of a program that was built to be traced, whose output must be right:
/// then the kernels that were counted have computed it, whatever the stage does in other runs.
/// Without the search for races.
std::optional<Finding> count_accesses(Submission& submission, const StageInfo& stage,
                                      const ConvShape& layer, StageCounts& counts);

/// Runs the stage of a program that was built to be traced (CustomSubmissionTarget::traced),
/// counting.
/// @param layer  of the network; its batch does not matter
/// @return a finding if its threads race, or if it gives no output; without counts in that case
std::optional<Finding> count_stage(Submission& submission, const StageInfo& stage,
                                   const ConvShape& layer, StageCounts& counts);

/// One kernel of a stage, as it was launched, with the requests of its warps.
struct KernelCounts {
  DeviceLaunch launch{};
  int launches = 0;
  std::int64_t blocks = 0;           ///< of its first launch
  std::int64_t launched_blocks = 0;  ///< of all launches, whose requests and barriers are counted
  std::int64_t threads = 0;
  int registers = 0;  ///< of a thread; 0: unknown
  std::vector<AccessNote> accesses{};
  std::vector<BarrierNote> barriers{};
  std::int64_t storing = 0;         ///< threads that store an element of the output
  std::int64_t outputs_of_one = 0;  ///< elements of the output that one of them stores
  std::vector<ProductNote> products{};
};

/// The kernels in the order of their launches; each of them once.
std::vector<KernelCounts> kernels_of(const StageCounts& counts, const SourceText& sources);

/// The student's name of the array: the kernel's parameter or the variable; "memory" if unknown.
std::string array_name(const AccessNote& note, const SourceText& sources);

/// The name of the array in shared memory; "shared memory" if unknown.
std::string array_name(const BarrierNote& note, const SourceText& sources);

/// "input", "weights" or "output": the convolution's array with this size; empty if there is none.
std::string array_role(const AccessNote& note, const ConvShape& shape, const SourceText& sources);

/// Loads of the input from global memory, per element of the input.
double loads_per_input(const StageCounts& counts, const SourceText& sources);

/// Loads of threads from these kinds of memory, per multiply-add of the convolution.
double loads_per_product(const StageCounts& counts,
                         const std::set<std::string>& spaces = {"global", "shared", "constant"});

/// Sectors that the lanes of an average request need at least, if they lie side by side.
double needed_sectors(const AccessNote& note);

/// Parts of an average request.
double average_parts(const AccessNote& note);

}  // namespace convlab::grader
