#include "grader/checks/device_analysis.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <utility>

#include "common/base/text.hpp"

namespace convlab::grader {

namespace {

constexpr std::int64_t kFloat = sizeof(float);

// With its verb, such as " was" of one and " were" of several.
std::string of_all(std::int64_t count, const ConvShape& shape, const char* one, const char* many) {
  const std::int64_t all = shape.output_size();
  const std::string most = count == all ? "All " : std::to_string(count) + " of ";
  return (all == 1 ? "The only element" : most + count_of(all, "element")) +
         (count == 1 ? one : many);
}

Seen launch_of(const DeviceNotes& notes, const SourceText& sources) {
  if (notes.launches.empty()) return {};
  const DeviceLaunch& launch = notes.launches.back();
  const Seen line = lines_of_launch(sources, launch.file, launch.line);
  return "\nLaunched with " + launch_text(launch.grid, launch.block) + (line.empty() ? "." : ":") +
         line;
}

// If the copies of the inputs to the device, or of the output back, bring less than these arrays
// hold: which array misses numbers.
// @param known  the name of that array; empty: unknown
std::optional<Finding> find_short_copy(const ConvShape& shape, bool is_back,
                                       const std::string& known, const DeviceNotes& notes,
                                       const SourceText& sources, const Seen& seen) {
  struct CopiedArray {
    std::string name;
    std::int64_t elements;
  };
  const std::string direction = is_back ? "device to host" : "host to device";
  std::vector<CopiedArray> arrays = {{"output", shape.output_size()}};
  if (!is_back) arrays = {{"input", shape.input_size()}, {"weights", shape.weights_size()}};
  if (notes.transfers.size() == DeviceNotes::kMost) return std::nullopt;  // there were more
  std::vector<std::int64_t> copies;
  for (const DeviceTransfer& each : notes.transfers) {
    if (each.what == direction) copies.push_back(each.bytes);
  }
  std::string sizes;
  std::int64_t missing = 0;
  std::vector<std::int64_t> rest = copies;
  const CopiedArray* shorter = nullptr;
  for (const CopiedArray& array : arrays) {
    const std::int64_t bytes = array.elements * kFloat;
    missing += bytes;
    sizes += (sizes.empty() ? " The " : ", the ") + array.name +
             (array.name == "weights" ? " have " : " has ") + count_of(bytes, "byte");
    const auto whole = std::ranges::find(rest, bytes);
    if (array.name == known || (known.empty() && whole == rest.end())) shorter = &array;
    if (whole != rest.end()) rest.erase(whole);
  }
  std::string brought;
  for (const std::int64_t bytes : copies) {
    brought += (brought.empty() ? "" : " and ") + std::to_string(bytes);
    missing -= bytes;
  }
  if (missing <= 0 || shorter == nullptr) return std::nullopt;
  const bool in_elements = std::ranges::find(rest, shorter->elements) != rest.end();
  const bool is_left_out = copies.size() < arrays.size();
  const bool either = known.empty() && arrays.front().elements == arrays.back().elements;
  const std::string name = either && arrays.size() > 1 ? "input or of the weights" : shorter->name;
  Finding found = finding(
      in_elements   ? "E-bytes/copy"
      : is_left_out ? "E-unwritten-memory/no-copy"
                    : "E-copy/part",
      seen + sizes, {direction, copies.empty() ? "nothing" : count_of(brought, "byte"), name});
  for (const char* call : {"cudaMemcpy", "cudaMemcpyAsync", "cudaMemcpy2D"}) {
    found.seen += sources.quotes({call});
  }
  return found;
}

/// The same convolution once more.
struct Rerun {
  Call call{};
  std::vector<float> output{};
  oracle::ErrorReport report{};
};

// @param memory  how new memory is marked
Rerun run_again(Submission& submission, const StageInfo& stage, const WrongOutput& wrong,
                const std::string& memory) {
  // One thread of the host, so that two runs in the same order are the same.
  submission.set_environment({"CONVLAB_EMU_THREADS=1", "CONVLAB_EMU_POISON=" + memory});
  Rerun rerun{.call = submission.run(stage.id)};
  submission.set_environment({});
  if (rerun.call.failure) return rerun;
  rerun.output.assign(wrong.arrays.output, wrong.arrays.output + wrong.shape.output_size());
  rerun.report = oracle::compare(wrong.shape, wrong.arrays.input, wrong.arrays.weights,
                                 wrong.arrays.output, wrong.tolerance);
  return rerun;
}

// Threads that had returned when others of their block reached a barrier; empty if there are none.
Seen early_returns(const DeviceNotes& notes, const SourceText& sources) {
  for (const DeviceLaunch& launch : notes.launches) {
    if (launch.early == 0) continue;
    Seen seen = count_of(launch.early, "thread") + " of a block of kernel " + launch.kernel +
                " had returned when the others reached this barrier:" +
                sources.quote(launch.file, launch.barrier_line);
    Seen returns;
    for (const auto& place : sources.lines_of_kernel(launch.kernel, {"return"})) {
      if (place.line < launch.barrier_line) returns += sources.quote(place.file, place.line);
    }
    return seen + (returns.empty() ? Seen() : "\nThey returned here:" + returns);
  }
  return {};
}

// What is never written in a __constant__ array, and the copies to such arrays.
Finding unwritten_constant(const std::string& name, const SourceText& sources, Seen seen) {
  seen += sources.quotes({"__constant__", name});
  const Seen copies =
      sources.quotes({"cudaMemcpyToSymbol"}) + sources.quotes({"cudaMemcpyToSymbolAsync"});
  if (copies.empty())
    return finding("E-unwritten-memory/no-copy-to-symbol",
                   seen + "\nThere is no cudaMemcpyToSymbol.");
  return finding("E-unwritten-memory/constant",
                 seen + "\nThese lines copy to constant memory:" + copies);
}

// With numbered memory only such a lane's value is a NaN of ones.
std::optional<Finding> find_absent_lane(const Rerun& numbered, const SourceText& sources,
                                        const Seen& seen) {
  if (std::ranges::none_of(numbered.output, [](float each) {
        return std::bit_cast<std::uint32_t>(each) == 0xffff'ffff;
      })) {
    return std::nullopt;
  }
  for (const DeviceLaunch& launch : numbered.call.notes.launches) {
    if (launch.absent_line == 0) continue;
    Finding found = finding("E-warp/absent-lane", seen);
    found.seen += sources.quote(launch.file, launch.absent_line);
    return found;
  }
  return std::nullopt;
}

// Of all noted launches of the last kernel.
std::int64_t threads_of(const DeviceNotes& notes) {
  std::int64_t all = 0;
  for (const DeviceLaunch& launch : notes.launches) {
    if (launch.kernel != notes.launches.back().kernel) continue;
    std::int64_t threads = 1;
    for (const unsigned size : launch.grid) threads *= size;
    for (const unsigned size : launch.block) threads *= size;
    all += threads;
  }
  return all;
}

// What the marks of new memory in the output say: which memory nobody has written.
std::optional<Finding> find_unwritten(const WrongOutput& wrong, const Rerun& numbered,
                                      bool right_with_zeros, const SourceText& sources,
                                      const Seen& early, const std::string& where) {
  if (!numbered.call.notes.poisoned) return std::nullopt;
  const PoisonedOutput& poisoned = *numbered.call.notes.poisoned;
  const ConvShape& shape = wrong.shape;
  const FaultMemory& memory = poisoned.memory;
  const std::string name = sources.parameter(poisoned.kernel, memory.argument).name;
  const std::string array =
      memory.variable.empty() ? array_of_size(shape, memory.bytes / kFloat, name) : "";
  // Numbers of another array may lie at the places of the outputs. Part of an output has no size.
  const bool of_output = array == "output" || (name.empty() && poisoned.computed == 0) ||
                         (array.empty() && name.find("out") != std::string::npos);
  const std::int64_t marked = poisoned.computed + poisoned.never_written;
  const auto of_marked = [&](const char* one, const char* many) {
    return "In " + where + ": " + of_all(marked, shape, one, many);
  };
  const std::string computed = " computed from memory that was never written: " +
                               place_text(memory, poisoned.kernel, sources) + ".";
  if (memory.variable.empty() && of_output && (right_with_zeros || poisoned.computed > 0)) {
    Finding found = finding("E-uninitialised", of_marked(" was", " were") + computed);
    if (right_with_zeros)
      found.seen += "\nMeasured in this case: all are right if new memory holds zeros.";
    return found;
  }
  if (poisoned.computed > 0 || !of_output) {
    // The output may lie there, too.
    const bool is_shared = memory.variable.empty() && name.empty() && array.empty();
    Seen seen =
        is_shared ? of_marked(" holds or was", " hold or were") : of_marked(" was", " were");
    seen += computed;
    if (!sources.lines_with({"__constant__", memory.variable}).empty()) {
      const std::int64_t weights = shape.weights_size();
      if (memory.offset >= weights * kFloat) {
        return finding("E-unwritten-memory/beyond-weights",
                       seen + sources.quotes({memory.variable, "["}), {std::to_string(weights)});
      }
      return unwritten_constant(memory.variable, sources, seen);
    }
    const bool is_input = array == "input" || array == "weights";
    if (auto copy = is_input
                        ? find_short_copy(shape, false, array, numbered.call.notes, sources, seen)
                        : std::nullopt) {
      return copy;
    }
    if (is_input) seen += sources.quotes({"cudaMemcpy", "cudaMemcpyHostToDevice"});
    seen += launch_of(numbered.call.notes, sources);
    if (right_with_zeros)
      seen += "\nMeasured in this case: all are right if this memory holds zeros.";
    return finding(
        memory.variable.empty() ? "E-unwritten-memory/memory" : "E-unwritten-memory/shared", seen);
  }
  Seen seen = of_marked(" was", " were");
  seen +=
      " never written by any thread. The first wrong one: " + place_of(shape, *wrong.report.first) +
      "." + launch_of(numbered.call.notes, sources);
  if (numbered.call.notes.launches.empty()) return finding("E-never-written/no-launch", seen);
  const bool all = marked == shape.output_size();
  const std::int64_t threads = threads_of(numbered.call.notes);
  const bool is_cut = numbered.call.notes.launches.size() == DeviceNotes::kMost;  // there were more
  const std::string text = (is_cut ? "At least " : "") + std::to_string(threads);
  if (!all && !early.empty()) seen += "\n" + early;
  const bool are_few = threads < shape.output_size() && !is_cut;
  return finding(all       ? "E-never-written/no-store"
                 : are_few ? "E-partly-written/few-threads"
                           : "E-partly-written/by-no-thread",
                 seen, {text, std::to_string(shape.output_size())});
}

}  // namespace

std::optional<Finding> explain_on_device(Submission& submission, const StageInfo& stage,
                                         const WrongOutput& wrong, const Call& call,
                                         const std::string& where) {
  if (submission.device().device != Device::kEmulated) return std::nullopt;
  const SourceText& sources = submission.sources();
  const ConvShape& shape = wrong.shape;
  const std::string seen = "In " + where + ": " + describe(shape, wrong.report);
  if (wrong.report.unwritten == shape.output_size() &&
      std::ranges::count(call.notes.transfers, "device to host", &DeviceTransfer::what) == 0) {
    return finding(call.notes.launches.empty() ? "E-never-written/no-launch" : "E-not-copied-back",
                   seen);
  }
  if (wrong.report.not_finite > 0) {
    if (auto found = find_short_copy(shape, true, "", call.notes, sources, seen)) {
      return found;
    }
  }

  const Rerun plain = run_again(submission, stage, wrong, "plain");
  const Rerun numbered = run_again(submission, stage, wrong, "numbered");
  const Rerun zeros = run_again(submission, stage, wrong, "zeros");
  const bool right_with_zeros = !zeros.call.failure && zeros.report.passed(shape) &&
                                !plain.call.failure && !plain.report.passed(shape);
  // A thread that returns early does harm only where its part of shared memory is missing.
  const auto& marks = numbered.call.notes.poisoned;
  const Seen early = early_returns(call.notes, sources);
  if (marks && !marks->memory.variable.empty() && !early.empty()) {
    return finding("E-barrier/early-return", "In " + where + ": " + early,
                   {of_all(wrong.report.wrong, shape, " is", " are")});
  }
  if (auto found = find_absent_lane(numbered, sources, seen)) return found;
  if (auto found = find_unwritten(wrong, numbered, right_with_zeros, sources, early, where))
    return found;
  // A number that is copied in part has no mark, and only constants begin as numbers without one.
  if (!numbered.call.failure && numbered.report.not_finite > 0 && !plain.call.failure &&
      plain.report.not_finite == 0) {
    return unwritten_constant("__constant__", sources,
                              seen + "\n" +
                                  of_all(numbered.report.not_finite, shape, " was", " were") +
                                  " computed from constant memory to which nothing was "
                                  "copied, or only a part of a number.");
  }
  if (wrong.report.not_finite > 0) {
    if (auto found = find_short_copy(shape, false, "", call.notes, sources, seen)) {
      return found;
    }
  }
  // Local variables without a value are filled with a mark when a file is compiled for emulation.
  constexpr float kMark = 1e37F;
  if (std::ranges::any_of(plain.output, [](float value) {
        return std::isfinite(value) && std::abs(value) > kMark;
      })) {
    return finding("E-uninitialised/variable", seen);
  }
  // A number of 16 bits has no mark.
  const bool finite_with_zeros = plain.report.not_finite > 0 && !plain.call.failure &&
                                 zeros.report.not_finite == 0 && !zeros.call.failure;
  if (!right_with_zeros && !finite_with_zeros) return std::nullopt;
  return finding(
      "E-unwritten-memory/array",
      seen + "\nMeasured: " + (right_with_zeros ? "all are right" : "none is NaN or infinity") +
          " if new memory holds zeros." + sources.quotes({"load_matrix_sync"}));
}

std::optional<Finding> find_early_end(const Call& call, const SourceText& sources) {
  const Seen early = early_returns(call.notes, sources);
  return early.empty() ? std::nullopt : std::optional(finding("E-barrier/numbers-right", early));
}

namespace {

// The lines that make something which no line frees; all, if each has its counterpart.
Seen made_and_freed(const std::vector<std::pair<const char*, const char*>>& calls,
                    const SourceText& sources) {
  Seen all;
  Seen kept;
  for (const auto& [makes, frees] : calls) {
    const Seen lines = sources.quotes({makes});
    all += lines;
    const bool is_kept = !lines.empty() && !sources.has(frees);
    if (is_kept) kept += lines + "\nThere is no " + frees + ".";
  }
  return kept.empty() ? all : kept;
}

}  // namespace

std::optional<Finding> check_leaks(Submission& submission, const StageInfo& stage,
                                   const ConvShape& shape, std::uint64_t seed) {
  if (submission.device().device != Device::kEmulated) return std::nullopt;
  submission.restart();
  fill_random({.shape = shape, .exact = true}, seed,
              submission.prepare(shape, Placement::kAligned));
  constexpr int kRuns = 4;
  std::vector<DeviceNotes> notes;
  for (int i = 0; i < kRuns; ++i) {
    const Call call = submission.run(stage.id);
    if (call.failure) return std::nullopt;
    notes.push_back(call.notes);
  }
  struct Kind {
    const char* name;
    std::int64_t (*live)(const DeviceNotes&);
    std::vector<std::pair<const char*, const char*>> calls;
  };
  static const std::vector<Kind> kinds = {
      {"E-leak/bytes",
       [](const auto& each) { return each.live_bytes; },
       {{"cudaMalloc", "cudaFree"}}},
      {"E-leak/objects",
       [](const auto& each) { return std::int64_t{each.live_objects}; },
       {{"cudaStreamCreate", "cudaStreamDestroy"},
        {"cudaStreamCreateWithFlags", "cudaStreamDestroy"},
        {"cudaStreamEndCapture", "cudaGraphDestroy"},
        {"cudaGraphInstantiate", "cudaGraphExecDestroy"}}}};
  for (const auto& [name, live, calls] : kinds) {
    // What is kept for the next call is made once.
    const auto same = std::ranges::adjacent_find(notes, std::greater_equal{}, live);
    if (same != notes.end()) continue;
    Finding found = finding(
        name, "",
        {std::to_string(kRuns), to_string(shape), std::to_string(live(notes[1]) - live(notes[0]))});
    found.seen += made_and_freed(calls, submission.sources());
    return found;
  }
  return std::nullopt;
}

}  // namespace convlab::grader
