#include <cuda_runtime.h>

#include <algorithm>
#include <functional>

#include "common/base/tests/support/catch.hpp"
#include "common/emulation/include/convlab_emulation/activity.hpp"
#include "common/emulation/runtime/api_state.hpp"
#include "common/emulation/trace/lane_pairing.hpp"
#include "common/emulation/trace/step_recorder.hpp"
#include "common/emulation/trace/tests/stepped_kernels.hpp"

using namespace convlab;
using namespace convlab::emulation;

namespace {

constexpr int kElements = 256;

/// The steps of one launch with two arrays of 256 elements.
StepNotes recorded(const std::string& wanted, const std::function<void(float*, float*)>& run,
                   bool fails = false) {
  choose_settings({"CONVLAB_EMU_THREADS=1"});
  REQUIRE(record_steps(wanted));
  float* to = nullptr;
  float* from = nullptr;
  REQUIRE(cudaMalloc(&to, kElements * sizeof(float)) == cudaSuccess);
  REQUIRE(cudaMalloc(&from, kElements * sizeof(float)) == cudaSuccess);
  REQUIRE(cudaMemset(from, 0, kElements * sizeof(float)) == cudaSuccess);
  run(to, from);
  CHECK((cudaDeviceSynchronize() == cudaSuccess) == !fails);
  if (fails) {
    renew_device();
  } else {
    CHECK(cudaFree(to) == cudaSuccess);
    CHECK(cudaFree(from) == cudaSuccess);
  }
  return take_steps();
}

std::vector<std::string> kinds(const StepNotes& notes) {
  std::vector<std::string> all;
  for (const BlockStep& step : notes.steps) {
    const std::string array =
        step.array < 0 ? "" : " " + notes.arrays[static_cast<std::size_t>(step.array)].space;
    all.push_back(to_string(step.kind) + array);
  }
  return all;
}

using Kinds = std::vector<std::string>;
using Threads = std::vector<std::int64_t>;

// A letter is a place of the program; they follow each other. In capitals: in a call.
std::vector<LaneEvent> events(const std::string& places) {
  std::vector<LaneEvent> all;
  for (const char place : places) {
    const bool in_call = place >= 'A' && place <= 'Z';
    const auto order = static_cast<std::uint64_t>(place) << 20U;
    all.push_back(place == '|' ? LanePosition::at_barrier(1)
                               : LaneEvent{order | (in_call ? 0 : std::uint64_t{1} << 48U), place});
  }
  return all;
}

// "ab|c", with the threads of each step behind it: "a01 b0 |01 c1".
std::string paired(const std::vector<std::string>& threads, int most = 100) {
  std::vector<std::vector<LaneEvent>> lists;
  for (const std::string& each : threads) lists.push_back(events(each));
  CodeOrder code;
  for (const auto& list : lists) code.learn(list);
  for (auto& list : lists) code.apply(list);
  std::string text;
  pair_lanes(lists, 0, lists.size(), [&](const auto& together, const auto& next) {
    const char place = threads[together.front()][next[together.front()] - 1];
    text += (text.empty() ? "" : " ") + std::string(1, place);
    for (const std::size_t thread : together) text += std::to_string(thread);
    return --most > 0;
  });
  return text;
}

}  // namespace

