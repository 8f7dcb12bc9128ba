#include <cmath>
#include <cstdlib>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
#include "common/data/random.hpp"
#include "grader/measure/measure_speed.hpp"
#include "grader/measure/network_times.hpp"
#include "grader/measure/quiet_gpu.hpp"

using namespace convlab;
using namespace convlab::grader;

TEST_CASE("speed: waits for a busy or a hot GPU, and says so, and not for a quiet one") {
  const convlab::testing::TemporaryFolder folder;
  const auto tool = folder.path() / "nvidia-smi";
  const auto state = (folder.path() / "state").string();
  // Each look takes the next line; the last one stays.
  write_atomically(tool, "#!/bin/sh\nhead -n 1 " + state + "\n[ $(wc -l <" + state +
                             ") -eq 1 ] || sed -i 1d " + state + "\n");
  std::filesystem::permissions(tool, std::filesystem::perms::owner_all);
  write_atomically(state,
                   "97, 60, Not Active, Not Active\n3, 84, Not Active, Active\n"
                   "3, 70, Not Active, Not Active\n");
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", (folder.path().string() + ":" + path).c_str(), 1);
  std::vector<std::string> said;
  wait_for_quiet_gpu([&](const std::string& what) { said.push_back(what); });
  ::setenv("PATH", path.c_str(), 1);
  CHECK(said ==
        std::vector<std::string>{
            "waiting until the GPU is idle and cool: 97 % busy, 60 °C",
            "waiting until the GPU is idle and cool: 3 % busy, 84 °C, slowed down by heat"});
}

TEST_CASE("speed: the ratio of the sums of medians, and bounds around it") {
  SpeedMeasure measure{.yours_ms = {{2, 2, 50}, {8, 8, 8}},
                       .reference_ms = {{1, 1, 1}, {4, 4, 99}}};
  estimate_speed(measure);
  CHECK(measure.speed == Approx(0.5));
  CHECK(measure.low <= 0.5);
  CHECK(measure.high >= 0.5);
  SpeedMeasure again = measure;
  estimate_speed(again);
  CHECK(again == measure);
}

TEST_CASE("speed: bounds from few pairs hold the truth as often as they say") {
  Random random(7);
  for (const std::size_t pairs : {3U, 4U, 5U, 6U, 10U}) {
    CAPTURE(pairs);
    constexpr int kTrials = 400;
    int held = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      SpeedMeasure measure{.yours_ms = {{}}, .reference_ms = {{}}};
      for (std::size_t i = 0; i < pairs; ++i) {
        // Usually a little slower than the best time, sometimes much slower: the same for both.
        const auto time = [&] { return 10.0 - std::log(1.0 - random.uniform()); };
        measure.yours_ms[0].push_back(time());
        measure.reference_ms[0].push_back(time());
      }
      estimate_speed(measure);
      held += measure.low <= 1.0 && 1.0 <= measure.high ? 1 : 0;
    }
    CHECK(held >= kTrials * 92 / 100);
  }
}
