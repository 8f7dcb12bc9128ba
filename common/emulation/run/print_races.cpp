// Linked into programs of `convlab-run --races`: prints the races when the program ends.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/base/enum_name.hpp"
#include "common/emulation/runtime/report.hpp"
#include "common/emulation/trace/race_detector.hpp"

namespace convlab::emulation {
namespace {

std::string text_of(const RaceSide& side) {
  const char* const does = side.atomic   ? "changes it atomically"
                           : side.writes ? "writes it"
                                         : "reads it";
  if (!side.call.empty()) return "\n  " + side.call + " " + does;
  return std::string("\n  ") + (side.by_warp ? "the warp of thread " : "thread ") +
         coordinates(side.thread) + " of block " + coordinates(side.block) + " " + does + " at " +
         side.file + ":" + std::to_string(side.line);
}

std::string advice(const RaceFacts& race) {
  if (race.updates) return "use atomicAdd, or give each thread an element of its own";
  if (race.first.writes && race.second.writes && race.first.line == race.second.line)
    return "make the index different for every thread, or let one thread store";
  return enum_name(
      race.scope,
      {"__syncwarp() belongs between the two lines",
       "__syncthreads() belongs between the two lines",
       "nothing orders the blocks of a kernel: split it in two, or use atomic operations",
       "the two run in different streams: an event must make one wait for the other"});
}

void print_races() {
  constexpr std::size_t kMost = 10;
  const std::vector<FaultRecord> races = only<RaceDetector>().all();
  for (std::size_t i = 0; i < std::min(races.size(), kMost); ++i) {
    const FaultMemory& where = races[i].memory;
    const RaceFacts& race = *races[i].race;
    const std::string memory = where.variable.empty()        ? "global memory"
                               : where.variable == "dynamic" ? "dynamic shared memory"
                                                             : "the variable " + where.variable;
    std::fprintf(stderr,
                 "emulated device: race in kernel %s: two threads use byte %lld of %s%s%s\n  %s\n",
                 races[i].kernel.c_str(), where.offset, memory.c_str(), text_of(race.first).c_str(),
                 text_of(race.second).c_str(), advice(race).c_str());
  }
  if (races.size() > kMost)
    std::fprintf(stderr, "emulated device: %zu more races at other lines\n", races.size() - kMost);
}

[[maybe_unused]] const bool is_ready = [] {
  look_for_races();
  return std::atexit(print_races) == 0;
}();

}  // namespace
}  // namespace convlab::emulation
