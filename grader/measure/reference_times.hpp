#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

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
  /// could reach any floor.
  [[nodiscard]] const MeasuredDevice& device() const { return submission_.device().measured; }

 private:
  std::optional<double> run(const std::function<void()>& exchange);

  Submission submission_;
  std::string stage_;
  std::vector<std::vector<double>> op_ms_;
  std::optional<std::string> problem_;
};

}  // namespace convlab::grader
