#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/device_notes.hpp"
#include "grader/measure/counters.hpp"

namespace convlab::grader {

/// Which block of a stage is recorded.
struct WantedBlock {
  // None, or empty: that of a fault or a race, or the first block, of the last kernel.
  std::optional<std::array<unsigned, 3>> block{};
  std::string kernel{};
};

/// What one block of a stage did in one convolution on the emulated device.
struct StageSteps {
  StageInfo stage{};
  ConvShape shape{};
  StepNotes notes{};                 ///< without steps if the kernel was never launched
  std::optional<Finding> finding{};  ///< a race, a fault, or why there is nothing to see
  std::optional<FaultRecord> race{};
  std::optional<FaultRecord> fault{};
  /// Elements of the output that nobody has written, and those with another number than the
  /// convolution's, or none. Both empty if there was no output.
  std::vector<std::int64_t> unwritten{};
  std::vector<std::int64_t> wrong{};
};

/// Which threads and lines of a traced program store the output of a product and read its numbers.
/// @return lines for a finding; empty if its first launches do not store this output
Seen lines_of_product(Submission& traced, const StageInfo& stage, WrongProduct product);

/// Runs a stage that was built to be traced twice: to find races and faults, and to record. There a
/// read outside of an array gets a zero, so that the kernel goes on.
/// @throws UsageError if there is no such block or kernel
StageSteps record_stage(Submission& submission, const StageInfo& stage, const ConvShape& shape,
                        const WantedBlock& wanted);

}  // namespace convlab::grader
