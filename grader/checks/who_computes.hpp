#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "grader/checks/result/check_result.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// What follows from an output that was wrong while an emulated device withheld numbers.
struct WhoComputes {
  bool is_right = false;  ///< now, with other tokens or one array withheld; later calls stay so
  std::optional<Finding> finding{};  ///< the host computes
};

/// Who computes, the host or kernels? A convolution mixes the input with the weights, so code that
/// sees only tokens of one of them cannot compute it. An output that is right with both withheld is
/// the device's. Host code may also prepare the weights, or the input: then it is right with only
/// the other one withheld. Or a number of the program equals a token: then it is wrong with the
/// same tokens once more, and right with others.
/// @param is_right  compares the output of the same call, made again; the first output comes back
///                  unless that is right
WhoComputes who_computes(Submission& submission, const std::string& stage, const std::string& where,
                         std::span<float> output, const std::function<bool()>& is_right);

}  // namespace convlab::grader
