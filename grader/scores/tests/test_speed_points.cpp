#include <limits>

#include "common/base/tests/support/catch.hpp"
#include "grader/scores/points.hpp"

using namespace convlab;
using namespace convlab::grader;

namespace {

const ScoreRule kStep{.stage = "a",
                      .what = ScoreRule::What::kSpeed,
                      .points = 20,
                      .batch = 100,
                      .reference = "r",
                      .curve = {{0.5, 0.0}, {0.9, 0.5}, {0.9, 1.0}},
                      .near_bound = 0.5};

// `count` pairs of samples: both convolutions take the reference 10 ms, the submission 10 / speed,
// and once less by the noise.
SpeedMeasure measured(double speed, double noise, std::size_t count) {
  SpeedMeasure measure{.speed = speed, .low = speed * (1.0 - noise), .high = speed * (1.0 + noise)};
  measure.yours_ms.assign(2, std::vector<double>(count, 10.0 / speed));
  for (auto& samples : measure.yours_ms) samples.back() /= 1.0 + noise;
  measure.reference_ms.assign(2, std::vector<double>(count, 10.0));
  return measure;
}

}  // namespace

TEST_CASE("speed: noise decides only near the threshold, and costs nothing there") {
  for (const auto& [speed, points] : {std::pair{1.3, 20.0}, std::pair{0.3, 0.0}}) {
    const SpeedPoints far = points_for(measured(speed, 0.1, 10), kStep, 1.0);
    CHECK(far.decided);
    CHECK(far.points == points);
  }
  const SpeedPoints near = points_for(measured(0.9, 0.1, 6), kStep, 1.0);
  CHECK_FALSE(near.decided);
  CHECK(near.least < 11);
  CHECK(near.points == 20);
  // The same noise, with a tolerance that covers the step.
  CHECK(points_for(measured(0.9, 0.1, 6), kStep, 20.0).decided);
}

TEST_CASE("speed: who is slow in some calls earns no more than by the fastest ones") {
  SpeedMeasure measure = measured(0.8, 0.0, 3);
  measure.low = 0.6;
  measure.high = 1.2;
  CHECK(points_for(measure, kStep, 1.0).points < 11);
  measure.yours_ms[0].back() *= 0.7;
  CHECK(points_for(measure, kStep, 1.0).points == 20);
}

TEST_CASE("speed: bounds that are far apart are no measurement, and never decide") {
  SpeedMeasure measure = measured(10.0, 0.1, 10);
  measure.low = 1.0;
  measure.high = 108.0;
  const SpeedPoints full = points_for(measure, kStep, 1.0);
  CHECK_FALSE(full.decided);
  CHECK(full.no_measure);
  CHECK(full.points == full.least);
  measure.low = 0.01;
  CHECK(points_for(measure, kStep, 1.0).points == points_for(measure, kStep, 1.0).least);
  measure.low = std::numeric_limits<double>::quiet_NaN();
  CHECK(points_for(measure, kStep, 1.0).no_measure);
}

TEST_CASE("speed: one sample decides nothing, unless every speed gives the same") {
  CHECK_FALSE(points_for(measured(2.0, 0.0, 1), kStep, 1.0).decided);
  ScoreRule level = kStep;
  level.curve = {{1.0, 1.0}};
  CHECK(points_for(measured(2.0, 0.0, 1), level, 1.0).decided);
}

TEST_CASE("speed: close to the physical bound everything is earned") {
  SpeedMeasure measure = measured(0.3, 0.0, 5);  // 66.7 ms for both convolutions
  measure.bound_ms = 30.0;
  CHECK(points_for(measure, kStep, 1.0).points == 0);
  measure.bound_ms = 40.0;
  CHECK(points_for(measure, kStep, 1.0).points == 20);
  ScoreRule without = kStep;
  without.near_bound = 0.0;
  CHECK(points_for(measure, without, 1.0).points == 0);
}
