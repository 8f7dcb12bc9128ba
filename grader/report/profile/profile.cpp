#include "grader/report/profile/profile.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>
#include <utility>

#include "common/base/text.hpp"
#include "common/serve/fault_messages.hpp"
#include "grader/report/table.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

std::string counted_where(const StageCounts& counts, const std::string& network, int layer) {
  return "Counted on the emulated device, " +
         (layer == 0 ? "" : "in convolution " + std::to_string(layer) + " of " + network + " ") +
         "with one image: " + to_string(counts.shape) + ".";
}

std::string access_name(const AccessNote& note) {
  return note.atomic ? "atomic" : note.writes ? "store" : "load";
}

std::string parts_name(const std::string& space) {
  return space == "shared" ? "passes" : space == "constant" ? "words" : "sectors";
}

namespace {

// Of each request.
double average(std::int64_t sum, const AccessNote& note) {
  return static_cast<double>(sum) / static_cast<double>(note.requests);
}

// Parts that the same lanes would need side by side, without a conflict.
double needed_parts(const AccessNote& note) {
  if (parts_name(note.space) == "sectors")
    return std::min(needed_sectors(note), average_parts(note));
  return note.space == "constant" ? 1.0 : average(note.parts - note.conflicts, note);
}

std::string name_of(const AccessNote& note, const SourceText& sources) {
  return array_name(note.memory, note.space, note.kernel, sources);
}

std::string products_text(const std::string& kind, std::int64_t made) {
  return count_of(grouped(made), "multiply-add") + " " +
         (kind.starts_with("tensor") ? "on tensor cores"
                                     : "of " + kind + (kind == "half2" ? "" : "s"));
}

// What a kernel computes, waits for and takes of a multiprocessor.
std::string kernel_text(const KernelCounts& kernel) {
  std::map<std::string, std::int64_t> kinds;
  for (const ProductNote& note : kernel.products) kinds[note.kind] += note.multiply_adds;
  std::string text;
  for (const auto& [kind, made] : kinds) text += products_text(kind, made) + ". ";
  std::int64_t waits = 0;
  for (const BarrierNote& note : kernel.barriers) waits += note.before == 0 ? note.times : 0;
  text += "The blocks wait " + count_of(grouped(waits), "time") + " in barriers, " +
          short_number(static_cast<double>(waits) / static_cast<double>(kernel.launched_blocks)) +
          " for each block. A block has " +
          count_of(grouped(kernel.threads / std::max<std::int64_t>(1, kernel.blocks)), "thread") +
          " and uses " + count_of(grouped(shared_bytes_of(kernel)), "byte") + " of shared memory. ";
  if (kernel.registers == 0) return text + "Without a limit by registers a multiprocessor holds:";
  return text + "A thread takes at most " + std::to_string(kernel.registers) +
         " registers, as nvcc says for compute capability 9.0. So a multiprocessor holds:";
}

constexpr double kMilliseconds = 1e3;

std::string two_digits(double number) {
  if (number <= 0.0) return "0";
  const double unit = std::pow(10.0, std::floor(std::log10(number)) - 1.0);
  std::ostringstream text;
  text << std::round(number / unit) * unit;
  return text.str();
}

Table occupancy_table(const KernelCounts& kernel) {
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

double sum_of_parts(const std::vector<AccessNote>& notes) {
  double sum = 0.0;
  for (const AccessNote& note : notes) sum += static_cast<double>(note.parts);
  return sum;
}

// The lines of a kernel that access one kind of memory, most parts first.
std::vector<AccessNote> accesses_of(const KernelCounts& kernel, const std::string& space) {
  std::vector<AccessNote> notes;
  for (const AccessNote& note : kernel.accesses) {
    if (note.space == space && note.requests > 0) notes.push_back(note);
  }
  std::ranges::stable_sort(notes, std::ranges::greater(), &AccessNote::parts);
  return notes;
}

Table line_table(const std::vector<AccessNote>& notes, const SourceText& sources) {
  Table table{.heading = {"line", "array", "access", "requests", "lanes",
                          parts_name(notes.front().space), "needed", "share"}};
  for (const AccessNote& note : notes) {
    table.rows.push_back({note.line == 0 ? "?" : std::to_string(note.line), name_of(note, sources),
                          access_name(note), grouped(note.requests),
                          short_number(average(note.lanes, note)),
                          short_number(average_parts(note)), short_number(needed_parts(note)),
                          percent(static_cast<double>(note.parts) / sum_of_parts(notes))});
  }
  return table;
}

// "load of `tile`: 225 792 requests, 2 passes each (1 suffices)".
std::string cost_text(const AccessNote& note, const SourceText& sources) {
  std::string parts = parts_name(note.space);
  if (note.parts == note.requests) parts.resize(parts == "passes" ? 4 : parts.size() - 1);
  const std::string needed = short_number(needed_parts(note));
  std::string text = access_name(note) + " of `" + name_of(note, sources) +
                     "`: " + count_of(grouped(note.requests), "request") + ", " +
                     short_number(average_parts(note)) + " " + parts + " each";
  if (average_parts(note) > needed_parts(note) + 0.05) {
    text += " (" + needed + (needed == "1" ? " suffices)" : " suffice)");
  }
  if (note.atomic && note.conflicts > 0) {
    text += ", " + short_number(average(note.conflicts, note)) + " lanes wait for the same address";
  }
  return text;
}

/// What was counted in a line of a kernel.
struct LineNote {
  std::string file{};
  int line = 0;
  std::string text{};
  double weight = 0.0;  ///< its share of the parts that all lines ask of this kind of memory
};

// What to think of it.
std::string verdict(const AccessNote& note) {
  if (note.space == "shared") {
    return note.conflicts == 0 ? "No bank conflict." : "Lanes use one bank, at different words.";
  }
  if (note.space == "local")
    return "The compiler does not know the index, so a GPU keeps this array in memory.";
  if (note.parts == note.requests) return "All lanes share it.";
  if (note.space == "constant") return "They are read one after the other.";
  constexpr double kStillGood = 1.6;  // a row may begin inside a sector
  if (average_parts(note) <= kStillGood * needed_sectors(note)) return "Coalesced.";
  return average_parts(note) >= 0.9 * average(note.lanes, note)
             ? "Not coalesced: nearly every lane needs a sector of its own."
             : "Coalesced in part.";
}

std::string need_text(const BarrierNote& note, const SourceText& sources) {
  return "Line " + std::to_string(note.before) + (note.before_writes ? " writes `" : " reads `") +
         array_name({.variable = note.variable}, "shared", note.kernel, sources) +
         "`, and after the barrier line " + std::to_string(note.behind) + " of another thread " +
         (!note.behind_writes  ? "reads it"
          : note.before_writes ? "writes the same element"
                               : "overwrites it") +
         " (" + count_of(grouped(note.elements), "time") + ").";
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

// In the order of the lines.
std::vector<LineNote> line_notes(const KernelCounts& kernel, const SourceText& sources) {
  std::vector<LineNote> notes;
  for (const AccessNote& note : kernel.accesses) {
    if (note.requests == 0) continue;
    const double all = sum_of_parts(accesses_of(kernel, note.space));
    notes.push_back({note.file, note.line, cost_text(note, sources) + ". " + verdict(note),
                     static_cast<double>(note.parts) / all});
  }
  for (const BarrierNote& note : kernel.barriers) {
    const bool is_needed = std::ranges::any_of(kernel.barriers, [&](const BarrierNote& other) {
      return other.before != 0 && other.line == note.line && other.file == note.file;
    });
    if (note.before != 0) notes.push_back({note.file, note.line, need_text(note, sources)});
    if (!is_needed && note.times > 0)
      notes.push_back({note.file, note.line, needless_text(kernel, note)});
  }
  for (const ProductNote& note : kernel.products) {
    notes.push_back({note.file, note.line, products_text(note.kind, note.multiply_adds) + "."});
  }
  std::ranges::stable_sort(notes, {}, &LineNote::line);
  return notes;
}

PageSection source_section(const std::vector<LineNote>& notes, const SourceText& sources) {
  std::map<std::string, std::map<std::size_t, SourceListing::Line>> files;
  for (const LineNote& note : notes) {
    SourceListing::Line& line = files[note.file][static_cast<std::size_t>(note.line)];
    line.note += (line.note.empty() ? "" : " ") + note.text;
    line.weight = std::max(line.weight, note.weight);
  }
  PageSection section{.title = "Source"};
  for (auto& [file, lines] : files) {
    SourceListing listing{.file = file};
    for (const std::string& text : sources.lines(file)) {
      listing.lines.push_back(lines[listing.lines.size() + 1]);
      listing.lines.back().text = text;
    }
    if (!listing.lines.empty()) section.blocks.emplace_back(std::move(listing));
  }
  return section;
}

// "conv.cu:12 | sum += …", the line under its beginning.
Paragraph quoted(const SourceText& sources, const AccessNote& access) {
  const std::string text = trimmed(sources.quoted_line(access.file, access.line));
  constexpr std::string_view kBar = " | ";
  const auto bar = text.find(kBar);
  if (bar == std::string::npos) return {.text = text};
  return {.text = text.substr(bar + kBar.size()), .label = text.substr(0, bar + kBar.size())};
}

}  // namespace

Page profile_page(const StageCounts& counts, const SourceText& sources, const std::string& title,
                  const std::string& where) {
  Page page{.title = "Profile of " + title, .subtitle = where};
  page.sections.push_back({"All kernels together", {counter_table(counts)}});
  std::vector<LineNote> notes;
  for (const KernelCounts& kernel : kernels_of(counts, sources)) {
    PageSection section{.title = "Kernel " + kernel.launch.kernel};
    section.blocks.emplace_back(
        Paragraph{"Launched as " + launch_text(kernel.launch.grid, kernel.launch.block) + "."});
    for (const char* space : {"global", "shared", "constant", "local"}) {
      const auto accesses = accesses_of(kernel, space);
      if (accesses.empty()) continue;
      const AccessNote& most = accesses.front();
      section.blocks.insert(section.blocks.end(),
                            {Paragraph{"Requests of warps to " + most.space + " memory, and the " +
                                       parts_name(space) + " that each takes:"},
                             line_table(accesses, sources), quoted(sources, most)});
    }
    section.blocks.emplace_back(Paragraph{kernel_text(kernel)});
    section.blocks.emplace_back(occupancy_table(kernel));
    page.sections.push_back(std::move(section));
    std::ranges::move(line_notes(kernel, sources), std::back_inserter(notes));
  }
  page.sections.push_back(source_section(notes, sources));
  return page;
}

std::string walk_text(const StageCounts& facts, const SourceText& sources) {
  std::string text;
  for (const KernelCounts& kernel : kernels_of(facts, sources)) {
    text += "\n" + coloured("kernel " + kernel.launch.kernel, Colour::kStrong) + "\n" +
            sources.quoted_line(kernel.launch.file, kernel.launch.line) +
            paragraph("  launch   ", launch_text(kernel.launch.grid, kernel.launch.block) + ": " +
                                         count_of(grouped(kernel.blocks), "block") + ", " +
                                         count_of(grouped(kernel.threads), "thread") + ".");
    if (kernel.storing > 0) {
      text +=
          paragraph("  threads  ",
                    grouped(kernel.storing) + " of " + count_of(grouped(kernel.threads), "thread") +
                        (kernel.storing == 1 ? " stores outputs." : " store outputs."));
    }
    std::string last;
    for (const LineNote& note : line_notes(kernel, sources)) {
      const std::string line = sources.quoted_line(note.file, note.line);
      text += (std::exchange(last, line) == line ? "" : line) + paragraph("      ", note.text);
    }
  }
  return text;
}

PageSection estimate_section(const std::vector<Estimate>& estimates, const EstimateModel& model,
                             int batch) {
  Table table{.heading = {"GPU", "op time, ms", "limited by", "its share"}};
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
      " \"Its share\" is the part of the estimate that the limit would take by itself. Near "
      "100 % a change of anything else is in vain. Two limits are named if they are within 20 %. "
      "Estimates give no points.";
  return {"Estimate for " + grouped(batch) + " images; nothing was measured",
          {table, Paragraph{note}}};
}

}  // namespace convlab::grader
