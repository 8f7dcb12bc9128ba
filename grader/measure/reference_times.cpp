#include "grader/measure/reference_times.hpp"

#include <cstring>

namespace convlab::grader {

void ReferenceTimes::call(int layer, const ConvShape& shape, const Arrays& given) {
  if (problem_) return;
  const auto index = static_cast<std::size_t>(layer);
  if (index >= op_ms_.size()) op_ms_.resize(index + 1);
  const bool is_new = op_ms_[index].empty();
  const Arrays arrays = submission_.prepare(shape, Placement::kAligned);
  const auto copy = [](float* to, const float* from, std::int64_t count) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
  };
  copy(arrays.weights, given.weights, shape.weights_size());
  // The submission's first call of a layer is not a sample, and neither is the reference's.
  const auto exchange = [&] { copy(arrays.input, given.input, shape.input_size()); };
  if (is_new) run(exchange);
  if (const auto op_ms = run(exchange)) op_ms_[index].push_back(*op_ms);
}

// Measured in the same way as the submission.
std::optional<double> ReferenceTimes::run(const std::function<void()>& exchange) {
  const Call call = submission_.run_timed(stage_, exchange);
  const Device device = submission_.device().device;
  // An emulated reference has no time to compare with that of a submission on a GPU.
  if (!call.failure && device != Device::kEmulated) {
    return device == Device::kCpu ? call.own_ms : call.op_ms;
  }
  problem_ = "the reference does not run here";
  return std::nullopt;
}

}  // namespace convlab::grader
