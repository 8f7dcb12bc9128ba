#include "common/emulation/runtime/report.hpp"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/descriptor.hpp"
#include "common/base/run_process.hpp"
#include "common/emulation/include/convlab_emulation/activity.hpp"
#include "common/emulation/runtime/block_runner.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/kernel_process.hpp"
#include "common/emulation/runtime/settings.hpp"
#include "common/emulation/runtime/variable_pages.hpp"

namespace convlab::emulation {
namespace {

using State = EmulatedThread::State;

std::string place_text(const ReportPlace& place) {
  if (place.file.empty()) return "an unknown place";
  std::string text = place.file + ":" + std::to_string(place.line);
  if (place.column != 0) text.append(":").append(std::to_string(place.column));
  if (!place.function.empty()) text.append(" (in ").append(place.function).append(")");
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

/// One line per group of threads that are in the same state at the same place. Notes those that
/// wait or have ended.
std::string thread_groups(BlockRunner& runner, std::vector<FaultWait>& waits) {
  std::map<std::tuple<State, std::string, std::string>, std::vector<const EmulatedThread*>> groups;
  std::map<std::string, int> lines;
  for (const EmulatedThread& thread : runner.scheduler().threads()) {
    State state = thread.state;
    if (state == State::kReady) state = State::kRunning;
    const bool waits_now = state == State::kAtBarrier || state == State::kInWarp ||
                           state == State::kConverging || state == State::kAsleep;
    const Wait& last = runner.scheduler().wait_of(thread);
    const bool begun = waits_now || (state == State::kRunning && last.site.file != nullptr);
    std::string call = last.call;
    if (state == State::kInWarp) {
      std::array<char, 24> mask;
      std::snprintf(mask.data(), mask.size(), " (mask 0x%08x)",
                    runner.warps().awaited_lanes(thread));
      call += mask.data();
    }
    if (!begun) call.clear();
    const std::string where =
        begun && !call.empty() ? place_text(place_of(last.site)) : std::string();
    if (waits_now) lines[where] = static_cast<int>(last.site.line);
    groups[{state, call, where}].push_back(&thread);
  }
  std::string text;
  for (const auto& [key, threads] : groups) {
    const auto& [state, call, where] = key;
    text.append("\n    ").append(std::to_string(threads.size()));
    text += threads.size() == 1 ? " thread " : " threads ";
    const auto line = lines.find(where);
    if (state == State::kExited) waits.push_back({.threads = static_cast<int>(threads.size())});
    if (line != lines.end())
      waits.push_back({static_cast<int>(threads.size()), call, line->second});
    text += state == State::kFresh    ? "not begun"
            : state == State::kExited ? "ended"
            : state != State::kRunning && !where.empty()
                ? "waiting in " + call + " at " + where
                : (where.empty() ? "running" : "running, last seen in " + call + " at " + where);
    text.append(": ").append(thread_list(threads));
  }
  return text;
}

/// A kernel that waits for what comes after its launch waits for ever.
constexpr const char* kAdviceOnWaiting =
    " (does it wait for what the host or another kernel does later? Here a launch runs to its end "
    "before the next one begins; CONVLAB_EMU_STREAMS=lazy runs it when the host synchronises)";

std::string time_limit() {
  std::ostringstream text;
  text << "within " << std::round(settings().timeout_seconds * 10.0) / 10.0 << " s";
  return text.str();
}

/// Describes a fault that has no message of its own.
std::string headline(const Fault& fault) {
  if (fault.reason != nullptr)
    return fault.reason + std::string(fault.kind == FaultKind::kKernelTime ? kAdviceOnWaiting : "");
  if (fault.kind == FaultKind::kStack)
    return "stack overflow: the thread's calls and local arrays need more than " +
           std::to_string(FiberPool::stack_bytes() / 1024) + " KiB (endless recursion?)";
  if (fault.kind != FaultKind::kKernelTime) return "the kernel failed";
  return "time limit: the kernel did not end " + time_limit() + kAdviceOnWaiting;
}

/// The text of a report about a kernel or the host.
std::string text_of(const EmulationReport& report) {
  std::string text = report.what;
  if (!report.fault.kernel.empty()) text += "\n  in kernel " + report.fault.kernel;
  if (report.has_block) text += ", block " + coordinates(report.fault.block);
  if (report.fault.has_thread) text += ", thread " + coordinates(report.fault.thread);
  if (!report.at.file.empty()) text += "\n  at " + place_text(report.at);
  const bool launched = !report.launched_at.file.empty() || report.has_block;
  if (launched) text += "\n  launched at " + place_text(report.launched_at);
  if (!report.allocated_at.file.empty())
    text += "\n  allocated at " + place_text(report.allocated_at);
  return text;
}

std::string one_line(std::string text) {
  for (auto at = text.find('\n'); at != std::string::npos; at = text.find('\n', at))
    text.replace(at, 1, ";");
  return text;
}

/// "conv_forward.cu:52"; empty for none.
std::string name_and_line(const ReportPlace& place) {
  return place.file.empty() ? "" : name_of(place.file) + ":" + std::to_string(place.line);
}

/// The part of a report that the grader explains.
FaultRecord fault_record(const EmulationReport& report) {
  FaultRecord record = report.fault;
  if (record.text.empty()) record.text = one_line(report.what);
  record.file = name_of((report.at.file.empty() ? report.launched_at : report.at).file);
  record.line = static_cast<int>(report.at.line);
  record.launch_line = static_cast<int>(report.launched_at.line);
  record.allocated_at = name_and_line(report.allocated_at);
  if (report.memory) record.memory = fault_memory(*report.memory, record.kernel);
  return record;
}

std::mutex sink_mutex;
bool is_silent = false;

/// A program that ignores its errors may make the same report for ever.
void print_report(const std::string& text) {
  constexpr int kMost = 3;
  const int count = ++only<std::map<std::string, int>>()[text];
  if (count > kMost) return;
  std::fprintf(stderr, "emulated device: %s\n", text.c_str());
  if (count == kMost)
    std::fputs("emulated device: this report comes again and again; it is printed no more\n",
               stderr);
}

/// Whether the place belongs to the runtime, its headers or the standard library, not to the user.
bool is_common(const std::string& place) {
  return place.starts_with("/usr/") ||
         place.find("common/emulation/include/") != std::string::npos ||
         place.find("common/emulation/runtime/") != std::string::npos ||
         (place.find("common/emulation/extended/") != std::string::npos &&
          place.find("/tests/") == std::string::npos) ||
         place.find("common/device/") != std::string::npos ||
         place.find("common/stage/") != std::string::npos ||
         place.find("common/custom_submission/") != std::string::npos;
}

}  // namespace

std::array<unsigned, 3> array_of(const uint3& index) {
  return {index.x, index.y, index.z};
}

std::string coordinates(const std::array<unsigned, 3>& index) {
  std::array<char, 40> text;
  std::snprintf(text.data(), text.size(), "(%u,%u,%u)", index[0], index[1], index[2]);
  return text.data();
}

std::string name_of(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

FaultMemory fault_memory(const ReportMemory& memory, const std::string& kernel) {
  FaultMemory known = memory;
  if (memory.kernel != kernel) known.argument = 0;
  if (memory.allocation > 0)
    known.allocated_at = name_and_line(device_memory().made_at(memory.allocation));
  return known;
}

ReportPlace place_of(const CallSite& site) {
  if (site.file == nullptr) return {};
  return {.file = site.file, .line = site.line, .column = site.column};
}

std::string text_of(const ReportMemory& memory) {
  const bool before = memory.offset < 0;
  const bool beyond = memory.offset >= memory.bytes;
  const std::int64_t distance = before   ? -memory.offset
                                : beyond ? memory.offset - memory.bytes
                                         : memory.offset;
  const char* const relation = before   ? " before the start of "
                               : beyond ? " past the end of "
                                        : " into ";
  return std::to_string(distance) + (distance == 1 ? " byte" : " bytes") + relation + memory.name;
}

EmulationReport report_about(const KernelCall& call, FaultKind fault) {
  return {.fault = {.kind = fault,
                    .kernel = call.name,
                    .grid = array_of(call.grid),
                    .block_size = array_of(call.block)},
          .launched_at = place_of(call.site)};
}

EmulationReport describe_fault(BlockRunner& runner) {
  const Fault& fault = runner.fault();
  EmulationReport report = report_about(runner.call(), fault.kind);
  report.error = fault.error;
  report.what = fault.message;
  report.has_block = true;
  report.memory = fault.memory;
  report.fault.block = array_of(runner.block_index());
  report.fault.thread = array_of(fault.thread);
  report.fault.has_thread = fault.has_thread;
  report.fault.writes = fault.writes;
  if (fault.site.file != nullptr && !is_common(fault.site.file))
    report.at = place_of(fault.site);
  else if (fault.frame_count > 0)
    report.frames.assign(fault.frames.begin(), fault.frames.begin() + fault.frame_count);
  if (report.what.empty() && fault.kind == FaultKind::kDeviceMemory) {
    report.memory = runner.shared_memory().find(fault.address);
    if (!report.memory) report.memory = memory_of_variable(fault.address);
    report.what = "illegal memory access, " +
                  (report.memory ? text_of(*report.memory) : describe_address(fault.address));
    if (!report.memory && device_memory().contains(fault.address))
      report.memory = device_memory().nearest(fault.address);
    if (!report.memory && is_null(fault.address)) report.fault.kind = FaultKind::kKernelNull;
  } else if (report.what.empty()) {
    report.what = headline(fault);
  }
  if (auto overflow = runner.overflow(); overflow && fault.kind == FaultKind::kDeviceMemory) {
    overflow->fault.follows =
        std::string("the thread ") + (fault.writes ? "writes" : "reads") + " outside of its arrays";
    report.fault = overflow->fault;
    report.what = overflow->what;
    report.at = overflow->at;
  }
  if (fault.kind == FaultKind::kBarrier || fault.kind == FaultKind::kKernelTime)
    report.more = "\n  the threads of the block:" + thread_groups(runner, report.fault.waiting);
  return report;
}

void tell_blocks(EmulationReport& report, std::uint64_t begun, std::uint64_t blocks, bool is_slow) {
  const std::string count = std::to_string(begun) + " of " + std::to_string(blocks) + " blocks";
  if (!is_slow) {
    report.more += "\n  " + count + " of the grid had begun";
    return;
  }
  report.fault.kind = FaultKind::kSlowKernel;
  report.what = "the kernel is too slow: " + time_limit() + " only " + count + " had begun";
  report.more.clear();
}

ReportSink set_report_sink(ReportSink new_sink) {
  const std::lock_guard lock(sink_mutex);
  return std::exchange(only<ReportSink>(), std::move(new_sink));
}

void keep_faults_silent() {
  is_silent = true;
}

void send_report(EmulationReport report) {
  if (is_silent) return;
  if (report.at.file.empty() && !report.frames.empty())
    report.at = source_place(report.frames.data(), static_cast<int>(report.frames.size()));
  if (report.text.empty()) report.text = text_of(report) + report.more;
  const bool advice =
      report.fault.kind == FaultKind::kDevicePointer && !report.allocated_at.file.empty();
  if (advice)
    report.text +=
        "\n  Only kernels may use it (on a GPU the program ends here with a segmentation fault): "
        "copy the data with cudaMemcpy and use the copy.";
  if (!report.is_note) {
    auto before = exchange_noted_fault(fault_record(report));
    // On the host one thing follows from the other.
    if (before && before->kind == FaultKind::kOverflow && before->kernel.empty()) {
      before->follows = one_line(report.what);
      exchange_noted_fault(std::move(before));
    }
  }
  const std::lock_guard lock(sink_mutex);
  if (only<ReportSink>())
    only<ReportSink>()(report);
  else
    print_report(report.text);
}

void note_overflow(const ReportPlace& at, const std::string& what) {
  if (is_common(at.file)) return;
  EmulationReport report{.fault = {.kind = FaultKind::kOverflow}, .what = what, .at = at};
  if (in_kernel()) {
    BlockRunner& runner = *BlockRunner::current();
    report = report_about(runner.call(), FaultKind::kOverflow);
    report.what = what;
    report.at = at;
    report.fault.block = array_of(runner.block_index());
    report.fault.has_thread = true;
    runner.note_overflow(report);
  }
  // Thousands of threads do the same.
  static std::atomic<bool> is_known = false;
  if (is_known.exchange(true)) return;
  if (const auto before = exchange_noted_fault(fault_record(report))) exchange_noted_fault(before);
}

void note_refused_by_nvcc(const ReportPlace& at, const std::string& why) {
  // Never destroyed: static objects may launch kernels in their destructors.
  static auto& told = *new std::set<std::string>;
  static std::mutex mutex;
  {
    const std::lock_guard lock(mutex);
    if (!told.insert(at.file + std::to_string(at.line) + why).second) return;
  }
  send_report(
      {.is_note = true, .what = "note: nvcc 13 refuses this, emulation runs it: " + why, .at = at});
}

bool note_dynamic_array(const char* name, const std::type_info& type, const char* file,
                        std::uint32_t line) {
  static auto& first_types = *new std::map<std::string, const std::type_info*>;
  const auto [first, is_new] = first_types.emplace(std::string(file) + ":" + name, &type);
  if (!is_new && *first->second != type)
    note_refused_by_nvcc({.file = file, .line = line},
                         std::string("the dynamic shared array ") + name +
                             " has another type than before (give it a name of its own, or take "
                             "bytes and cast)");
  return true;
}

ReportPlace source_place(void* const* frames, int count) {
  if (is_copy() || is_silent) return {};  // a copy starts no other program
  std::error_code none;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", none).string();
  std::string object;
  std::vector<std::string> words;
  for (int i = 0; i < count; ++i) {
    Dl_info info;
    link_map* map = nullptr;
    if (dladdr1(frames[i], &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) continue;
    // A return address names the statement after the call; one byte back is the call itself.
    const auto address = reinterpret_cast<std::uintptr_t>(frames[i]) - (i == 0 ? 0 : 1);
    // The program has no name in the loader's list (and perhaps several in the file system).
    const std::string path = *map->l_name == '\0' ? program : map->l_name;
    if (object.empty()) object = path;
    if (path == object) {
      std::ostringstream word;
      word << "0x" << std::hex << address - map->l_addr;
      words.push_back(word.str());
    }
    // If the fault lies in a library (memcpy), the next frames are the program's.
    if (i == 0 && path != program) {
      object = program;
      words.clear();
    }
  }
  if (words.empty()) return {};
  words.insert(words.begin(), {"addr2line", "-f", "-C", "-i", "-e", object});
  std::istringstream lines(run_process({.words = words}).output);
  std::string function;
  std::string place;
  while (std::getline(lines, function) && std::getline(lines, place)) {
    if (place.starts_with("??") || place.ends_with(":?") || place.ends_with(":0") ||
        is_common(place))
      continue;
    const std::size_t colon = place.rfind(':', place.find(" ("));
    return {.file = place.substr(0, colon),
            .line = static_cast<std::uint32_t>(std::atoi(place.c_str() + colon + 1)),
            .function = function};
  }
  return {};
}

}  // namespace convlab::emulation
