#include "grader/checks/device_analysis.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "grader/checks/element_cases.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/checks/findings/course_findings.hpp"

namespace convlab::grader {

namespace {

constexpr std::int64_t kFloat = sizeof(float);

std::string of_all(std::int64_t count, const ConvShape& shape) {
  const std::int64_t all = shape.output_size();
  return (count == all ? "All " : std::to_string(count) + " of ") + std::to_string(all) +
         " elements";
}

std::string launch_of(const DeviceNotes& notes, const SourceText& sources) {
  if (notes.launches.empty()) return {};
  const DeviceLaunch& launch = notes.launches.back();
  return "\nLaunched with " + launch_text(launch.grid, launch.block) + ":" +
         sources.quote(launch.file, launch.line);
}

bool was_copied(const DeviceNotes& notes, const std::string& direction) {
  return std::any_of(notes.transfers.begin(), notes.transfers.end(),
                     [&](const DeviceTransfer& each) { return each.what == direction; });
}

// A size in elements where bytes are meant.
std::optional<Finding> find_elements_as_bytes(const WrongOutput& wrong, const DeviceNotes& notes,
                                              const SourceText& sources, const std::string& seen) {
  const ConvShape& s = wrong.shape;
  struct Array {
    const char* name;
    std::int64_t size;
    const char* direction;
  };
  const std::array arrays = {Array{"input", s.input_size(), "host to device"},
                             Array{"weights", s.weights_size(), "host to device"},
                             Array{"output", s.output_size(), "device to host"}};
  const auto is_whole = [&](std::int64_t bytes) {
    return std::any_of(arrays.begin(), arrays.end(),
                       [&](const Array& array) { return bytes == array.size * kFloat; });
  };
  for (const DeviceTransfer& transfer : notes.transfers) {
    for (const Array& array : arrays) {
      const bool fits = transfer.what == "allocation" || transfer.what == array.direction;
      if (!fits || transfer.bytes != array.size || is_whole(transfer.bytes)) continue;
      const bool copies = transfer.what != "allocation";
      Finding found = finding(
          "E-bytes", seen + " " + (copies ? "A copy, " + transfer.what + "," : "An allocation") +
                         " has " + std::to_string(transfer.bytes) + " bytes; the " + array.name +
                         " has " + std::to_string(array.size) + " elements of 4 bytes.");
      const auto lines =
          sources.lines_with({copies ? "cudaMemcpy" : "cudaMalloc"}, {"sizeof", "bytes"});
      if (!lines.empty()) found.seen += sources.quote(lines.front().file, lines.front().line);
      return found;
    }
  }
  return std::nullopt;
}

// Where each array is copied once: a copy that is shorter than its array.
std::optional<Finding> find_short_copy(const WrongOutput& wrong, const DeviceNotes& notes,
                                       const SourceText& sources, const std::string& seen) {
  const ConvShape& s = wrong.shape;
  std::vector<std::int64_t> in;
  std::vector<std::int64_t> out;
  for (const DeviceTransfer& each : notes.transfers) {
    if (each.what == "host to device") in.push_back(each.bytes);
    if (each.what == "device to host") out.push_back(each.bytes);
  }
  const auto told = [&](const std::string& array, std::int64_t bytes, std::int64_t elements) {
    Finding found =
        finding("E-copy", seen + " The copy of the " + array + " has " + std::to_string(bytes) +
                              " bytes; the array has " + std::to_string(elements * kFloat) + ".");
    for (const auto& place : sources.lines_with({"cudaMemcpy"})) {
      found.seen += sources.quote(place.file, place.line);
    }
    found.cause = "A part of the " + array + " is never copied.";
    found.next = "Copy the number of elements times sizeof(float).";
    return found;
  };
  if (in.size() == 2) {
    std::ranges::sort(in);
    const auto [weights, input] = std::pair(s.weights_size() * kFloat, s.input_size() * kFloat);
    const auto misses = [&](std::int64_t whole, std::int64_t rest) {
      return std::ranges::find(in, whole) != in.end() && in[0] + in[1] < whole + rest;
    };
    const std::string name = weights == input ? "input or of the weights" : "weights";
    if (misses(input, weights)) return told(name, in[0] + in[1] - input, s.weights_size());
    if (misses(weights, input)) return told("input", in[0] + in[1] - weights, s.input_size());
  }
  if (out.size() == 1 && out[0] < s.output_size() * kFloat) {
    return told("output", out[0], s.output_size());
  }
  return std::nullopt;
}

/// The same convolution once more.
struct Rerun {
  bool failed = false;
  std::vector<float> output{};
  DeviceNotes notes{};
  oracle::ErrorReport report{};
};

Rerun run_again(Submission& submission, const StageInfo& stage, const WrongOutput& wrong,
                std::vector<std::string> environment) {
  submission.set_environment(std::move(environment));
  const Call call = submission.run(stage.id);
  Rerun rerun{.failed = call.failure.has_value(), .notes = call.notes};
  if (rerun.failed) return rerun;
  rerun.output.assign(wrong.arrays.output, wrong.arrays.output + wrong.shape.output_size());
  rerun.report = oracle::compare(wrong.shape, wrong.arrays.input, wrong.arrays.weights,
                                 wrong.arrays.output, wrong.tolerance);
  return rerun;
}

// Whether two outputs are equal except for the rounding of sums in another order.
bool differ(const std::vector<float>& a, const std::vector<float>& b) {
  constexpr double kRounding = 1e-3;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool finite = std::isfinite(a[i]);
    if (finite != static_cast<bool>(std::isfinite(b[i]))) return true;
    if (!finite) continue;
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    const double size = std::abs(static_cast<double>(a[i])) + std::abs(static_cast<double>(b[i]));
    if (difference > kRounding * (1.0 + size)) return true;
  }
  return false;
}

// Names the barriers of a kernel as lines of its source, or says that there is none.
std::string barrier_lines(const DeviceNotes& notes, const SourceText& sources) {
  if (notes.launches.empty()) return {};
  const std::string& kernel = notes.launches.back().kernel;
  if (sources.lines_of_kernel(kernel, {"__shared__"}).empty()) return {};
  std::string lines;
  for (const auto& place :
       sources.lines_of_kernel(kernel, {"__syncthreads", "__syncwarp", "sync"})) {
    lines += sources.quote(place.file, place.line);
  }
  return lines.empty() ? "\nKernel " + kernel + " has no __syncthreads()."
                       : "\nThe barriers of kernel " + kernel + ":" + lines;
}

std::optional<Finding> find_early_return(const WrongOutput& wrong, const DeviceNotes& notes,
                                         const SourceText& sources, const std::string& where) {
  for (const DeviceLaunch& launch : notes.launches) {
    if (launch.early == 0) continue;
    std::string seen = "In " + where + ": " + std::to_string(launch.early) +
                       " threads of a block of kernel " + launch.kernel +
                       " had returned when the others reached this barrier:" +
                       sources.quote(launch.file, launch.barrier_line);
    std::string returns;
    for (const auto& place : sources.lines_of_kernel(launch.kernel, {"return"})) {
      if (place.line < launch.barrier_line) returns += sources.quote(place.file, place.line);
    }
    if (!returns.empty()) seen += "\nThey returned here:" + returns;
    Finding found =
        finding("E-barrier", seen + "\n" + of_all(wrong.report.wrong, wrong.shape) + " are wrong.");
    found.cause =
        "A thread without an output returns early, so its part of the tile is never loaded.";
    found.next =
        "Remove the return: every thread must load and wait. Put the condition around the store "
        "only.";
    return found;
  }
  return std::nullopt;
}

// The first line in which ceil gets the quotient of two whole numbers; empty if there is none.
std::string integer_ceil(const SourceText& sources) {
  for (const auto& place : sources.lines_with({"ceil"})) {
    const std::string text = sources.line(place.file, place.line);
    const auto has = [&](const char* part) { return text.find(part) != std::string::npos; };
    const bool real = has(".0") || has("1.") || has("float") || has("double");
    if (has("/") && !real) return sources.quote(place.file, place.line);
  }
  return {};
}

std::int64_t threads_of(const DeviceLaunch& launch) {
  std::int64_t threads = 1;
  for (const unsigned size : launch.grid) threads *= size;
  for (const unsigned size : launch.block) threads *= size;
  return threads;
}

bool has_too_few_threads(const DeviceNotes& notes, const ConvShape& shape) {
  return !notes.launches.empty() && threads_of(notes.launches.back()) < shape.output_size();
}

std::optional<Finding> find_poison(const WrongOutput& wrong, const Rerun& rerun,
                                   const SourceText& sources, const std::string& where) {
  if (!rerun.notes.poisoned) return std::nullopt;
  const PoisonedOutput& poisoned = *rerun.notes.poisoned;
  const ConvShape& shape = wrong.shape;
  const std::string prefix = "In " + where + ": ";
  const FaultMemory& memory = poisoned.memory;
  const std::string name = sources.parameter(poisoned.kernel, memory.argument).name;
  const std::string array =
      memory.variable.empty() ? array_of_size(shape, memory.bytes / kFloat, name) : "";
  // The first number of another array lies at the place of the first output.
  const bool of_output = array.empty() || array == "output";
  const std::int64_t computed = of_output && poisoned.computed == 0
                                    ? 0
                                    : poisoned.computed + (of_output ? 0 : poisoned.never_written);
  if (computed > 0) {
    std::string seen = prefix + of_all(computed, shape) +
                       " were computed from memory that was never written: " +
                       place_text(memory, poisoned.kernel, sources) + ".";
    if (array == "output") {
      const auto adding = sources.lines_with({"+=", name.empty() ? "output" : name});
      if (!adding.empty()) seen += sources.quote(adding.front().file, adding.front().line);
      return finding("E-uninitialised", seen);
    }
    Finding found = finding("E-unwritten-memory", seen + launch_of(rerun.notes, sources));
    if (memory.variable.empty() && memory.argument > 0) {
      const bool copied =
          std::any_of(rerun.notes.transfers.begin(), rerun.notes.transfers.end(),
                      [&](const DeviceTransfer& each) {
                        return each.what == "host to device" && each.bytes == memory.bytes;
                      });
      if (!array.empty() && !copied) {
        found.cause = "No copy from host to device has the size of the " + array + ", " +
                      std::to_string(memory.bytes) + " bytes.";
        found.next =
            "Add a cudaMemcpy(…, cudaMemcpyHostToDevice) for it to prolog, or check the one there.";
      } else {
        found.cause =
            "What should fill this memory, a copy or a kernel, skips a part of it, or did not run "
            "before.";
      }
    } else {
      found.cause =
          "The loop that loads shared memory does not reach this element, or no barrier lies "
          "between the load and this read.";
      const std::string barriers = barrier_lines(rerun.notes, sources);
      found.seen += barriers;
    }
    return found;
  }
  if (poisoned.never_written == 0) return std::nullopt;
  // If a kernel adds to an element, the element also keeps its own mark.
  for (const char* adds : {"+=", "atomicAdd"}) {
    for (const auto& place : sources.lines_with({name.empty() ? "output" : name, adds})) {
      const std::string text = sources.line(place.file, place.line);
      if (text.find("+=") < text.find(name + "[") && text.find("+=") != std::string::npos) continue;
      return finding("E-uninitialised", prefix + describe(shape, wrong.report) +
                                            sources.quote(place.file, place.line));
    }
  }
  const std::string rounding = integer_ceil(sources);
  if ((sources.has("ceil") && leaves_out_last_tile(wrong)) ||
      (!rounding.empty() && has_too_few_threads(rerun.notes, shape))) {
    return finding("E-rounded-down", prefix + describe(shape, wrong.report) + rounding +
                                         launch_of(rerun.notes, sources));
  }
  const bool all = poisoned.never_written == shape.output_size();
  std::string seen =
      prefix + of_all(poisoned.never_written, shape) + " were never written by any thread.";
  if (wrong.report.first) {
    const oracle::Mismatch& first = *wrong.report.first;
    seen += " The first wrong one: " + place_of(shape, first) + ".";
  }
  Finding found =
      finding(all ? "E-never-written" : "E-partly-written", seen + launch_of(rerun.notes, sources));
  if (!rerun.notes.launches.empty()) {
    const DeviceLaunch& launch = rerun.notes.launches.back();
    const std::int64_t threads = threads_of(launch);
    const std::int64_t planes = std::int64_t{shape.batch} * shape.out_channels;
    const std::int64_t blocks = std::int64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
    if (all) {
      found.cause = std::to_string(threads) +
                    " threads ran, and none of them stored anything in the output: the store is "
                    "missing, or its condition never holds.";
      found.next = "Look for the line of the kernel that writes an element of the output.";
    } else if (blocks < planes && threads >= shape.output_size()) {
      found.cause = "The grid has " + std::to_string(blocks) +
                    (blocks == 1 ? " block for " : " blocks for ") + std::to_string(shape.batch) +
                    " images of " + std::to_string(shape.out_channels) +
                    " maps. If a block works on one map of one image, these are too few.";
      found.next = "Give images and maps dimensions of the grid: grid.y = maps, grid.z = images.";
    } else if (const std::int64_t written = shape.output_size() - poisoned.never_written;
               threads < written) {
      found.cause = std::to_string(threads) + " threads have stored " + std::to_string(written) +
                    " of " + std::to_string(shape.output_size()) +
                    " outputs, so a thread stores several. Two threads store the same outputs, or "
                    "the grid is too small.";
      found.next =
          "Write down which outputs the first two threads store, then those of the first thread of "
          "the second block. No output may be missing.";
    } else if (threads < shape.output_size()) {
      found.cause = "The grid is too small: " + std::to_string(threads) + " threads for " +
                    std::to_string(shape.output_size()) + " outputs.";
      found.next =
          "Count blocks by rounding up, (n + 15) / 16, in each dimension of the grid that counts "
          "outputs.";
    } else {
      found.cause =
          "There are enough threads, " + std::to_string(threads) + " for " +
          std::to_string(shape.output_size()) +
          " outputs. The grid's dimensions, the guard, or the index of the store is wrong.";
      found.next =
          "Write down the index of output[…] for the first thread of the first two blocks, in each "
          "dimension of the grid. No two may be equal, and none may be missing.";
    }
  } else {
    found.cause = "No kernel was launched.";
  }
  return found;
}

}  // namespace

