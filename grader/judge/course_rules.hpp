#pragma once

#include <optional>
#include <string>
#include <vector>

#include "grader/judge/grade.hpp"
#include "grader/measure/counters.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// The rules that a right file must keep, by name: of its task, and of the ranked run if that is
/// asked for.
std::vector<std::string> rules_to_keep(const GradeRequest& request);

/// What was seen of a right file; what nobody could see breaks no rule.
struct RuleFacts {
  /// A convolution of the network.
  struct Layer {
    ConvShape shape{};
    bool has_tiles = true;  ///< in shared memory, or it multiplies on tensor cores
    Unrolling unrolling{.part = 1.0};
  };
  Precision precision = Precision::kFp32;
  PhaseKernels phases{};
  std::size_t streams = 1;
  bool calls_matmul = true;  ///< its output comes from the kernel of matmul.h
  std::vector<Layer> layers{};
};

/// Pure. @return E-course-rule, which names each of the rules that is broken
std::optional<Finding> broken_by(const RuleFacts& facts, const std::vector<std::string>& rules);

/// Looks whether a right file keeps them, on an emulated device: what a GPU does not tell, it does.
/// @param stage  with the precision class that was found
/// @param batch  small; each layer of the network is looked at
/// @return E-course-rule, which names each rule that is broken
std::optional<Finding> broken_rules(const GradeRequest& request, Submission& submission,
                                    const StageInfo& stage, int batch);

/// A number that its type cannot hold at a batch, of a file that unrolls its whole input: there may
/// be more elements than an int counts, and more bytes than an emulated device has. So only samples
/// of each grid run, in memory of that size of which few pages are touched.
/// @return E-overflow, proved if an access outside of an array, or a failed call, follows from it
std::optional<Finding> overflow_at(int batch, const GradeRequest& request, Submission& submission,
                                   const StageInfo& stage);

/// Why a checked file has no time in the ranked run; empty if it gets one.
std::string why_not_ranked(const Result& result, Device device);

}  // namespace convlab::grader
