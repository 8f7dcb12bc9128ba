#include "common/emulation/trace/step_recorder.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/shared_variable.hpp"
#include "common/emulation/runtime/block_runner.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/report.hpp"
#include "common/emulation/trace/access_counts.hpp"
#include "common/emulation/trace/places.hpp"

namespace convlab::emulation {
namespace {

// Of all runs together: ten characters each are two thirds of a page.
constexpr std::size_t kMostNumbers = 300'000;
constexpr std::size_t kMostRequests = 150'000;
constexpr int kAlignment = 128;

Space space_named(const std::string& name) {
  return name == "shared" ? Space::kShared : name == "constant" ? Space::kConstant : Space::kGlobal;
}

std::vector<std::int64_t> runs_of(const std::vector<PairedStep::Part>& parts) {
  std::vector<std::int64_t> runs;
  for (std::size_t i = 0; i < parts.size();) {
    std::size_t end = i + 1;
    std::int64_t growth = 0;
    while (end < parts.size() && parts[end].thread == parts[end - 1].thread + 1) {
      const std::int64_t difference = parts[end].offset - parts[end - 1].offset;
      if (end == i + 1) growth = difference;
      if (difference != growth) break;
      ++end;
    }
    runs.insert(runs.end(),
                {parts[i].thread, static_cast<std::int64_t>(end - i), parts[i].offset, growth});
    i = end;
  }
  return runs;
}

}  // namespace

std::optional<WantedSteps> parse_wanted_steps(const std::string& text) {
  WantedSteps wanted;
  int name = 0;
  const bool is_read = std::sscanf(text.c_str(), "%u,%u,%u:%zu:%n", &wanted.block.x,
                                   &wanted.block.y, &wanted.block.z, &wanted.first, &name) == 4;
  if (!is_read || name == 0 ||
      text.find_first_not_of("0123456789,:") < static_cast<std::size_t>(name))
    return std::nullopt;
  wanted.kernel = text.substr(static_cast<std::size_t>(name));
  return wanted;
}

void StepRecorder::want(WantedSteps wanted) {
  wanted_ = std::move(wanted);
  state_ = State::kWaiting;
}

void StepRecorder::begin_grid(const KernelCall& call) {
  if (state_ == State::kInGrid) state_ = State::kWaiting;
  const uint3& block = wanted_.block;
  if (state_ != State::kWaiting || wanted_.kernel != call.name || block.x >= call.grid.x ||
      block.y >= call.grid.y || block.z >= call.grid.z)
    return;
  state_ = State::kInGrid;
  notes_ = {.kernel = call.name,
            .file = name_of(call.site.file),
            .grid = {call.grid.x, call.grid.y, call.grid.z},
            .block_size = {call.block.x, call.block.y, call.block.z},
            .block = {block.x, block.y, block.z}};
  const std::size_t threads = std::size_t{call.block.x} * call.block.y * call.block.z;
  begins_.clear();
  calls_.clear();
  positions_.assign(threads, {});
  threads_.assign(threads, {});
  lengths_.assign(threads, 0);
  tokens_.assign(1, {});
  numbers_.clear();
  fragments_.assign((threads + kWarpSize - 1) / kWarpSize, {});
}

// Blocks of a cooperative launch run side by side.
bool StepRecorder::is_here() const {
  if (state_ != State::kInGrid && state_ != State::kInBlock) return false;
  const uint3 block = BlockRunner::current()->block_index();
  return block.x == wanted_.block.x && block.y == wanted_.block.y && block.z == wanted_.block.z;
}

void StepRecorder::begin_block() {
  if (is_here()) state_ = State::kInBlock;
}

void StepRecorder::end_block() {
  if (state_ != State::kInBlock || !is_here()) return;
  state_ = State::kOver;
  notes_.is_over = BlockRunner::current()->fault().state == Fault::State::kNone;
}

void StepRecorder::add(std::size_t thread, const StepToken& token, std::int64_t offset) {
  // A step has at most one event of a thread, so more of them are in no step that is shown.
  if (thread >= threads_.size() || lengths_[thread] > wanted_.first + kMostSteps) return;
  ++lengths_[thread];
  const std::uint16_t number = number_of(token);
  threads_[thread].push_back(token.kind == StepKind::kBarrier
                                 ? LanePosition::at_barrier(number)
                                 : positions_[thread].event(number, offset));
}

std::uint16_t StepRecorder::number_of(const StepToken& token) {
  const auto [known, is_new] =
      numbers_.try_emplace(token, static_cast<std::uint16_t>(tokens_.size()));
  if (is_new) tokens_.push_back(token);
  return known->second;
}

void StepRecorder::come_to_block(const void* caller, const void* frame) {
  if (!move(caller, frame)) return;
  const auto thread = static_cast<std::size_t>(thread_rank());
  if (lengths_[thread] > wanted_.first + kMostSteps) return;
  threads_[thread].push_back(positions_[thread].event(0, 0));
}

std::vector<PairedStep> StepRecorder::paired_steps(std::size_t most) {
  CodeOrder code;
  for (const auto& list : threads_) code.learn(list);
  for (auto& list : threads_) code.apply(list);
  std::vector<PairedStep> steps;
  pair_lanes(threads_, 0, threads_.size(), [&](const auto& threads, const auto& next) {
    const auto event = [&](std::size_t thread) { return threads_[thread][next[thread] - 1]; };
    const std::uint16_t what = event(threads.front()).what();
    if (what == 0) return true;
    PairedStep& step = steps.emplace_back(PairedStep{.token = tokens_[what]});
    for (const std::size_t thread : threads)
      step.parts.push_back({static_cast<int>(thread), event(thread).offset});
    return steps.size() < most;
  });
  return steps;
}

// The array that contains the address or lies next to it; -1 for local variables.
std::int16_t StepRecorder::array_of(std::uintptr_t address, std::int64_t& offset) {
  for (std::size_t i = 0; i < begins_.size(); ++i) {
    offset = static_cast<std::int64_t>(address - begins_[i]);
    if (offset >= 0 && offset < notes_.arrays[i].memory.bytes) return static_cast<std::int16_t>(i);
  }
  const void* const pointer = reinterpret_cast<const void*>(address);
  const Space space = space_of(pointer);
  if (space == Space::kOther || only<KernelHeap>().contains(pointer)) return -1;
  StepArray array{.space = name_of(space), .memory = memory_at(pointer)};
  offset = std::exchange(array.memory.offset, 0);
  const std::uintptr_t begin = address - static_cast<std::uintptr_t>(offset);
  const auto known = std::ranges::find(begins_, begin);
  if (known != begins_.end()) return static_cast<std::int16_t>(known - begins_.begin());
  constexpr std::size_t kMostArrays = 1000;
  if (begins_.size() == kMostArrays) return -1;
  array.begin = static_cast<int>(begin % kAlignment);
  notes_.arrays.push_back(std::move(array));
  begins_.push_back(begin);
  return static_cast<std::int16_t>(begins_.size() - 1);
}

bool StepRecorder::move(const void* caller, const void* frame) {
  if (!is_here()) return false;
  positions_[static_cast<std::size_t>(thread_rank())].move(caller, frame);
  return true;
}

void StepRecorder::touch(const void* address, std::size_t bytes, StepKind kind, Place place) {
  if (!is_here()) return;
  std::int64_t offset = 0;
  const std::int16_t array = array_of(reinterpret_cast<std::uintptr_t>(address), offset);
  if (array < 0) return;
  add(static_cast<std::size_t>(thread_rank()),
      {place, kind, array, static_cast<std::uint16_t>(bytes)}, offset);
}

void StepRecorder::access_by_warp(const void* address, std::size_t bytes, std::size_t /*part*/,
                                  bool writes, const CallSite& site) {
  if (!is_here()) return;
  const auto warp = static_cast<std::size_t>(thread_rank()) / kWarpSize;
  std::int64_t offset = 0;
  const StepToken token{place_of_call(site), writes ? StepKind::kWrite : StepKind::kRead,
                        array_of(reinterpret_cast<std::uintptr_t>(address), offset),
                        static_cast<std::uint16_t>(bytes)};
  if (token.array < 0) return;
  FragmentRows& rows = fragments_[warp];
  if (rows.token != token) rows = {token, 0};
  add(warp * kWarpSize + rows.next++ % kWarpSize, token, offset);
}

void StepRecorder::name_call(Place place, const char* call) {
  if (place >= calls_.size()) calls_.resize(place + 1);
  calls_[place] = call;
}

void StepRecorder::multiply_in_warp(long long /*multiply_adds*/, const CallSite& site) {
  if (!is_here()) return;
  const Place place = place_of_call(site);
  const auto first = static_cast<unsigned>(thread_rank()) / kWarpSize * kWarpSize;
  fragments_[first / kWarpSize] = {};
  for (const int lane : LaneRange(BlockRunner::current()->warps().live_lanes(first)))
    add(first + static_cast<unsigned>(lane), {place, StepKind::kProducts}, 0);
}

void StepRecorder::met_in_warp(unsigned first_rank, const WarpOperation& operation,
                               std::uint32_t lanes, const CallSite& site) {
  const bool exchanges = std::string_view(operation.name).starts_with("__shfl");
  if (!is_here() || (!operation.orders && !exchanges)) return;
  const Place place = place_of_call(site);
  name_call(place, operation.name);
  // The lane that comes last takes another way through the operation.
  LanePosition furthest;
  for (const int lane : LaneRange(lanes))
    furthest = std::max(furthest, positions_[first_rank + static_cast<unsigned>(lane)]);
  for (const int lane : LaneRange(lanes)) {
    const auto rank = first_rank + static_cast<unsigned>(lane);
    positions_[rank].come_to(furthest);
    add(rank, {place, StepKind::kMeeting}, 0);
  }
}

void StepRecorder::met_in_block(const char* call, const CallSite& site) {
  if (!is_here()) return;
  const Place place = place_of_call(site);
  name_call(place, call);
  for (const EmulatedThread& thread : BlockRunner::current()->scheduler().threads()) {
    if (thread.state == EmulatedThread::State::kExited) continue;
    add(thread.rank, {place, StepKind::kBarrier}, 0);
  }
}

BlockStep StepRecorder::step_of(const PairedStep& paired) const {
  BlockStep step{.kind = paired.token.kind,
                 .array = paired.token.array,
                 .bytes = paired.token.bytes,
                 .threads = runs_of(paired.parts)};
  if (paired.token.array < 0) return step;
  const auto array = static_cast<std::size_t>(paired.token.array);
  std::map<int, Request> requests;
  for (const PairedStep::Part& part : paired.parts) {
    Request& request = requests[part.thread / kWarpSize];
    const auto lane = static_cast<std::size_t>(part.thread % kWarpSize);
    request.mask |= 1U << lane;
    request.address[lane] = begins_[array] + static_cast<std::uintptr_t>(part.offset);
  }
  for (const auto& [warp, request] : requests) {
    const Parts parts = parts_of(request, space_named(notes_.arrays[array].space),
                                 paired.token.bytes, paired.token.kind == StepKind::kAtomic);
    step.requests.insert(step.requests.end(), {warp, parts.all, parts.conflicts});
  }
  return step;
}

StepNotes StepRecorder::take() {
  StepNotes notes = std::exchange(notes_, {});
  std::swap(notes_.arrays, notes.arrays);  // step_of() asks for them
  const std::size_t most = wanted_.first + kMostSteps;
  const auto paired = paired_steps(most + 1);
  std::map<Place, int> places;
  std::size_t numbers = 0;
  std::size_t requests = 0;
  notes.first = static_cast<std::int64_t>(std::min(wanted_.first, paired.size()));
  for (std::size_t i = wanted_.first; i < paired.size(); ++i) {
    BlockStep step = step_of(paired[i]);
    numbers += step.threads.size();
    requests += step.requests.size();
    notes.is_cut = i == most || numbers > kMostNumbers || requests > kMostRequests;
    if (notes.is_cut) break;
    const Place place = paired[i].token.place;
    const auto [known, is_new] = places.try_emplace(place, static_cast<int>(places.size()));
    if (is_new) {
      const ReportPlace& source = source_of(place);
      notes.places.push_back({.file = name_of(source.file),
                              .line = static_cast<int>(source.line),
                              .call = place < calls_.size() ? calls_[place] : std::string()});
    }
    step.place = known->second;
    notes.steps.push_back(std::move(step));
  }
  notes.arrays = std::exchange(notes_.arrays, {});
  threads_.clear();
  state_ = State::kWaiting;
  return notes;
}

}  // namespace convlab::emulation
