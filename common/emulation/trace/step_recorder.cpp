#include "common/emulation/trace/step_recorder.hpp"

#include <algorithm>
#include <compare>
#include <map>
#include <utility>
#include <vector>

#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/shared_variable.hpp"
#include "common/emulation/runtime/block_runner.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/report.hpp"
#include "common/emulation/trace/access_counts.hpp"
#include "common/emulation/trace/lane_pairing.hpp"
#include "common/emulation/trace/places.hpp"

namespace convlab::emulation {
namespace {

constexpr std::size_t kMostSteps = 3000;
// Of all runs together: ten characters each are two thirds of a page.
constexpr std::size_t kMostNumbers = 300'000;
constexpr std::size_t kMostRequests = 150'000;
constexpr int kAlignment = 128;

/// What a thread does, without the element that it touches.
struct StepToken {
  Place place = 0;
  StepKind kind = StepKind::kRead;
  std::int16_t array = -1;
  std::uint16_t bytes = 0;

  friend auto operator<=>(const StepToken&, const StepToken&) = default;
};

struct Array {
  std::uintptr_t begin;
  Space space;
};

class StepRecorder final : public AccessObserver {
 public:
  void want(const uint3& block, const std::string& kernel) {
    block_ = block;
    kernel_ = kernel;
    state_ = State::kWaiting;
  }

  StepNotes take() {
    StepNotes notes = std::exchange(notes_, {});
    CodeOrder code;
    for (const auto& list : threads_) code.learn(list);
    for (auto& list : threads_) code.apply(list);
    std::map<Place, int> places;
    std::size_t numbers = 0;
    std::size_t requests = 0;
    pair_lanes(threads_, 0, threads_.size(), [&](const auto& threads, const auto& next) {
      const auto event = [&](std::size_t thread) { return threads_[thread][next[thread] - 1]; };
      const StepToken& token = tokens_[event(threads.front()).what()];
      if (token.place == 0) return true;
      BlockStep step = step_of(token, threads, event);
      numbers += step.threads.size();
      requests += step.requests.size();
      notes.is_cut =
          notes.steps.size() == kMostSteps || numbers > kMostNumbers || requests > kMostRequests;
      if (notes.is_cut) return false;
      const auto [known, is_new] = places.try_emplace(token.place, static_cast<int>(places.size()));
      if (is_new) {
        const ReportPlace& source = source_of(token.place);
        notes.places.push_back({.file = name_of(source.file),
                                .line = static_cast<int>(source.line),
                                .call = calls_[token.place]});
      }
      step.place = known->second;
      notes.steps.push_back(std::move(step));
      return true;
    });
    threads_.clear();
    state_ = State::kWaiting;
    return notes;
  }

  void come_to_block(const void* caller, const void* frame) override {
    if (!move(caller, frame)) return;
    const auto thread = static_cast<std::size_t>(thread_rank());
    if (lengths_[thread] > kMostSteps) return;
    threads_[thread].push_back(positions_[thread].event(0, 0));
  }

  void begin_grid(const KernelCall& call) override {
    if (state_ == State::kInGrid) state_ = State::kWaiting;
    if (state_ != State::kWaiting || kernel_ != call.name || block_.x >= call.grid.x ||
        block_.y >= call.grid.y || block_.z >= call.grid.z)
      return;
    state_ = State::kInGrid;
    notes_ = {.kernel = call.name,
              .file = name_of(call.site.file),
              .grid = {call.grid.x, call.grid.y, call.grid.z},
              .block_size = {call.block.x, call.block.y, call.block.z},
              .block = {block_.x, block_.y, block_.z}};
    const std::size_t threads = std::size_t{call.block.x} * call.block.y * call.block.z;
    arrays_.clear();
    calls_.clear();
    positions_.assign(threads, {});
    threads_.assign(threads, {});
    lengths_.assign(threads, 0);
    tokens_.assign(1, {});
    numbers_.clear();
    fragments_.assign((threads + kWarpSize - 1) / kWarpSize, {});
  }

  void begin_block() override {
    if (is_here()) state_ = State::kInBlock;
  }

