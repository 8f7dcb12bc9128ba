// What the probe says about programs that only round, that keep numbers, or that mix up images.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "common/base/tests/support/catch.hpp"
#include "grader/checks/probe/finders.hpp"
#include "reference/oracle/comparison.hpp"

using namespace convlab;
using namespace convlab::grader::probe;

namespace {

float with_bits(float value, int bits) {
  int exponent = 0;
  const float fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits);
}

/// Right sums of numbers that were changed.
struct Rounds : Program {
  Rounds() : Program(40) {}

  using Change = std::function<float(float)>;
  Change input = [](float value) { return value; };
  Change weight = input;
  Change sum = input;
  Change stored = input;

 protected:
  Answer convolve(const ConvShape& s, const Numbers& in, const Numbers& filter) override {
    Answer answer;
    for (std::int64_t o = 0; o < s.output_size(); ++o) {
      Label at = output_label(s, o);
      float value = 0.0F;
      for (at.c = 0; at.c < s.in_channels; ++at.c) {
        for (at.p = 0; at.p < s.kernel; ++at.p) {
          for (at.q = 0; at.q < s.kernel; ++at.q) {
            value =
                sum(value + input(in[input_index(s, at)]) * weight(filter[weight_index(s, at)]));
          }
        }
      }
      answer.output.push_back(stored(value));
    }
    return answer;
  }
};

constexpr ConvShape kShape{1, 2, 2, 5, 6, 2, 1};

std::string cause_of(Rounds& program) {
  REQUIRE(only_rounds(program, {kShape}));
  return measure_rounding(program, kShape, false).cause;
}

float half(float value) {
  return std::abs(value) >= 65520.0F ? std::copysign(INFINITY, value) : with_bits(value, 11);
}

}  // namespace

TEST_CASE("probe: which number is rounded, and to which type") {
  const auto bfloat = [](float value) { return with_bits(value, 8); };
  const auto whole = [](float value) { return std::trunc(value); };
  const auto fixed = [](float value) { return std::trunc(value * 128.0F) / 128.0F; };
  const std::vector<std::tuple<Rounds::Change Rounds::*, Rounds::Change, std::string>> all = {
      {&Rounds::input, half, "The input was rounded to half."},
      {&Rounds::weight, bfloat, "The weights were rounded to bfloat16."},
      {&Rounds::sum, half, "The sums are kept in half, not in float."},
      {&Rounds::stored, half, "The stored value was rounded to half"},
      {&Rounds::sum, whole, "The sum is an int"},
      {&Rounds::input, fixed, "The input was rounded to a multiple of 2^-7."}};
  for (const auto& [place, change, cause] : all) {
    Rounds program;
    program.*place = change;
    CHECK(cause_of(program).starts_with(cause));
  }
}

TEST_CASE("probe: numbers that are cut to TF32 where a stage may round to it") {
  Rounds cut;
  cut.weight = [](float value) {
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xffff'e000U);
  };
  CHECK(measure_rounding(cut, kShape, true).cause.starts_with("The weights are cut off"));
  Rounds rounded;
  rounded.weight = [](float value) { return with_bits(value, 11); };
  CHECK_FALSE(measure_rounding(rounded, kShape, true).is_named);
}

TEST_CASE("probe: a wrong factor is no rounding, and noise has no type") {
  Rounds scaled;
  scaled.stored = [](float value) { return 2.0F * value; };
  CHECK_FALSE(only_rounds(scaled, {kShape}));
  Rounds noisy;
  noisy.stored = [](float value) { return value * (1.0F + 0x1p-15F); };
  CHECK(only_rounds(noisy, {kShape}));
  CHECK_FALSE(measure_rounding(noisy, kShape, false).is_named);
}

TEST_CASE("probe: what a call takes over from an earlier call") {
  struct Keeps : Rounds {
    bool adds = false;
    std::vector<float> sums{};

    Answer convolve(const ConvShape& s, const Numbers& in, const Numbers& filter) override {
      if (first_.size() == 0) first_ = filter;
      Answer answer;
      for (const double each : right_sums(s, in, adds ? filter : first_)) {
        answer.output.push_back(static_cast<float>(each));
      }
      if (!adds) return answer;
      sums.resize(answer.output.size());
      for (std::size_t i = 0; i < sums.size(); ++i) answer.output[i] = sums[i] += answer.output[i];
      return answer;
    }
    void restart() override { first_ = Numbers(0), sums.clear(); }

   private:
    Numbers first_{0};
  };
  Keeps weights;
  auto fact = find_kept(weights, kShape);
  REQUIRE(fact);
  CHECK(fact->cause.starts_with("A copy of the weights is made in the first call"));
  Keeps sums;
  sums.adds = true;
  fact = find_kept(sums, kShape);
  REQUIRE(fact);
  CHECK(fact->cause.starts_with("Sums are kept from one call to the next"));
  Rounds right;
  CHECK_FALSE(find_kept(right, kShape));
}

TEST_CASE("probe: a call that fails now and then keeps nothing") {
  struct Crashes : Rounds {
    int call = 0;
    int turn = 2;

    Answer convolve(const ConvShape& s, const Numbers& in, const Numbers& filter) override {
      if (++call % turn == 0) return {.kind = Answer::Kind::kFault};
      return Rounds::convolve(s, in, filter);
    }
  };
  // Each second call in a new process would be right or wrong by its place in this row; with 13
  // only the one after a smaller shape.
  for (const int turn : {3, 4, 5, 13}) {
    CAPTURE(turn);
    Crashes crashes;
    crashes.turn = turn;
    CHECK_FALSE(find_kept(crashes, kShape));
  }
}
