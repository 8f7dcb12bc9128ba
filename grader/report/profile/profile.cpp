#include "grader/report/profile/profile.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <sstream>

#include "common/base/text.hpp"
#include "common/serve/fault_messages.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/measure/counters.hpp"
#include "grader/report/table.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

namespace {

const std::vector<std::string>& spaces() {
  static const std::vector<std::string> all = {"global", "shared", "constant"};
  return all;
}

// Parts that the same lanes would need side by side, without a conflict.
double needed_parts(const AccessNote& note) {
  const auto requests = static_cast<double>(note.requests);
  if (note.space == "global") return std::min(needed_sectors(note), average_parts(note));
  if (note.space == "constant") return 1.0;
  return static_cast<double>(note.parts - note.conflicts) / requests;
}

std::string barriers_text(const KernelCounts& kernel) {
  std::int64_t times = 0;
  for (const BarrierNote& note : kernel.barriers) times += note.before == 0 ? note.times : 0;
  if (times == 0) return "No block waits in a barrier.";
  return "The blocks wait " + grouped(times) + (times == 1 ? " time" : " times") +
         " in barriers, " +
         short_number(static_cast<double>(times) / static_cast<double>(kernel.launched_blocks)) +
         " for each block.";
}

std::string products_name(const std::string& kind) {
  return kind == "tensor" ? "on tensor cores" : "of " + kind + (kind == "half2" ? "" : "s");
}

std::string products_text(const KernelCounts& kernel) {
  std::map<std::string, std::int64_t> kinds;
  for (const ProductNote& note : kernel.products) kinds[note.kind] += note.multiply_adds;
  std::string text;
  for (const auto& [kind, made] : kinds) {
    text += grouped(made) + " multiply-adds " + products_name(kind) + ". ";
  }
  return text;
}

std::string registers_text(const KernelCounts& kernel) {
  if (kernel.registers == 0) return "Without a limit by registers";
  return "A thread takes at most " + std::to_string(kernel.registers) +
         " registers, as nvcc says for compute capability 9.0. So";
}

constexpr double kMilliseconds = 1e3;

std::string two_digits(double number) {
  if (number <= 0.0) return "0";
  const double unit = std::pow(10.0, std::floor(std::log10(number)) - 1.0);
  std::ostringstream text;
  text << std::round(number / unit) * unit;
  return text.str();
}

}  // namespace

std::string counted_where(const StageCounts& counts, const std::string& network, int layer) {
  return "Counted on the emulated device, " +
         (layer == 0 ? "" : "in convolution " + std::to_string(layer) + " of " + network + " ") +
         "with one image: " + to_string(counts.shape) + ".";
}

std::string access_name(const AccessNote& note) {
  return note.atomic ? "atomic" : note.writes ? "store" : "load";
}

std::string parts_name(const std::string& space) {
  return space == "global" ? "sectors" : space == "shared" ? "passes" : "words";
}

std::vector<LineCost> line_costs(const KernelCounts& kernel, const std::string& space,
                                 const SourceText& sources) {
  std::vector<LineCost> costs;
  double all = 0.0;
  for (const AccessNote& note : kernel.accesses) {
    if (note.space != space || note.requests == 0) continue;
    costs.push_back({.note = note, .array = array_name(note, sources)});
    all += static_cast<double>(note.parts);
  }
  for (LineCost& cost : costs) cost.share = static_cast<double>(cost.note.parts) / all;
  std::ranges::stable_sort(costs, std::ranges::greater(), &LineCost::share);
  return costs;
}

Table line_table(const std::vector<LineCost>& costs) {
  if (costs.empty()) return {};
  const std::string parts = parts_name(costs.front().note.space);
  Table table{
      .heading = {"line", "array", "access", "requests", "lanes", parts, "needed", "share"}};
  for (const LineCost& cost : costs) {
    const AccessNote& note = cost.note;
    table.rows.push_back(
        {note.line == 0 ? "?" : std::to_string(note.line), cost.array, access_name(note),
         grouped(note.requests),
         short_number(static_cast<double>(note.lanes) / static_cast<double>(note.requests)),
         short_number(average_parts(note)), short_number(needed_parts(note)), percent(cost.share)});
  }
  return table;
}

std::string cost_text(const LineCost& cost) {
  const AccessNote& note = cost.note;
  std::string parts = parts_name(note.space);
  if (note.parts == note.requests) parts.resize(parts == "passes" ? 4 : parts.size() - 1);
  std::string text = access_name(note) + " of " + cost.array + ": " + grouped(note.requests) +
                     (note.requests == 1 ? " request, " : " requests, ") +
                     short_number(average_parts(note)) + " " + parts + " each";
  const double needed = needed_parts(note);
  if (average_parts(note) > needed + 0.05)
    text +=
        " (" + short_number(needed) + (short_number(needed) == "1" ? " suffices)" : " suffice)");
  if (note.atomic && note.conflicts > 0) {
    text += ", " +
            short_number(static_cast<double>(note.conflicts) / static_cast<double>(note.requests)) +
            " lanes wait for the same address";
  }
  return text;
}

