#include <algorithm>
#include <cmath>

#include "grader/checks/probe/finders.hpp"

namespace convlab::grader::probe {

bool only_rounds(Program& program, const std::vector<ConvShape>& shapes) {
  bool any = false;
  for (const ConvShape& shape : shapes) {
    constexpr std::uint64_t kSeed = 3;
    const DenseRun run = run_whole(program, shape, 3, 1, kSeed);
    if (!run.has_numbers()) continue;
    any = true;
    for (std::size_t i = 0; i < run.right.size(); ++i) {
      constexpr double kSmall = 0.25;
      if (!(std::abs(static_cast<double>(run.answer.output[i]) - run.right[i]) < kSmall)) {
        return false;
      }
    }
  }
  return any;
}

namespace {

constexpr int kBitsOfFloat = 23;  // behind the first one

/// Convolutions in which all pixels are equal, and so are all filters, of three taps that are not
/// zero: every output is x·first + x·second + x·third.
class Sums {
 public:
  Sums(Program& program, const ConvShape& shape) : program_(program), shape_(shape) {}

  double operator()(double x, double first, double second = 0.0, double third = 0.0) {
    const Numbers input(shape_.input_size(), static_cast<float>(x));
    Numbers weights(shape_.weights_size());
    for (std::int64_t m = 0; m < shape_.out_channels; ++m) {
      weights[m * shape_.taps()] = static_cast<float>(first);
      weights[m * shape_.taps() + 1] = static_cast<float>(second);
      weights[m * shape_.taps() + 2] = static_cast<float>(third);
    }
    const Answer answer = program_.run(shape_, input, weights);
    return answer.kind == Answer::Kind::kNumbers ? static_cast<double>(answer.output.front()) : NAN;
  }

