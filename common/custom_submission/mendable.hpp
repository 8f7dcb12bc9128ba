#pragma once

// The beginning of a file whose single edits the grader tries (grader/checks/mend). Each of its
// parts looks up in `chosen` which of its alternatives to take. Its stages do not convolve: their
// input is a list of convolutions with right outputs, and of edits. They write how many of these
// outputs each edit makes right.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "common/stage/cpu_stage.hpp"
#include "common/stage/stage.hpp"

namespace convlab::mend {

inline constexpr int kMostSites = 1 << 14;

/// The alternative of each part; 0: as it is in the file.
inline int chosen[kMostSites] = {};  // NOLINT: the file's code reads it

inline long long steps_left = 0;  // NOLINT

struct OutOfSteps {};

/// Called in each loop: an edit may make it endless.
inline void step() {
  if (--steps_left < 0) throw OutOfSteps();
}

template <class Value>
using Of = std::decay_t<Value>;

/// Reads a list of floats. @throws OutOfSteps at its end
class Reader {
 public:
  Reader(const float* begin, std::int64_t count) : at_(begin), end_(begin + count) {}
  int number() { return static_cast<int>(*numbers(1)); }
  const float* numbers(std::int64_t count) {
    if (count < 0 || count > end_ - at_) throw OutOfSteps();
    at_ += count;
    return at_ - count;
  }

 private:
  const float* at_;
  const float* end_;
};

/// A convolution with its right output.
struct Example {
  ConvShape shape;
  const float* input = nullptr;
  const float* weights = nullptr;
  const float* output = nullptr;
};

/// Arrays far from each other, so that a wrong index rarely ends the program.
class Arena {
 public:
  Arena() : numbers_(4 * kApart) { clear(); }

  bool is_right(Convolution& convolution, const Example& example) {
    const ConvShape& shape = example.shape;
    float* const input = numbers_.data() + kApart;
    float* const weights = input + kApart;
    float* const output = weights + kApart;
    std::copy_n(example.input, shape.input_size(), input);
    std::copy_n(example.weights, shape.weights_size(), weights);
    std::fill_n(output, shape.output_size(), kUnwritten);
    steps_left = 2000 + 40 * (shape.multiply_adds() + shape.output_size() + shape.input_size());
    try {
      convolution.prolog(shape, input, weights, output);
      convolution.convolve();
      convolution.epilog();
    } catch (...) {
      clear();
      return false;
    }
    const std::int64_t margin = 64;
    const bool stays_inside =
        std::all_of(output - margin, output, [](float each) { return each == kBetween; }) &&
        std::all_of(output + shape.output_size(), output + shape.output_size() + margin,
                    [](float each) { return each == kBetween; });
    const bool is_right =
        stays_inside && std::equal(output, output + shape.output_size(), example.output);
    stays_inside ? (void)std::fill_n(output, shape.output_size(), kBetween) : clear();
    return is_right;
  }

 private:
  void clear() { std::fill(numbers_.begin(), numbers_.end(), kBetween); }

  static constexpr std::int64_t kApart = std::int64_t{1} << 17;
  static constexpr float kUnwritten = 1234567.0f;
  static constexpr float kBetween = 7654321.0f;
  std::vector<float> numbers_;
};

/// A convolution that tries edits; or, where CONVLAB_MEND lists choices, one edit of a convolution.
class Trial : public Convolution {
 public:
  explicit Trial(std::unique_ptr<Convolution> own) : own_(std::move(own)) {
    const char* text = std::getenv("CONVLAB_MEND");
    is_single_ = text != nullptr;
    while (text != nullptr && *text != '\0') {
      char* end = nullptr;
      const long site = std::strtol(text, &end, 10);
      const long alternative = *end == ':' ? std::strtol(end + 1, &end, 10) : 0;
      if (site >= 0 && site < kMostSites) chosen[site] = static_cast<int>(alternative);
      text = *end == ',' ? end + 1 : nullptr;
    }
  }

  void prolog(const ConvShape& shape, const float* input, const float* weights,
              float* output) override {
    steps_left = 1LL << 60;
    if (is_single_) return own_->prolog(shape, input, weights, output);
    try {
      try_all(Reader(input, shape.input_size()), output);
    } catch (const OutOfSteps&) {  // the list ends too early
    }
  }
  void convolve() override {
    if (is_single_) own_->convolve();
  }
  void epilog() override {
    if (is_single_) own_->epilog();
  }

 private:
  void try_all(Reader list, float* output) {
    std::vector<Example> examples(static_cast<std::size_t>(list.number()));
    for (Example& each : examples) {
      ConvShape& shape = each.shape;
      for (int* size : {&shape.batch, &shape.out_channels, &shape.in_channels, &shape.height,
                        &shape.width, &shape.kernel, &shape.stride}) {
        *size = list.number();
      }
      each.input = list.numbers(shape.input_size());
      each.weights = list.numbers(shape.weights_size());
      each.output = list.numbers(shape.output_size());
    }
    static Arena arena;
    for (int edits = list.number(); edits > 0; --edits) {
      std::vector<std::pair<int, int>> choices(static_cast<std::size_t>(list.number()));
      for (auto& [site, alternative] : choices) site = list.number(), alternative = list.number();
      for (const auto& [site, alternative] : choices) chosen[site] = alternative;
      int right = 0;
      for (const Example& each : examples) right += arena.is_right(*own_, each) ? 1 : 0;
      for (const auto& choice : choices) chosen[choice.first] = 0;
      *output++ = static_cast<float>(right);
    }
  }

  std::unique_ptr<Convolution> own_;
  bool is_single_ = false;
};

class CpuFunction : public Convolution {
 public:
  explicit CpuFunction(ConvForward function) : function_(function) {}
  void prolog(const ConvShape& shape, const float* input, const float* weights,
              float* output) override {
    function_(shape, input, weights, output);
  }
  void convolve() override {}
  void epilog() override {}

 private:
  ConvForward function_;
};

/// Registers a stage whose convolution is a trial.
inline void register_trial(Stage stage, std::function<std::unique_ptr<Convolution>()> make) {
  stage.make = [make = std::move(make)] { return std::make_unique<Trial>(make()); };
  StageRegistration{std::move(stage)};
}

struct CpuStage {
  CpuStage(Stage stage, ConvForward function) {
    register_trial(std::move(stage),
                   [function] { return std::make_unique<CpuFunction>(function); });
  }
};

template <class Implementation>
struct ConvolutionStage {
  explicit ConvolutionStage(Stage stage) {
    register_trial(std::move(stage), [] { return std::make_unique<Implementation>(); });
  }
};

}  // namespace convlab::mend

// The file names them with the namespace.
namespace convlab {
using CpuStageMend = mend::CpuStage;
template <class Implementation>
using ConvolutionStageMend = mend::ConvolutionStage<Implementation>;
}  // namespace convlab
#define CpuStage CpuStageMend
#define ConvolutionStage ConvolutionStageMend
