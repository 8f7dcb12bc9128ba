#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/conv_shape.hpp"

namespace convlab::grader::probe {

/// An array of the probe, with numbers on both sides of it too: a program that leaves its array
/// then shows which element it reads.
class Numbers {
 public:
  static constexpr std::int64_t kMargin = 1024;

  explicit Numbers(std::int64_t size, float value = 0.0F)
      : size_(size), all_(static_cast<std::size_t>(size + 2 * kMargin), value) {}

  /// @param index  from -kMargin to size() + kMargin - 1
  float& operator[](std::int64_t index) { return all_[static_cast<std::size_t>(index + kMargin)]; }
  float operator[](std::int64_t index) const {
    return all_[static_cast<std::size_t>(index + kMargin)];
  }
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] const std::vector<float>& with_margins() const { return all_; }
  [[nodiscard]] const float* begin() const { return all_.data() + kMargin; }

 private:
  std::int64_t size_;
  std::vector<float> all_;
};

/// One run: numbers, or why there are none.
struct Answer {
  enum class Kind { kNumbers, kFault, kTimeout };
  Kind kind = Kind::kNumbers;
  std::vector<float> output{};  ///< poison where nothing was written
};

/// What is probed: something that claims to convolve. It counts its runs; without any left it
/// answers kFault.
class Program {
 public:
  explicit Program(int most_faults) : most_faults_(most_faults) {}
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  virtual ~Program() = default;

  Answer run(const ConvShape& shape, const Numbers& input, const Numbers& weights) {
    if (is_over()) return {.kind = Answer::Kind::kFault};
    ++runs_;
    Answer answer = convolve(shape, input, weights);
    // On a busy machine a call may wait for seconds; the same call does so only once.
    if (answer.kind == Answer::Kind::kTimeout) answer = convolve(shape, input, weights);
    faults_ += answer.kind == Answer::Kind::kNumbers ? 0 : 1;
    if (answer.kind == Answer::Kind::kTimeout) hangs_ = true;
    return answer;
  }

  [[nodiscard]] int runs() const { return runs_; }
  /// Each fault costs a new process, each timeout seconds.
  [[nodiscard]] bool is_over() const {
    return hangs_ || runs_ >= kMostRuns || faults_ >= most_faults_ || computed_s_ > kMostComputing;
  }

 protected:
  /// Processor time of the program, which load does not change: few programs need so much.
  void add_computing(double seconds) { computed_s_ += seconds; }

 private:
  static constexpr int kMostRuns = 1500;
  static constexpr double kMostComputing = 20.0;

  virtual Answer convolve(const ConvShape& shape, const Numbers& input, const Numbers& weights) = 0;

  int most_faults_;
  int runs_ = 0;
  int faults_ = 0;
  double computed_s_ = 0.0;
  bool hangs_ = false;
};

}  // namespace convlab::grader::probe
