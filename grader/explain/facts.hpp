#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/error/access_notes.hpp"
#include "common/stage/stage.hpp"
#include "grader/result/finding.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// The counts of one convolution of one image on the emulated device.
struct StageFacts {
  StageInfo stage{};
  ConvShape shape{};
  std::vector<DeviceLaunch> launches{};        ///< for one image
  std::vector<DeviceLaunch> launches_of_10{};  ///< the same convolution with ten images
  AccessNotes counted{};
};

/// Runs the stage of a program that was built for lockstep (GivenFileTarget::lockstep), counting.
/// @param layer  of the network; its batch does not matter
/// @return a finding if it gives no output
std::optional<Finding> count_facts(Submission& submission, const StageInfo& stage,
                                   const ConvShape& layer, StageFacts& facts);

/// One kernel of a stage, as it was launched, with the requests of its warps.
struct KernelFacts {
  DeviceLaunch launch{};
  std::int64_t blocks = 0;
  std::int64_t threads = 0;
  std::vector<AccessNote> accesses{};
  std::vector<BarrierNote> barriers{};
  std::int64_t storing = 0;         ///< threads that store an element of the output
  std::int64_t outputs_of_one = 0;  ///< elements of the output that one of them stores
};

/// The kernels in the order of their launches; each of them once.
std::vector<KernelFacts> kernels_of(const StageFacts& facts, const SourceText& sources);

/// The student's name of the array: the kernel's parameter or the variable; "memory" if unknown.
std::string array_name(const AccessNote& note, const SourceText& sources);

/// "input", "weights" or "output": the convolution's array with this size; empty if there is none.
std::string array_role(const AccessNote& note, const ConvShape& shape, const SourceText& sources);

/// Loads of the input from global memory, per element of the input.
double loads_per_input(const StageFacts& facts, const SourceText& sources);

/// Loads from shared memory, per multiply-add of the convolution.
double shared_loads_per_product(const StageFacts& facts);

/// Sectors that the lanes of an average request need at least, if they lie side by side.
double needed_sectors(const AccessNote& note);

/// Parts of an average request.
double average_parts(const AccessNote& note);

/// The size of a launch at another batch, if each dimension is a multiple of the batch or does not
/// depend on it.
std::optional<std::array<std::int64_t, 3>> grid_at(const StageFacts& facts,
                                                   const KernelFacts& kernel, int batch);

}  // namespace convlab::grader