 private:
  Program& program_;
  ConvShape shape_;
};

// The largest k up to which something holds that holds for small k and not for large ones.
template <class Holds>
int last(int most, const Holds& holds) {
  int from = 0;
  int to = most + 1;
  while (to - from > 1) {
    const int middle = (from + to) / 2;
    (holds(middle) ? from : to) = middle;
  }
  return from;
}

// Up to which k it keeps 2^-k beside a larger number.
template <class Kept>
int bits(const Kept& kept) {
  return last(kBitsOfFloat, [&](int k) { return kept(std::ldexp(1.0, -k)); });
}

constexpr int kSmallest = 30;  // beyond a half, whose smallest number is 2^-24
constexpr int kBitsOfHalf = 10;
constexpr int kBitsOfBfloat = 7;

// Empty if no type has as many bits.
std::string type_of(int bits, bool overflows) {
  if (bits == 0) return "int";
  if (bits == kBitsOfHalf) return overflows ? "half" : "TF32 (or to half, of a wider range)";
  return bits == kBitsOfBfloat ? "bfloat16" : "";
}

}  // namespace

std::optional<Explanation> find_overflow(Program& program, const ConvShape& shape) {
  Sums sum(program, shape);
  constexpr int kLeast = -10;
  const auto power = [](int k) { return std::ldexp(1.0, kLeast + k); };
  const int right =
      last(60, [&](int k) { return std::abs(sum(power(k), 1) / power(k) - 1) < 0x1p-6; });
  if (right == 0 || !std::isinf(sum(power(right + 1), 1))) return std::nullopt;
  constexpr int kBeyondHalf = 16;
  const int scale = kBeyondHalf - (kLeast + right + 1);
  return told(scale == 0 ? "E-precision/overflow" : "E-precision/overflow-of-scaled",
              {number(kLeast + right), number(kLeast + right + 1), number(scale)});
}

namespace {

bool near(double value, double wanted, double by) {
  return std::abs(value - wanted) < by / 2;
}

// Whether each place keeps e beside 1. Powers of two are exact in every type, their sum is not.
bool input_keeps(Sums& sum, double e, double scale = 1) {
  return near(sum(scale * (1 + e), 1) / scale, 1 + e, e);
}
bool weights_keep(Sums& sum, double e) {
  return near(sum(1, 1 + e), 1 + e, e);
}
bool result_keeps(Sums& sum, double e) {
  return near(sum(1, 1, e), 1 + e, e);
}
// The same without its first bit in the result: what is lost now was lost before the store.
bool sums_keep(Sums& sum, double e) {
  return near(sum(1, 32, 32 * e, -32) / e, 32, 32);
}
bool products_are_rounded(Sums& sum) {
  constexpr double kSmall = 0x1p-6;  // its square does not fit into the bits of a half
  return !near(sum(1 + kSmall, 1 + kSmall, -1), (1 + kSmall) * kSmall, kSmall * kSmall);
}

// Most files do, and each question is a whole convolution.
bool keeps_single_precision(Sums& sum, double e) {
  return input_keeps(sum, e) && weights_keep(sum, e) && result_keeps(sum, e) && sums_keep(sum, e) &&
         !products_are_rounded(sum);
}

int bits_of_input(Sums& sum, double scale) {
  return bits([&](double e) { return input_keeps(sum, e, scale); });
}

/// What is left of a number: bits behind the first one.
struct Kept {
  int input;
  int weights;
  int result;
  int sums;
  int smallest = 0;  ///< 2^-smallest is not 0
  bool rounds_products = false;
  bool cuts_input = false;  ///< to the next smaller number, not to the nearest
  bool cuts_weights = false;
};

Kept what_is_kept(Sums& sum) {
  Kept kept{
      .input = bits_of_input(sum, 1),
      .weights = bits([&](double e) { return weights_keep(sum, e); }),
      .result = bits([&](double e) { return result_keeps(sum, e); }),
      .sums = bits([&](double e) { return sums_keep(sum, e); }),
      .smallest = last(kSmallest,
                       [&](int k) { return sum(std::ldexp(1.0, -k), 1) == std::ldexp(1.0, -k); }),
      .rounds_products = products_are_rounded(sum)};
  // Between two numbers of the type, nearer to the larger one.
  kept.cuts_input = sum(1 + std::ldexp(0.75, -kept.input), 1) == 1;
  kept.cuts_weights = sum(1, 1 + std::ldexp(0.75, -kept.weights)) == 1;
  return kept;
}

}  // namespace

std::optional<Precision> precision_of(Program& program, const ConvShape& shape) {
  Sums sum(program, shape);
  if (shape.taps() < 3 || sum(1, 1) != 1) return std::nullopt;
  constexpr int kEnough = 18;  // other methods, such as Winograd's, have errors of their own
  if (keeps_single_precision(sum, std::ldexp(1.0, -kEnough))) return Precision::kFp32;
  const Kept kept = what_is_kept(sum);
  if (program.is_over()) return std::nullopt;  // what it did not answer would look like lost bits
  if (kept.result == kBitsOfHalf || kept.sums == kBitsOfHalf) return Precision::kFp16Sums;
  const int factors = std::min(kept.input, kept.weights);
  if (kept.rounds_products && factors >= kBitsOfHalf) return Precision::kFp16Products;
  if (factors >= kEnough || factors < kBitsOfBfloat) return Precision::kFp32;
  const bool cuts = factors == kept.input ? kept.cuts_input : kept.cuts_weights;
  if (factors < kBitsOfHalf) return cuts ? Precision::kBf16Truncated : Precision::kBf16;
  const bool is_half = kept.smallest < kSmallest;
  return cuts ? (is_half ? Precision::kFp16Sums : Precision::kTf32Truncated)
              : (is_half ? Precision::kFp16 : Precision::kTf32);
}

namespace {

// A float keeps more bits of a sum, product or factor than these tests look at.
constexpr int kBitsTested = 20;

std::string bits_text(const std::string& what, int k) {
  const std::string kept = k == 0 ? "2" : "1 + 2^-" + number(k);
  return what + " keeps " + kept + ", but 1 + 2^-" + number(k + 1) +
         " becomes 1 (a float keeps 1 + 2^-" + number(kBitsOfFloat) + ")";
}

}  // namespace

Explanation measure_rounding(Program& program, const ConvShape& shape, bool may_be_half) {
  Sums sum(program, shape);
  const auto [input, weights, result, sums, smallest, rounds_products, cuts_input, cuts_weights] =
      what_is_kept(sum);
  constexpr double kTooLarge = 0x1p17;
  const bool input_overflows = !std::isfinite(sum(kTooLarge, 1 / kTooLarge));
  const bool weights_overflow = !std::isfinite(sum(1 / kTooLarge, kTooLarge));
  const bool sum_overflows = !std::isfinite(sum(0x1p10, 0x1p7));

  const auto range = [&, &least = smallest](bool overflows) {
    return (overflows ? std::string("; 2^17 becomes infinite") : "") +
           (least < kSmallest ? "; 2^-" + number(least + 1) + " is not kept" : "");
  };
  if (const auto type = type_of(sums, sum_overflows); sums < kBitsTested && !type.empty()) {
    return told("E-precision/sums", {number(sums + 1), range(sum_overflows), type});
  }
  if (result == 0) {
    return told(sum(0.5, 1, 1) == 1            ? "E-precision/int-weights"
                : near(sum(1, 0.5, 0.5), 1, 1) ? "E-precision/int-stored"
                                               : "E-precision/int-sum");
  }
  if (const auto type = type_of(result, sum_overflows); result < kBitsTested && !type.empty()) {
    return told("E-precision/stored",
                {bits_text("the output", result) + range(sum_overflows), type});
  }
  const bool both = input < kBitsTested && weights < kBitsTested;
  constexpr double kLarge = 0x1p8;
  const int large = input < kBitsOfHalf ? bits_of_input(sum, kLarge) : 0;
  if (!both && large > input) {
    return told(large >= input + 8 ? "E-precision/fixed-point" : "E-precision/scaled-half",
                {bits_text("the input", input), real(kLarge), range(input_overflows),
                 input == 0 ? "whole numbers" : "a multiple of 2^-" + number(input)});
  }
  const int least = std::min(input, weights);
  const bool is_promised = may_be_half && least >= kBitsOfHalf;
  if (least < kBitsTested && !is_promised) {
    const bool overflows = input <= weights ? input_overflows : weights_overflow;
    const auto [what, which] = input == weights ? std::pair{"each factor", "Input and weights were"}
                               : input < weights
                                   ? std::pair{"the input", "The input was"}
                                   : std::pair{"the array of the weights", "The weights were"};
    const std::string measured = bits_text(what, least) + range(overflows);
    if (const std::string type = type_of(least, overflows); !type.empty()) {
      return told("E-precision/factors",
                  {measured, which, type, rounds_products ? " Each product is rounded, too." : ""});
    }
    if (!both) return told("E-precision/factors-before", {measured, which});
  }
  const bool cuts_tf32 = input == kBitsOfHalf && cuts_input;
  if (may_be_half && (cuts_tf32 || (weights == kBitsOfHalf && cuts_weights))) {
    return told("E-precision/cut", {cuts_tf32 ? "The input is" : "The weights are"});
  }
  if (rounds_products) return told("E-precision/products");
  Explanation fact =
      told("E-precision/method",
           {result < kBitsTested ? bits_text("the output", result)
                                 : "no single number, product or sum of two numbers loses bits"});
  fact.is_named = false;
  return fact;
}

}  // namespace convlab::grader::probe
