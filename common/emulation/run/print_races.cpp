// Linked into programs of `convlab-run --races`: prints the races when the program ends.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
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
  const bool one_line = race.first.call.empty() && race.second.call.empty() &&
                        race.first.line == race.second.line && race.first.file == race.second.file;
  if (race.first.atomic && race.second.atomic)
    return "an atomic operation for one block meets those of other blocks: leave out _block, or "
           "thread_scope_block";
  if (race.first.atomic || race.second.atomic) {
    const RaceSide& plain = race.first.atomic ? race.second : race.first;
    return plain.writes ? "store it atomically, too: with atomicExch, or cuda::atomic_ref"
                        : "read it atomically, too: with atomicOr(address, 0), a volatile pointer, "
                          "or cuda::atomic_ref";
  }
  if (race.updates) return "use atomicAdd, or give each thread an element of its own";
  if (race.first.writes && race.second.writes && one_line)
    return "make the index different for every thread, or let one thread store";
  if (one_line && race.scope <= RaceScope::kBlock)
    return std::string("read into a variable, then ") +
           (race.scope == RaceScope::kWarp ? "__syncwarp()" : "__syncthreads()") + ", then write";
  return enum_name(
      race.scope,
      {"__syncwarp() belongs between the two lines",
       "__syncthreads() belongs between the two lines",
       "nothing orders the blocks of a kernel: split it in two, or use atomic operations",
       "the two run in different streams: an event must make one wait for the other"});
}

std::string name_of(const FaultMemory& memory) {
  return memory.variable.empty()        ? "global memory"
         : memory.variable == "dynamic" ? "dynamic shared memory"
                                        : "the variable " + memory.variable;
}

/// One of each kernel, then the second of each, and so on.
std::vector<FaultRecord> in_turns(std::vector<FaultRecord> records) {
  std::map<std::string, int> count;
  std::vector<std::pair<int, FaultRecord>> turns;
  for (FaultRecord& each : records) turns.emplace_back(count[each.kernel]++, std::move(each));
  std::ranges::stable_sort(turns, {}, &std::pair<int, FaultRecord>::first);
  for (std::size_t i = 0; i < records.size(); ++i) records[i] = std::move(turns[i].second);
  return records;
}

void print_races() {
  constexpr std::size_t kMost = 10;
  const std::vector<FaultRecord> races = in_turns(only<RaceDetector>().all());
  for (std::size_t i = 0; i < std::min(races.size(), kMost); ++i) {
    const RaceFacts& race = *races[i].race;
    const std::string& kernel = races[i].kernel;
    const bool is_call = kernel == race.first.call || kernel == race.second.call;
    std::fprintf(stderr, "emulated device: race %s %s: two %s use byte %lld of %s%s%s\n  %s\n",
                 is_call ? "of" : "in kernel", kernel.c_str(), is_call ? "operations" : "threads",
                 races[i].memory.offset, name_of(races[i].memory).c_str(),
                 text_of(race.first).c_str(), text_of(race.second).c_str(), advice(race).c_str());
  }
  if (races.size() > kMost)
    std::fprintf(stderr, "emulated device: %zu more races at other lines\n", races.size() - kMost);
  const std::vector<FaultRecord> unwritten = in_turns(only<RaceDetector>().unwritten());
  for (std::size_t i = 0; i < std::min(unwritten.size(), kMost); ++i)
    std::fprintf(stderr,
                 "emulated device: kernel %s reads byte %lld of %s, which %s has written\n"
                 "  at %s:%d, thread %s of block %s\n",
                 unwritten[i].kernel.c_str(), unwritten[i].memory.offset,
                 name_of(unwritten[i].memory).c_str(),
                 unwritten[i].memory.variable.empty() ? "nobody" : "no thread of the block",
                 unwritten[i].file.c_str(), unwritten[i].line,
                 coordinates(unwritten[i].thread).c_str(), coordinates(unwritten[i].block).c_str());
}

[[maybe_unused]] const bool is_ready = [] {
  look_for_races();
  return std::atexit(print_races) == 0;
}();

}  // namespace
}  // namespace convlab::emulation
