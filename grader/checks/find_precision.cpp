#include "grader/checks/find_precision.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <random>

#include "reference/oracle/comparison.hpp"
#include "reference/oracle/image_oracle.hpp"
#include "reference/oracle/oracle.hpp"

namespace convlab::grader {

namespace {

// Numbers that show one rounding each. Every image has inputs of one kind, every map weights of
// one kind, so that one convolution shows all pairs.
enum class Inputs { kFull, kSmall, kShort, kOnes };         // 24 bits; the same · 2^-18; 8 bits; 1
enum class Weights { kOne, kFullOne, kShortOne, kPowers };  // one tap: 1, 24, 8 bits; powers of 2
constexpr int kKinds = 4;

// The largest error of each pair of kinds, in units of 2^-24 · Σ|a||b|.
using Errors = std::array<std::array<double, kKinds>, kKinds>;

class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : engine_(seed) {}

  // From one to two, so that all have the same exponent.
  float with_bits(int bits) {
    const auto word = static_cast<float>(engine_() >> (64 - (bits - 1)));
    return 1.0F + std::ldexp(word, 1 - bits);
  }
  float power() {
    constexpr std::uint64_t kPowers = 6;
    return std::ldexp(1.0F, -static_cast<int>(engine_() % kPowers));
  }
  float of(Inputs kind) {
    constexpr int kTooSmallForHalf = -18;  // a half has six bits left for it
    switch (kind) {
      case Inputs::kFull:
        return with_bits(kFull);
      case Inputs::kSmall:
        return std::ldexp(with_bits(kFull), kTooSmallForHalf);
      case Inputs::kShort:
        return with_bits(kShort);
      case Inputs::kOnes:
        break;
    }
    return 1.0F;
  }
  float of(Weights kind, bool first) {
    if (kind == Weights::kPowers) return power();
    if (!first) return 0.0F;
    return kind == Weights::kOne       ? 1.0F
           : kind == Weights::kFullOne ? with_bits(kFull)
                                       : with_bits(kShort);
  }

 private:
  static constexpr int kFull = 24;
  static constexpr int kShort = 8;  // fits every format
  std::mt19937_64 engine_;
};

// Raises the errors of the pairs that this convolution contains. @return false if there is no
// output
bool measure(Submission& submission, const StageInfo& stage, const ConvShape& shape,
             std::uint64_t seed, int first_input, int first_weight, Errors& errors) {
  const auto input_kind = [&](int image) { return (first_input + image) % kKinds; };
  const auto weight_kind = [&](int map) { return (first_weight + map) % kKinds; };
  Numbers numbers(seed);
  const Arrays arrays = submission.prepare(shape, Placement::kAligned);
  for (std::int64_t i = 0; i < shape.input_size(); ++i) {
    const auto image = static_cast<int>(i / shape.input_image_size());
    arrays.input[i] = numbers.of(static_cast<Inputs>(input_kind(image)));
  }
  for (std::int64_t i = 0; i < shape.weights_size(); ++i) {
    const auto map = static_cast<int>(i / shape.taps());
    arrays.weights[i] = numbers.of(static_cast<Weights>(weight_kind(map)), i % shape.taps() == 0);
  }
  if (submission.run(stage.id).failure) return false;
  std::mutex mutex;
  const std::int64_t map_size = shape.output_image_size() / shape.out_channels;
  oracle::for_each_image(
      shape, arrays.input, arrays.weights,
      [&](int image, std::span<const double> values, std::span<const double> magnitudes) {
        const float* output = arrays.output + image * shape.output_image_size();
        const std::lock_guard lock(mutex);
        for (std::size_t i = 0; i < values.size(); ++i) {
          const auto map = static_cast<int>(static_cast<std::int64_t>(i) / map_size);
          double& worst = errors[static_cast<std::size_t>(input_kind(image))]
                                [static_cast<std::size_t>(weight_kind(map))];
          const double error =
              std::fabs(output[i] - values[i]) / (magnitudes[i] * oracle::kUnitRoundoff);
          if (!(error <= worst)) worst = std::isnan(error) ? HUGE_VAL : error;
        }
      });
  return true;
}

// Of errors that come from one rounding each.
Precision class_of(const Errors& errors, int taps) {
  const auto of = [&](Inputs input, Weights weight) {
    return errors[static_cast<std::size_t>(input)][static_cast<std::size_t>(weight)];
  };
  constexpr double kSums = 32.0;
  constexpr double kHalf = oracle::kHalfRoundoff / oracle::kUnitRoundoff;
  const double inputs =
      std::max(of(Inputs::kFull, Weights::kOne), of(Inputs::kOnes, Weights::kFullOne));
  // Of many roundings to half one is nearly as large as it can be; other methods, such as
  // Winograd's, have errors of their own, but far smaller ones. A larger error is no rounding.
  const auto rounds = [&](double error, Precision precision) {
    return error > kHalf / 4.0 && error <= oracle::error_bound(precision, taps);
  };
  const double of_sums = of(Inputs::kShort, Weights::kPowers);
  if (rounds(of_sums, Precision::kFp16Sums)) return Precision::kFp16Sums;
  if (of_sums > kHalf) return Precision::kFp32;
  if (rounds(of(Inputs::kShort, Weights::kShortOne), Precision::kFp16Products)) {
    return Precision::kFp16Products;
  }
  if (inputs <= kSums) return Precision::kFp32;
  const bool small_too = of(Inputs::kSmall, Weights::kOne) <= 2.0 * kHalf + kSums;
  if (inputs <= kHalf + kSums) return small_too ? Precision::kTf32 : Precision::kFp16;
  if (inputs <= 2.0 * kHalf + kSums) {
    return small_too ? Precision::kTf32Truncated : Precision::kFp16Sums;
  }
  constexpr double kBfloat = 0x1p-8 / oracle::kUnitRoundoff;
  if (inputs <= kBfloat + kSums) return Precision::kBf16;
  return inputs <= 2.0 * kBfloat + kSums ? Precision::kBf16Truncated : Precision::kFp32;
}

}  // namespace

Precision precision_shown(Submission& submission, const StageInfo& stage,
                          const std::vector<ConvShape>& shapes, std::uint64_t seed) {
  // Also of a file whose host code converts the numbers.
  const Withheld before = submission.withheld();
  submission.set_withheld(Withheld::kNothing);
  Precision loosest = Precision::kFp32;
  bool failed = false;
  for (const ConvShape& shape : shapes) {
    Errors errors{};
    for (int input = 0; input < kKinds && !failed; input += shape.batch) {
      for (int weight = 0; weight < kKinds && !failed; weight += shape.out_channels) {
        failed = !measure(submission, stage, shape, seed, input, weight, errors);
      }
    }
    if (failed) break;
    const Precision shown = class_of(errors, shape.taps());
    if (oracle::error_bound(shown, shape.taps()) > oracle::error_bound(loosest, shape.taps())) {
      loosest = shown;
    }
  }
  submission.set_withheld(before);
  return failed ? Precision::kFp32 : loosest;
}

std::optional<Precision> next_looser(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return Precision::kTf32;
    case Precision::kTf32:
      return Precision::kTf32Truncated;
    case Precision::kFp16:
      return Precision::kFp16Products;
    case Precision::kTf32Truncated:
      return Precision::kBf16;
    case Precision::kBf16:
      return Precision::kBf16Truncated;
    case Precision::kBf16Truncated:
    case Precision::kFp16Products:
      return Precision::kFp16Sums;
    case Precision::kFp16Sums:
      break;
  }
  return std::nullopt;
}

}  // namespace convlab::grader