std::optional<Finding> explain_on_device(Submission& submission, const StageInfo& stage,
                                         const WrongOutput& wrong, const Call& call,
                                         const std::string& where) {
  if (submission.device().device != Device::kEmulated) return std::nullopt;
  const SourceText& sources = submission.sources();
  const ConvShape& shape = wrong.shape;
  const std::string seen = "In " + where + ": " + describe(shape, wrong.report);
  if (wrong.report.unwritten == shape.output_size() && !was_copied(call.notes, "device to host")) {
    return finding("E-not-copied-back", seen);
  }
  if (auto found = find_elements_as_bytes(wrong, call.notes, sources, seen)) return found;
  if (auto found = find_short_copy(wrong, call.notes, sources, seen)) return found;

  // Local variables without a value are filled with a mark when a file is compiled for emulation.
  constexpr float kMark = 1e37F;
  if (std::any_of(wrong.arrays.output, wrong.arrays.output + shape.output_size(),
                  [](float value) { return std::isfinite(value) && std::abs(value) > kMark; })) {
    Finding found = finding("E-uninitialised", seen);
    found.title = "a variable has no start value";
    found.cause = "A local variable is used before it has a value.";
    found.next =
        "Give it a value where it is declared: float sum = 0.0f; for a fragment, call "
        "wmma::fill_fragment(sums, 0.0f).";
    return found;
  }

  // One thread of the host, so that two runs in the same order are the same.
  const std::string alone = "CONVLAB_EMU_THREADS=1";
  const Rerun numbered =
      run_again(submission, stage, wrong, {alone, "CONVLAB_EMU_POISON=numbered"});
  const Rerun again = run_again(submission, stage, wrong, {alone});
  std::optional<Finding> found;
  if (!numbered.failed && !again.failed && differ(again.output, numbered.output)) {
    found = finding("E-uninitialised",
                    seen + " A second run with the same input gave another result: " +
                        std::to_string(numbered.report.wrong) + " elements are wrong.");
    found->title = "a variable has no start value";
    found->cause = "A local variable is used before it has a value.";
    found->next = "Give every variable its value where it is declared: float sum = 0.0f;";
    if (const auto loads = sources.lines_with({"load_matrix_sync"}); !loads.empty()) {
      found = finding("E-unwritten-memory", found->seen);
      for (const auto& place : loads) found->seen += sources.quote(place.file, place.line);
      found->cause =
          "A fragment is loaded from shared memory that was never written: its leading dimension "
          "is not the distance between two rows of the tile, or a part of the tile is not filled.";
      found->next =
          "Compare the last argument of each of these lines with the row length of its array, in "
          "elements. Then check the loop that fills the tile.";
    }
  }
  if (!found) found = find_early_return(wrong, call.notes, sources, where);
  if (!found) found = find_poison(wrong, numbered, sources, where);
  submission.set_environment({});
  return found;
}

