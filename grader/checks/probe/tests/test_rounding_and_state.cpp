// What the probe says about programs that only round, or that fail now and then.
#include <functional>
#include <vector>

#include "common/base/tests/support/catch.hpp"
#include "grader/checks/probe/finders.hpp"

using namespace convlab;
using namespace convlab::grader::probe;

namespace {

/// Right sums that were changed.
struct Changed : Program {
  Changed() : Program(40) {}

  std::function<float(float)> stored = [](float value) { return value; };

 protected:
  Answer convolve(const ConvShape& s, const Numbers& in, const Numbers& filter) override {
    Answer answer;
    for (const double each : right_sums(s, in, filter)) {
      answer.output.push_back(stored(static_cast<float>(each)));
    }
    return answer;
  }
};

constexpr ConvShape kShape{1, 2, 2, 5, 6, 2, 1};

}  // namespace

TEST_CASE("probe: a wrong factor is no rounding, and noise has no type") {
  Changed scaled;
  scaled.stored = [](float value) { return 2.0F * value; };
  CHECK_FALSE(only_rounds(scaled, {kShape}));
  Changed noisy;
  noisy.stored = [](float value) { return value * (1.0F + 0x1p-15F); };
  CHECK(only_rounds(noisy, {kShape}));
  CHECK_FALSE(measure_rounding(noisy, kShape, false).is_named);
}

TEST_CASE("probe: a call that fails now and then keeps nothing") {
  struct Crashes : Changed {
    int call = 0;
    int turn = 2;

    Answer convolve(const ConvShape& s, const Numbers& in, const Numbers& filter) override {
      if (++call % turn == 0) return {.kind = Answer::Kind::kFault};
      return Changed::convolve(s, in, filter);
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
