#include <cuda_runtime.h>

#include <optional>
#include <sstream>
#include <string>

#include "common/base/tests/support/catch.hpp"
#include "common/base/whole_file.hpp"
#include "common/emulation/include/convlab_emulation/activity.hpp"
#include "common/emulation/trace/race_detector.hpp"
#include "common/emulation/trace/tests/race_pairs.hpp"

using namespace convlab;
using namespace convlab::emulation;

namespace {

std::optional<FaultRecord> race_in(void (*run)(void* memory)) {
  constexpr std::size_t kBytes = 32 << 10;
  look_for_races();
  void* memory = nullptr;
  REQUIRE(cudaMalloc(&memory, kBytes) == cudaSuccess);
  REQUIRE(cudaMemset(memory, 0, kBytes) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  run(memory);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(cudaFree(memory) == cudaSuccess);
  return only<RaceDetector>().take();
}

std::vector<Pair> all_pairs() {
  std::vector<Pair> all;
  for (const auto& pairs : {race_pairs_in_blocks(), race_pairs_in_warps(), race_pairs_of_blocks()})
    all.insert(all.end(), pairs.begin(), pairs.end());
  return all;
}

std::string line_of(const RaceSide& side) {
  if (!side.call.empty()) return "// first";
  std::istringstream lines(
      read_text(std::string(CONVLAB_SOURCE_DIR "/common/emulation/trace/tests/") + side.file));
  std::string line;
  for (int i = 0; i < side.line; ++i) std::getline(lines, line);
  return line;
}

}  // namespace

TEST_CASE("a race is found with both lines, and its right twin is silent") {
  for (const std::string order : {"forward", "reverse"}) {
    choose_settings({"CONVLAB_EMU_ORDER=" + order});
    for (const Pair& pair : all_pairs()) {
      if (order != "forward" && !pair.in_any_order) continue;
      INFO(pair.name << ", " << order);
      const auto right = race_in(pair.right);
      if (right) {
        FAIL_CHECK("the right twin: " << line_of(right->race->first) << " and "
                                      << line_of(right->race->second));
      }
      const auto wrong = race_in(pair.wrong);
      if (!wrong) {
        FAIL_CHECK("not found");
        continue;
      }
      const RaceFacts& race = *wrong->race;
      CHECK(std::string(to_string(race.scope)) == to_string(pair.scope));
      const std::string first = line_of(race.first);
      const std::string second = line_of(race.second);
      const bool twice = first == second && first.find("// twice") != std::string::npos;
      const bool both = first.find("// first") != std::string::npos &&
                        second.find("// second") != std::string::npos;
      if (!twice && !both) FAIL_CHECK(first << " and " << second);
      CHECK((race.first.writes || race.second.writes));
      CHECK((race.first.block != race.second.block || race.first.thread != race.second.thread ||
             race.first.by_warp || race.second.by_warp || race.scope == RaceScope::kStreams));
    }
  }
  choose_settings({});
}