TEST_CASE("steps: those of the threads go on that are furthest behind") {
  CHECK(paired({"abc", "abc"}) == "a01 b01 c01");
  CHECK(paired({"ab|a", "a|a"}) == "a01 b0 |01 a01");
  // A loop that one thread leaves earlier: both do what stands behind it together.
  CHECK(paired({"lllls", "lls"}) == "l01 l01 l0 l0 s01");
  // The turns of an outer loop stay together though the inner one differs.
  CHECK(paired({"abcabbbc", "abbbcabc"}) == "a01 b01 b1 b1 c01 a01 b01 b0 b0 c01");
  // Two branches follow each other.
  CHECK(paired({"bxxy", "bccy"}) == "b01 c1 c1 x0 x0 y01");
  // The n-th arrival is not what pairs: the first thread skips `b` once.
  CHECK(paired({"acabc", "abcabc"}) == "a01 b1 c01 a01 b01 c01");
  // A function that one thread calls lies elsewhere in the program.
  CHECK(paired({"aZc", "ac", "aBc"}) == "a012 B2 Z0 c012");
  // A block that lies behind the loop belongs into it: the way from a to c leads over it.
  CHECK(paired({"abcazcabcd", "abcabcabcd"}) == "a01 b01 c01 a01 b1 z0 c01 a01 b01 c01 d01");
  // A loop that is entered at its end, where it is tested.
  CHECK(paired({"actbtbtd", "actbtbtbtd"}) == "a01 c01 t01 b01 t01 b01 t01 b1 t1 d01");
  // A thread that has ended is in no later step.
  CHECK(paired({"a", "a|b"}) == "a01 |1 b1");
  CHECK(paired({"aaaa", "aaaa"}, 3) == "a01 a01 a01");
  CHECK(paired({}).empty());
}

TEST_CASE("steps: the wanted block is a text") {
  CHECK(record_steps("2,0,1:space::conv<7>"));
  for (const char* text : {"", "1,2:k", "1,2,3", "a,0,0:k", "-1,2,3:k"}) {
    CHECK_FALSE(record_steps(text));
  }
}

TEST_CASE("steps: one block, its arrays, lines and requests") {
  const StepNotes notes = recorded("1,0,0:tile", copy_by_tile);
  CHECK(kinds(notes) ==
        Kinds{"read global", "write shared", "barrier", "read shared", "write global"});
  CHECK(notes.grid == std::array<unsigned, 3>{2, 1, 1});
  CHECK(notes.block == std::array<unsigned, 3>{1, 0, 0});
  CHECK(notes.is_over);
  REQUIRE(notes.steps.size() == 5);
  CHECK(notes.steps[0].threads == Threads{0, 64, 256, 4});  // its second half of 64 floats
  CHECK(notes.steps[0].requests == std::vector<int>{0, 4, 0, 1, 4, 0});
  CHECK(notes.steps[1].requests == std::vector<int>{0, 1, 0, 1, 1, 0});
  CHECK(notes.steps[2].threads == Threads{0, 64, 0, 0});
  CHECK(notes.steps[3].threads == Threads{0, 64, 252, -4});
  const auto place = [&](std::size_t step) {
    return notes.places[static_cast<std::size_t>(notes.steps[step].place)];
  };
  CHECK(place(0).line == 12);
  CHECK(place(0).file == "stepped_kernels.cu");
  CHECK(place(2).call == "__syncthreads");
  CHECK(place(4).line == 14);
  const StepArray& shared = notes.arrays[static_cast<std::size_t>(notes.steps[1].array)];
  CHECK(shared.memory.variable == "part");
  CHECK(shared.memory.bytes == 256);
}

TEST_CASE("steps: a shuffle is a meeting") {
  const StepNotes notes = recorded("0,0,0:exchange", exchange_lanes);
  CHECK(kinds(notes) == Kinds{"read global", "meeting", "write global"});
  CHECK(notes.places[static_cast<std::size_t>(notes.steps[1].place)].call == "__shfl_down_sync");
}

TEST_CASE("steps: another kernel or block leaves nothing") {
  CHECK(recorded("0,0,0:other", copy_by_tile).steps.empty());
  CHECK(recorded("2,0,0:tile", copy_by_tile).steps.empty());
}

TEST_CASE("steps: a fault leaves the steps before it") {
  const StepNotes notes = recorded("0,0,0:beyond", read_beyond, true);
  CHECK_FALSE(notes.is_over);
  REQUIRE_FALSE(notes.steps.empty());
  CHECK(notes.steps[0].threads == Threads{0, 32, 900, 4});
  CHECK(notes.arrays[0].memory.bytes == 1024);
}