  void end_block() override {
    if (state_ != State::kInBlock || !is_here()) return;
    state_ = State::kOver;
    notes_.is_over = BlockRunner::current()->fault().state == Fault::State::kNone;
  }

  void access_by_warp(const void* address, std::size_t bytes, std::size_t /*part*/, bool writes,
                      const CallSite& site) override {
    if (!is_here()) return;
    const auto warp = static_cast<std::size_t>(thread_rank()) / kWarpSize;
    std::int64_t offset = 0;
    const StepToken token{place_of_call(site), writes ? StepKind::kWrite : StepKind::kRead,
                          array_of(address, offset), static_cast<std::uint16_t>(bytes)};
    if (token.array < 0) return;
    FragmentRows& rows = fragments_[warp];
    if (rows.token != token) rows = {token, 0};
    add(warp * kWarpSize + rows.next++ % kWarpSize, token, offset);
  }

  bool multiply_in_warp(long long /*multiply_adds*/, const CallSite& site) override {
    if (!is_here()) return false;
    const Place place = place_of_call(site);
    const auto first = static_cast<unsigned>(thread_rank()) / kWarpSize * kWarpSize;
    fragments_[first / kWarpSize] = {};
    for (const int lane : LaneRange(BlockRunner::current()->warps().live_lanes(first)))
      add(first + static_cast<unsigned>(lane), {place, StepKind::kProducts}, 0);
    return false;
  }

  void met_in_warp(unsigned first_rank, const WarpOperation& operation, std::uint32_t lanes,
                   const CallSite& site) override {
    const bool exchanges = std::string_view(operation.name).starts_with("__shfl");
    if (!is_here() || (!operation.orders && !exchanges)) return;
    const Place place = place_of_call(site);
    calls_[place] = operation.name;
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

  void met_in_block(const char* call, const CallSite& site) override {
    if (!is_here()) return;
    const Place place = place_of_call(site);
    calls_[place] = call;
    for (const EmulatedThread& thread : BlockRunner::current()->scheduler().threads()) {
      if (thread.state == EmulatedThread::State::kExited) continue;
      add(thread.rank, {place, StepKind::kBarrier}, 0);
    }
  }

 private:
  enum class State { kWaiting, kInGrid, kInBlock, kOver };
  /// The rows of a fragment stand for lanes, because its layout leaves open who loads what.
  struct FragmentRows {
    StepToken token{};
    unsigned next = 0;
  };

  // Blocks of a cooperative launch run side by side.
  [[nodiscard]] bool is_here() const {
    if (state_ != State::kInGrid && state_ != State::kInBlock) return false;
    const uint3 block = BlockRunner::current()->block_index();
    return block.x == block_.x && block.y == block_.y && block.z == block_.z;
  }

  bool move(const void* caller, const void* frame) override {
    if (!is_here()) return false;
    positions_[static_cast<std::size_t>(thread_rank())].move(caller, frame);
    return true;
  }

  void touch(const void* address, std::size_t bytes, StepKind kind, Place place) override {
    if (!is_here()) return;
    std::int64_t offset = 0;
    const std::int16_t array = array_of(address, offset);
    if (array < 0) return;
    add(static_cast<std::size_t>(thread_rank()),
        {place, kind, array, static_cast<std::uint16_t>(bytes)}, offset);
  }

  void add(std::size_t thread, const StepToken& token, std::int64_t offset) {
    // A step has at most one event of a thread, so more of them are in no step that is shown.
    if (thread >= threads_.size() || lengths_[thread] > kMostSteps) return;
    ++lengths_[thread];
    const auto [known, is_new] =
        numbers_.try_emplace(token, static_cast<std::uint16_t>(tokens_.size()));
    if (is_new) tokens_.push_back(token);
    threads_[thread].push_back(token.kind == StepKind::kBarrier
                                   ? LanePosition::at_barrier(known->second)
                                   : positions_[thread].event(known->second, offset));
  }

  // The array that contains the address or lies next to it; -1 for local variables.
  std::int16_t array_of(const void* pointer, std::int64_t& offset) {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      offset = static_cast<std::int64_t>(address - arrays_[i].begin);
      if (offset >= 0 && offset < notes_.arrays[i].memory.bytes)
        return static_cast<std::int16_t>(i);
    }
    const Space space = space_of(pointer);
    if (space == Space::kOther) return -1;
    StepArray array{.space = name_of(space), .memory = memory_at(pointer)};
    offset = std::exchange(array.memory.offset, 0);
    const std::uintptr_t begin = address - static_cast<std::uintptr_t>(offset);
    const auto known = std::ranges::find(arrays_, begin, &Array::begin);
    if (known != arrays_.end()) return static_cast<std::int16_t>(known - arrays_.begin());
    constexpr std::size_t kMostArrays = 1000;
    if (arrays_.size() == kMostArrays) return -1;
    array.begin = static_cast<int>(begin % kAlignment);
    notes_.arrays.push_back(std::move(array));
    arrays_.push_back({begin, space});
    return static_cast<std::int16_t>(arrays_.size() - 1);
  }

