#pragma once

// Records what the threads of one block do, step by step, for a picture of it.
//
// Idea     Each thread of the block leaves a list: place, array, offset. When the stage is over,
//          lane_pairing.hpp says what belongs together.
// Use      CONVLAB_EMU_TRACE=steps:2,0,1:0:conv_forward, in a file compiled for it: the block, how
//          many steps are left out at the beginning, and the kernel. Its first launch counts that
//          has such a block.
// Limit    kMostSteps steps, and as many numbers as a page can hold.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/device_notes.hpp"
#include "common/emulation/include/convlab_emulation/vector_types.hpp"
#include "common/emulation/runtime/observer.hpp"
#include "common/emulation/trace/lane_pairing.hpp"
#include "common/emulation/trace/places.hpp"

namespace convlab::emulation {

/// What a thread does, without the element that it touches.
struct StepToken {
  Place place = 0;
  StepKind kind = StepKind::kRead;
  std::int16_t array = -1;
  std::uint16_t bytes = 0;

  friend auto operator<=>(const StepToken&, const StepToken&) = default;
};

struct PairedStep {
  StepToken token{};
  struct Part {
    int thread;
    std::int64_t offset;
  };
  std::vector<Part> parts{};  ///< in the order of threads
};

/// Which steps are recorded.
struct WantedSteps {
  uint3 block{};
  std::size_t first = 0;
  std::string kernel{};  ///< as its launch writes it
};

/// @return nothing if the text is not of the form "2,0,1:0:conv_forward"
std::optional<WantedSteps> parse_wanted_steps(const std::string& text);

class StepRecorder final : public AccessObserver {
 public:
  static constexpr std::size_t kMostSteps = 3000;

  void want(WantedSteps wanted);
  /// It has come to a block of the program.
  void come_to_block(const void* caller, const void* frame);
  /// What was recorded since the last call.
  StepNotes take();

  void begin_grid(const KernelCall& call) override;
  void begin_block() override;
  void end_block() override;
  void met_in_block(const char* call, const CallSite& site) override;
  void met_in_warp(unsigned first_rank, const WarpOperation& operation, std::uint32_t lanes,
                   const CallSite& site) override;
  void access_by_warp(const void* address, std::size_t bytes, std::size_t part, bool writes,
                      const CallSite& site) override;
  void multiply_in_warp(long long multiply_adds, const CallSite& site) override;

 private:
  enum class State { kWaiting, kInGrid, kInBlock, kOver };
  /// The rows of a fragment stand for lanes, because its layout leaves open who loads what.
  struct FragmentRows {
    StepToken token{};
    unsigned next = 0;
  };

  [[nodiscard]] bool is_here() const;
  void add(std::size_t thread, const StepToken& token, std::int64_t offset);
  bool move(const void* caller, const void* frame) override;
  void touch(const void* address, std::size_t bytes, StepKind kind, Place place) override;
  std::int16_t array_of(std::uintptr_t address, std::int64_t& offset);
  void name_call(Place place, const char* call);
  std::uint16_t number_of(const StepToken& token);
  /// @param most  no more steps than these
  [[nodiscard]] std::vector<PairedStep> paired_steps(std::size_t most);
  [[nodiscard]] BlockStep step_of(const PairedStep& paired) const;

  WantedSteps wanted_;
  State state_ = State::kWaiting;
  StepNotes notes_;
  std::vector<std::uintptr_t> begins_;   ///< of notes_.arrays
  std::vector<LanePosition> positions_;  ///< by thread
  std::vector<std::vector<LaneEvent>> threads_;
  std::vector<std::size_t> lengths_;  ///< of `threads_`, without blocks of the program
  std::vector<StepToken> tokens_;     ///< by LaneEvent::what; the first one is none
  std::map<StepToken, std::uint16_t> numbers_;
  std::vector<FragmentRows> fragments_;  ///< by warp
  std::vector<std::string> calls_;       ///< by place
};

/// Records from now on.
void record_steps(WantedSteps wanted);

}  // namespace convlab::emulation
