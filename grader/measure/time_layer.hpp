#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "grader/checks/network_check.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// The reference solution, called in turns with a submission: its times, or the reason for none.
class ReferenceTimes {
 public:
  ReferenceTimes(const std::filesystem::path& program, std::string stage)
      : submission_(program), stage_(std::move(stage)) {}

  /// @param layer  among the network's convolutions
  /// @param given  the arrays of the submission's call
  void call(int layer, const ConvShape& shape, const Arrays& given);

  /// In milliseconds, a series per convolution.
  [[nodiscard]] const std::vector<std::vector<double>>& op_ms() const { return op_ms_; }
  [[nodiscard]] const std::optional<std::string>& problem() const { return problem_; }

  /// The device as the reference's program measured it: a submission that lies about its device
  /// could reach any bound.
  [[nodiscard]] const MeasuredDevice& device() const { return submission_.device().measured; }

 private:
  std::optional<double> run(const std::function<void()>& exchange);

  Submission submission_;
  std::string stage_;
  std::vector<std::vector<double>> op_ms_;
  std::optional<std::string> problem_;
};

/// Times a convolution of the network with further calls. Each has new random images, which appear
/// when prolog has returned, and a poisoned output; a random part of the output is compared in
/// double precision. The first call is no sample. An emulated device has no times.
///
/// On the CPU the grader's clock counts. On a GPU the submission reports the time, from events, and
/// the grader's clock bounds it in each call: if the two contradict, the grader's time counts. It
/// is a finding if they contradict in most calls, or if a time contradicts the default stream or
/// physics.
/// @param result     gets the samples
/// @param reference  called after each sample with the same numbers; may be null
std::optional<Finding> time_layer(Submission& submission, const StageInfo& stage,
                                  const CheckedLayer& layer, LayerResult& result,
                                  ReferenceTimes* reference = nullptr);

}  // namespace convlab::grader
