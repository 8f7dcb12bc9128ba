#include "grader/report/explain/walk.hpp"

#include <map>

#include "common/serve/fault_messages.hpp"
#include "common/timing/statistics.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/report/numbers.hpp"
#include "grader/report/profile/profile.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

namespace {

std::string quoted(const std::string& name) {
  return "`" + name + "`";
}

std::string count_of(std::int64_t number, const std::string& what) {
  return grouped(number) + " " + what + (number == 1 ? "" : "s");
}

// What to think of it.
std::string verdict(const AccessNote& note) {
  const double average = average_parts(note);
  if (note.space == "shared") {
    return note.conflicts == 0 ? "No bank conflict." : "Lanes use one bank, at different words.";
  }
  if (note.most == 1) return "All lanes share it.";
  if (note.space == "constant") return "They are read one after the other.";
  constexpr double kStillGood = 1.6;  // a row may begin inside a sector
  if (average <= kStillGood * needed_sectors(note)) return "Coalesced.";
  const double lanes = static_cast<double>(note.lanes) / static_cast<double>(note.requests);
  return average >= 0.9 * lanes ? "Not coalesced: nearly every lane needs a sector of its own."
                                : "Coalesced in part.";
}

std::string lines_text(const KernelCounts& kernel, const SourceText& sources) {
  std::string text;
  const AccessNote* last = nullptr;
  for (const AccessNote& note : kernel.accesses) {
    if (last == nullptr || last->line != note.line || last->file != note.file) {
      text += sources.quoted_line(note.file, note.line);
    }
    text +=
        paragraph("      ", cost_text({.note = note, .array = quoted(array_name(note, sources))}) +
                                ". " + verdict(note));
    last = &note;
  }
  return text;
}

std::string need_text(const BarrierNote& note, const SourceText& sources) {
  const std::string before = std::to_string(note.before);
  const std::string behind = std::to_string(note.behind);
  return "Line " + before + (note.before_writes ? " writes " : " reads ") +
         quoted(array_name(note, sources)) + ", and after the barrier line " + behind +
         " of another thread " +
         (!note.behind_writes  ? "reads it"
          : note.before_writes ? "writes the same element"
                               : "overwrites it") +
         " (" + count_of(note.elements, "time") + ").";
}

// A block may take its strips in a loop, and with one image have only one.
std::string needless_text(const KernelCounts& kernel, const BarrierNote& barrier) {
  const std::string no_use = "o thread uses after it what another thread used just before it";
  if (barrier.times > kernel.launched_blocks) {
    return "N" + no_use + ", so this convolution does not need it.";
  }
  return "Each block meets it once in this run, and n" + no_use +
         ". If it stands in a loop that goes on with more images, it may be needed there.";
}

std::string barriers_text(const KernelCounts& kernel, const SourceText& sources) {
  std::string text;
  for (const BarrierNote& barrier : kernel.barriers) {
    if (barrier.times == 0) continue;
    text += sources.quoted_line(barrier.file, barrier.line);
    std::string needs;
    for (const BarrierNote& note : kernel.barriers) {
      if (note.before == 0 || note.line != barrier.line || note.file != barrier.file) continue;
      needs += paragraph("      ", need_text(note, sources));
    }
    text += needs.empty() ? paragraph("      ", needless_text(kernel, barrier)) : needs;
  }
  return text;
}

std::string thread_text(const KernelCounts& kernel, const SourceText& sources) {
  std::map<std::string, std::int64_t> loads;
  for (const AccessNote& note : kernel.accesses) {
    if (!note.writes) loads[array_name(note, sources)] += note.most_by_one;
  }
  std::string list;
  for (const auto& [name, count] : loads) {
    if (count == 0) continue;  // no thread was followed there
    list += (list.empty() ? "" : ", ") + grouped(count) + " of " + quoted(name);
  }
  std::string text;
  if (kernel.storing > 0) {
    text = grouped(kernel.storing) + " of " + grouped(kernel.threads) + " threads store " +
           (kernel.outputs_of_one == 1 ? "one output"
                                       : "up to " + count_of(kernel.outputs_of_one, "output")) +
           (kernel.storing < kernel.threads
                ? "; " + grouped(kernel.threads - kernel.storing) + " have none. "
                : ". ");
  }
  if (!list.empty()) text += "The busiest thread loads " + list + ".";
  return text;
}

}  // namespace

std::string walk_text(const StageCounts& facts, const SourceText& sources) {
  std::string text =
      paragraph("", "Counted on the emulated device, in a convolution of one image: " +
                        to_string(facts.shape) + ".");
  for (const KernelCounts& kernel : kernels_of(facts, sources)) {
    text += "\n" + coloured("kernel " + kernel.launch.kernel, Colour::kStrong) + "\n";
    text += sources.quoted_line(kernel.launch.file, kernel.launch.line);
    text += paragraph("  launch   ", launch_text(kernel.launch.grid, kernel.launch.block) + ": " +
                                         count_of(kernel.blocks, "block") + ", " +
                                         count_of(kernel.threads, "thread") + ".");
    if (const std::string own = thread_text(kernel, sources); !own.empty()) {
      text += paragraph("  threads  ", own);
    }
    if (!kernel.accesses.empty()) text += "  memory\n" + lines_text(kernel, sources);
    const std::string barriers = barriers_text(kernel, sources);
    if (!barriers.empty()) text += "  barriers\n" + barriers;
  }
  return text;
}

std::string walk_text(const CheckResult& check, const std::string& stage,
                      const std::vector<ConvShape>& layers) {
  std::string text =
      paragraph("", "A stage on the CPU has no kernel. The times are those of its last check.");
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const ConvShape& layer = layers[i];
    text += "\n" + coloured("convolution " + std::to_string(i + 1), Colour::kStrong) + "  " +
            to_string(layer) + "\n";
    text += paragraph("  work     ", grouped(layer.output_size()) + " outputs of " +
                                         count_of(layer.taps(), "multiply-add") + " each: " +
                                         grouped(layer.multiply_adds()) + " for an image.");
    for (const RunResult& run : check.result.runs) {
      if (run.stage.id != stage || i >= run.layers.size() || run.layers[i].op_ms.empty()) continue;
      const double ms = spread_of(run.layers[i].op_ms).median;
      const double per_second = static_cast<double>(layer.multiply_adds()) * run.batch / ms * 1e3;
      text += paragraph("  speed    ",
                        "batch " + std::to_string(run.batch) + ": " + three_digits(ms) + " ms, " +
                            three_digits(per_second * 1e-9) + " billion multiply-adds per second.");
    }
    const double bytes =
        static_cast<double>(layer.input_size() + layer.output_size()) * sizeof(float);
    text += paragraph("  memory   ",
                      short_number(bytes / 1e3) + " kB of input and output for an image: " +
                          short_number(2.0 * static_cast<double>(layer.multiply_adds()) / bytes) +
                          " operations for each byte.");
  }
  return text;
}

}  // namespace convlab::grader