std::optional<Finding> check_leaks(Submission& submission, const StageInfo& stage,
                                   const ConvShape& shape, std::uint64_t seed) {
  if (submission.device().device != Device::kEmulated) return std::nullopt;
  submission.restart();
  fill_random({.shape = shape, .exact = true}, seed,
              submission.prepare(shape, Placement::kAligned));
  constexpr int kRuns = 4;
  std::vector<std::int64_t> live;
  for (int i = 0; i < kRuns; ++i) {
    const Call call = submission.run(stage.id);
    if (call.failure) return std::nullopt;
    live.push_back(call.notes.live_bytes);
  }
  // Memory that is kept for the next call is allocated once.
  for (std::size_t i = 1; i < live.size(); ++i) {
    if (live[i] <= live[i - 1]) return std::nullopt;
  }
  const SourceText& sources = submission.sources();
  std::string seen = "In " + std::to_string(kRuns) + " runs of a convolution of " +
                     to_string(shape) + ": " + std::to_string(live[1] - live[0]) +
                     " bytes more stay allocated after each epilog.";
  for (const auto& place : sources.lines_with({"cudaMalloc"})) {
    seen += sources.quote(place.file, place.line);
  }
  if (!sources.has("cudaFree")) seen += "\nThere is no cudaFree.";
  return finding("E-leak", seen);
}

}  // namespace convlab::grader
