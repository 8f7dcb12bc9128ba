#include "common/emulation/runtime/report.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <mutex>
#include <sstream>
#include <tuple>
#include <utility>
#include <vector>

#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/settings.hpp"
#include "common/emulation/runtime/symbolize.hpp"

namespace convlab::emulation {
namespace {

using State = EmulatedThread::State;

std::string coordinates(uint3 index) {
  std::array<char, 40> text;
  std::snprintf(text.data(), text.size(), "(%u,%u,%u)", index.x, index.y, index.z);
  return text.data();
}

std::string place(const CallSite& site) {
  if (site.file == nullptr) return "an unknown place";
  std::string text = std::string(site.file) + ":" + std::to_string(site.line);
  if (site.column != 0) text.append(":").append(std::to_string(site.column));
  return text;
}

/// "threads (0,0,0) to (31,0,0), (64,0,0)": runs of consecutive ranks, at most six of them.
std::string thread_list(const std::vector<const EmulatedThread*>& threads) {
  constexpr std::size_t kMostRuns = 6;
  std::string text;
  std::size_t runs = 0;
  for (std::size_t i = 0; i < threads.size(); ++runs) {
    std::size_t end = i + 1;
    while (end < threads.size() && threads[end]->rank == threads[end - 1]->rank + 1) ++end;
    if (runs == kMostRuns) return text + ", …";
    if (runs != 0) text += ", ";
    text += coordinates(threads[i]->index);
    if (end - i > 1) text.append(" to ").append(coordinates(threads[end - 1]->index));
    i = end;
  }
  return text;
}

/// One line per group of threads that are in the same state at the same place.
std::string thread_groups(const BlockRunner& runner) {
  std::map<std::tuple<State, std::string, std::string>, std::vector<const EmulatedThread*>> groups;
  for (const EmulatedThread& thread : runner.scheduler().threads()) {
    State state = thread.state;
    if (state == State::kReady) state = State::kRunning;
    const bool waits = state == State::kAtBarrier || state == State::kInWarp ||
                       state == State::kConverging || state == State::kAsleep;
    const Wait& last = runner.scheduler().wait_of(thread);
    const bool begun = waits || (state == State::kRunning && last.site.file != nullptr);
    std::string call = last.call;
    if (state == State::kInWarp) {
      std::array<char, 24> mask;
      std::snprintf(mask.data(), mask.size(), " (mask 0x%08x)",
                    runner.warps().awaited_lanes(thread));
      call += mask.data();
    }
    if (!begun) call.clear();
    const std::string where = begun ? place(last.site) : std::string();
    groups[{state, call, where}].push_back(&thread);
  }
  std::string text;
  for (const auto& [key, threads] : groups) {
    const auto& [state, call, where] = key;
    text.append("\n    ").append(std::to_string(threads.size()));
    text += threads.size() == 1 ? " thread " : " threads ";
    switch (state) {
      case State::kFresh:
        text += "not begun";
        break;
      case State::kExited:
        text += "ended";
        break;
      case State::kRunning:
      case State::kReady:
        text += where.empty() ? "running" : "running, last seen in " + call + " at " + where;
        break;
      case State::kAtBarrier:
      case State::kAtOtherBarrier:
      case State::kInWarp:
      case State::kConverging:
      case State::kAsleep:
        text += "waiting in " + call + " at " + where;
        break;
    }
    text.append(": ").append(thread_list(threads));
  }
  return text;
}

std::string time_limit_text() {
  std::ostringstream text;
  text << "time limit: the kernel did not end within the " << settings().timeout_seconds
       << " s of CONVLAB_EMU_TIMEOUT";
  return text.str();
}

std::string headline(const BlockRunner& runner) {
  const Fault& fault = runner.fault();
  switch (fault.kind) {
    case Fault::Kind::kNone:
    case Fault::Kind::kCancelled:
      return "cancelled";
    case Fault::Kind::kReported:
      return fault.message;
    case Fault::Kind::kMemory: {
      std::string what = runner.shared_memory().describe(fault.address);
      if (what.empty()) what = describe_address(fault.address);
      return "illegal memory access, " + what;
    }
    case Fault::Kind::kMisaligned:
      return "misaligned address: a vector access must be aligned to its size";
    case Fault::Kind::kStackOverflow:
      return "stack overflow: the thread's calls and local arrays need more than " +
             std::to_string(runner.scheduler().fibers().stack_bytes() / 1024) +
             " KiB (endless recursion?)";
    case Fault::Kind::kArithmetic:
      return "integer division by zero, or of the least integer by -1 (a GPU goes on with a "
             "meaningless value)";
    case Fault::Kind::kInstruction:
      return "trap instruction";
    case Fault::Kind::kDeadlock:
      return "deadlock: threads wait for others that will never come";
    case Fault::Kind::kDivergence:
      return "divergent barrier: threads of one block met in different barriers";
    case Fault::Kind::kTimeout:
      return time_limit_text();
  }
  return {};
}

std::mutex sink_mutex;

ReportSink& sink() {
  // Never destroyed: other static objects may use the device in their destructors.
  static auto* const instance = new ReportSink;
  return *instance;
}

}  // namespace

std::string describe_fault(const BlockRunner& runner) {
  const Fault& fault = runner.fault();
  const KernelCall& call = runner.call();
  std::string text = headline(runner);
  text +=
      "\n  in kernel " + std::string(call.name) + ", block " + coordinates(runner.block_index());
  if (fault.has_thread) text += ", thread " + coordinates(fault.thread);
  std::string where;
  if (fault.site.file != nullptr)
    where = place(fault.site);
  else if (fault.frame_count > 0)
    where = source_place(fault.frames.data(), fault.frame_count);
  if (!where.empty()) text += "\n  at " + where;
  text += "\n  launched at " + place(call.site);
  if (fault.kind == Fault::Kind::kDeadlock || fault.kind == Fault::Kind::kDivergence ||
      fault.kind == Fault::Kind::kTimeout)
    text += "\n  the threads of the block:" + thread_groups(runner);
  return text;
}

std::string describe_time_limit(const KernelCall& call, std::uint64_t begun, std::uint64_t blocks) {
  return time_limit_text() + "\n  in kernel " + call.name +
         ", between two blocks: " + std::to_string(begun) + " of " + std::to_string(blocks) +
         " had run\n  launched at " + place(call.site);
}

ReportSink set_report_sink(ReportSink new_sink) {
  const std::lock_guard lock(sink_mutex);
  return std::exchange(sink(), std::move(new_sink));
}

void send_report(const std::string& report) {
  const std::lock_guard lock(sink_mutex);
  if (sink())
    sink()(report);
  else
    std::fprintf(stderr, "emulated device: %s\n", report.c_str());
}

}  // namespace convlab::emulation