  /// @param event  of a thread, which it does in this step
  template <class Event>
  [[nodiscard]] BlockStep step_of(const StepToken& token, const std::vector<std::size_t>& threads,
                                  const Event& event) const {
    BlockStep step{.kind = token.kind, .array = token.array, .bytes = token.bytes};
    for (std::size_t i = 0; i < threads.size();) {
      const std::int64_t first = event(threads[i]).offset;
      std::size_t end = i + 1;
      std::int64_t growth = 0;
      while (end < threads.size() && threads[end] == threads[end - 1] + 1) {
        const std::int64_t difference = event(threads[end]).offset - event(threads[end - 1]).offset;
        if (end == i + 1) growth = difference;
        if (difference != growth) break;
        ++end;
      }
      step.threads.insert(step.threads.end(), {static_cast<std::int64_t>(threads[i]),
                                               static_cast<std::int64_t>(end - i), first, growth});
      i = end;
    }
    if (token.array < 0) return step;
    const Array& array = arrays_[static_cast<std::size_t>(token.array)];
    std::map<int, Request> requests;
    for (const std::size_t thread : threads) {
      Request& request = requests[static_cast<int>(thread / kWarpSize)];
      request.mask |= 1U << thread % kWarpSize;
      request.address[thread % kWarpSize] =
          array.begin + static_cast<std::uintptr_t>(event(thread).offset);
    }
    for (const auto& [warp, request] : requests) {
      const Parts parts =
          parts_of(request, array.space, token.bytes, token.kind == StepKind::kAtomic);
      step.requests.insert(step.requests.end(), {warp, parts.all, parts.conflicts});
    }
    return step;
  }

  uint3 block_{};       ///< whose steps are recorded
  std::string kernel_;  ///< as its launch writes it
  State state_ = State::kWaiting;
  StepNotes notes_;
  std::vector<Array> arrays_;                    ///< as notes_.arrays
  std::vector<LanePosition> positions_;          ///< by thread
  std::vector<std::vector<LaneEvent>> threads_;  ///< what each does
  std::vector<std::size_t> lengths_;             ///< of `threads_`, without blocks of the program
  std::vector<StepToken> tokens_;                ///< by LaneEvent::what; the first one is none
  std::map<StepToken, std::uint16_t> numbers_;
  std::vector<FragmentRows> fragments_;  ///< by warp
  std::map<Place, std::string> calls_;
};

}  // namespace

bool record_steps(const std::string& wanted) {
  uint3 block{};
  int name = 0;
  const bool is_read =
      std::sscanf(wanted.c_str(), "%u,%u,%u:%n", &block.x, &block.y, &block.z, &name) == 3;
  if (!is_read || name == 0 ||
      wanted.find_first_not_of("0123456789,:") < static_cast<std::size_t>(name))
    return false;
  only<StepRecorder>().want(block, wanted.substr(static_cast<std::size_t>(name)));
  observe_accesses(only<StepRecorder>());
  step_source = take_steps;
  return true;
}

StepNotes take_steps() {
  return only<StepRecorder>().take();
}

}  // namespace convlab::emulation