static Table occupancy_table(const KernelCounts& kernel) {
  Table table{.heading = {"GPU", "blocks", "of its threads", "limited by"}};
  const auto& [x, y, z] = kernel.launch.block;
  const int warps = static_cast<int>(std::max(1U, (x * y * z + 31) / 32));
  for (const Gpu& gpu : published_gpus()) {
    const auto [blocks, limited_by, share] =
        resident_blocks(gpu.multiprocessor, warps, shared_bytes_of(kernel), kernel.registers);
    table.rows.push_back({gpu.name + " (" + gpu.capability + ")", std::to_string(blocks),
                          percent(share), limited_by});
  }
  return table;
}

Page profile_page(const StageCounts& counts, const SourceText& sources, const std::string& title,
                  const std::string& where) {
  Page page{.title = "Profile of " + title, .subtitle = where};
  page.sections.push_back({"All kernels together", {counter_table(counts)}});
  std::map<std::string, std::map<int, SourceListing::Line>> notes;  // by file and line
  for (const KernelCounts& kernel : kernels_of(counts, sources)) {
    PageSection section{.title = "Kernel " + kernel.launch.kernel};
    section.blocks.emplace_back(
        Paragraph{"Launched as " + launch_text(kernel.launch.grid, kernel.launch.block) + "."});
    for (const std::string& space : spaces()) {
      const auto costs = line_costs(kernel, space, sources);
      if (costs.empty()) continue;
      section.blocks.emplace_back(Paragraph{"Requests of warps to " + space + " memory, and the " +
                                            parts_name(space) + " that each takes:"});
      section.blocks.emplace_back(line_table(costs));
      const AccessNote& most = costs.front().note;
      section.blocks.emplace_back(Paragraph{trimmed(sources.quoted_line(most.file, most.line))});
      for (const LineCost& cost : costs) {
        SourceListing::Line& line = notes[cost.note.file][cost.note.line];
        line.note += (line.note.empty() ? "" : "; ") + cost_text(cost);
        line.weight = std::max(line.weight, cost.share);
      }
    }
    section.blocks.emplace_back(Paragraph{
        products_text(kernel) + barriers_text(kernel) + " A block has " +
        grouped(kernel.threads / std::max<std::int64_t>(1, kernel.blocks)) + " threads and uses " +
        grouped(shared_bytes_of(kernel)) + " bytes of shared memory. " + registers_text(kernel) +
        " a multiprocessor holds:"});
    section.blocks.emplace_back(occupancy_table(kernel));
    page.sections.push_back(std::move(section));
  }
  for (const ProductNote& product : counts.counted.products) {
    SourceListing::Line& line = notes[product.file][product.line];
    line.note += (line.note.empty() ? "" : "; ") + grouped(product.multiply_adds) +
                 " multiply-adds " + products_name(product.kind);
  }
  PageSection source{.title = "Source"};
  for (auto& [file, lines] : notes) {
    SourceListing listing{.file = file};
    for (const std::string& text : sources.lines(file)) {
      const auto number = static_cast<int>(listing.lines.size()) + 1;
      SourceListing::Line line = lines.contains(number) ? lines[number] : SourceListing::Line{};
      line.text = text;
      listing.lines.push_back(std::move(line));
    }
    if (!listing.lines.empty()) source.blocks.emplace_back(std::move(listing));
  }
  page.sections.push_back(std::move(source));
  return page;
}

PageSection estimate_section(const std::vector<Estimate>& estimates, const EstimateModel& model,
                             int batch) {
  Table table{.heading = {"GPU", "op time, ms", "limited by", "it alone"}};
  for (const Estimate& each : estimates) {
    table.rows.push_back(
        {each.gpu + (each.is_tested ? "" : " *"),
         two_digits(each.low * kMilliseconds) + " to " + two_digits(each.high * kMilliseconds),
         limited_by(each),
         std::to_string(std::lround(100.0 * each.limits[0].seconds / each.seconds)) + " %"});
  }
  const bool all_tested = std::ranges::all_of(estimates, &Estimate::is_tested);
  const std::string note =
      model.error +
      (all_tested ? ""
                  : " On a GPU with a star nothing was ever measured: there the error is "
                    "unknown.") +
      " \"It alone\" is the share of the estimate that the limit would take by itself: the "
      "nearer to 100 %, the more a change of anything else is in vain. Two limits are named if "
      "they are within 20 %. Estimates give no points.";
  return {"Estimate for " + grouped(batch) + " images; nothing was measured",
          {table, Paragraph{note}}};
}

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
  if (note.parts == note.requests) return "All lanes share it.";
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

std::string thread_text(const KernelCounts& kernel) {
  const std::int64_t idle = kernel.threads - kernel.storing;
  return grouped(kernel.storing) + " of " + grouped(kernel.threads) + " threads store outputs" +
         (idle > 0 ? "; " + grouped(idle) + " have none." : ".");
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
    if (kernel.storing > 0) text += paragraph("  threads  ", thread_text(kernel));
    if (!kernel.accesses.empty()) text += "  memory\n" + lines_text(kernel, sources);
    const std::string barriers = barriers_text(kernel, sources);
    if (!barriers.empty()) text += "  barriers\n" + barriers;
  }
  return text;
}

}  // namespace convlab::grader
