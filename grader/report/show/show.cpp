#include "grader/report/show/show.hpp"

#include <algorithm>
#include <set>

#include "common/base/foreign_text.hpp"
#include "common/base/whole_file.hpp"
#include "grader/report/numbers.hpp"
#include "grader/report/pages/page.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

namespace {

using Index = std::array<unsigned, 3>;

std::string text_of(const Index& index) {
  return "(" + std::to_string(index[0]) + ", " + std::to_string(index[1]) + ", " +
         std::to_string(index[2]) + ")";
}

std::int64_t element_bytes(const StageSteps& steps, const StepArray& array, int number,
                           const SourceText& sources) {
  const StepNotes& notes = steps.notes;
  if (array.memory.variable.empty() && array.memory.argument > 0) {
    const auto bytes = sources.parameter(notes.kernel, array.memory.argument).element_bytes;
    return static_cast<std::int64_t>(std::max<std::size_t>(1, bytes));
  }
  int least = 0;
  for (const BlockStep& step : notes.steps) {
    if (step.array == number && (least == 0 || step.bytes < least)) least = step.bytes;
  }
  return std::max(1, least);
}

// Planes, rows and columns in which an array is drawn.
Json layout_of(const StageSteps& steps, const StepArray& array, int number, const std::string& role,
               std::int64_t element) {
  const ConvShape& shape = steps.shape;
  const std::int64_t elements = (array.memory.bytes + element - 1) / element;
  if (role == "input") return {shape.batch * shape.in_channels, shape.height, shape.width};
  if (role == "weights")
    return {shape.out_channels * shape.in_channels, shape.kernel, shape.kernel};
  if (role == "output") {
    return {shape.batch * shape.out_channels, shape.out_height(), shape.out_width()};
  }
  std::int64_t columns = array.memory.row_bytes / element;
  if (columns == 0) columns = guessed_row(steps.notes, number, element);
  constexpr std::int64_t kUsual = 32;
  if (columns == 0) columns = std::min(elements, kUsual);
  columns = std::max<std::int64_t>(1, columns);
  return {1, (elements + columns - 1) / columns, columns};
}

// Neighbours as one pair: first and last.
Json ranges_of(const std::vector<std::int64_t>& elements) {
  Json ranges = Json::array();
  constexpr std::size_t kMostRanges = 20'000;
  for (std::size_t i = 0; i < elements.size() && ranges.size() < kMostRanges;) {
    std::size_t end = i + 1;
    while (end < elements.size() && elements[end] == elements[end - 1] + 1) ++end;
    ranges.push_back({elements[i], elements[end - 1]});
    i = end;
  }
  return ranges;
}

Json sources_json(const StepNotes& notes, const SourceText& sources) {
  std::set<std::string> files;
  for (const StepPlace& place : notes.places) files.insert(place.file);
  Json json = Json::object();
  std::size_t bytes = 0;
  for (const std::string& file : files) {
    Json lines = Json::array();
    for (const std::string& line : sources.lines(file)) {
      constexpr std::size_t kMostBytes = std::size_t{1} << 20;
      bytes += line.size();
      if (bytes > kMostBytes) break;
      lines.push_back(line);
    }
    if (!lines.empty()) json[file] = std::move(lines);
  }
  return json;
}

std::string cut_text(const StepNotes& notes) {
  const auto count = static_cast<std::int64_t>(notes.steps.size());
  std::string text;
  if (notes.first > 0) text += " " + grouped(notes.first) + " steps before them were left out.";
  if (notes.is_cut) {
    text +=
        " More steps follow; add --first " + std::to_string(notes.first + count) + " to see them.";
  }
  if (!notes.is_over && !notes.is_cut) {
    text +=
        " Then a fault ended the kernel. Threads that had not come so far are missing in the "
        "last steps, because the emulated device runs one thread after the other.";
  }
  return text;
}

std::string block_text(const StepNotes& notes) {
  const std::int64_t threads =
      std::int64_t{notes.block_size[0]} * notes.block_size[1] * notes.block_size[2];
  const auto count = static_cast<std::int64_t>(notes.steps.size());
  return "Block " + text_of(notes.block) + " of " + notes.kernel + ", launched with " +
         text_of(notes.grid) + " blocks of " + text_of(notes.block_size) +
         " threads: " + grouped(threads) + " threads, " + grouped(count) +
         (count == 1 ? " step." : " steps.") + cut_text(notes);
}

}  // namespace

Json steps_json(const StageSteps& steps, const SourceText& sources) {
  const StepNotes& notes = steps.notes;
  Json json = {{"stage", steps.stage.id},
               {"shape", to_string(steps.shape)},
               {"kernel", notes.kernel},
               {"grid", notes.grid},
               {"block_size", notes.block_size},
               {"block", notes.block},
               {"first", notes.first},
               {"is_cut", notes.is_cut},
               {"arrays", Json::array()},
               {"places", Json::array()},
               {"marks", Json::array()},
               {"unwritten", ranges_of(steps.unwritten)},
               {"wrong", ranges_of(steps.wrong)},
               {"steps", Json::array()}};
  for (std::size_t i = 0; i < notes.arrays.size(); ++i) {
    const StepArray& array = notes.arrays[i];
    const int number = static_cast<int>(i);
    const std::string role = array_role(steps, array, sources);
    const std::int64_t element = element_bytes(steps, array, number, sources);
    json["arrays"].push_back({{"name", array_name(steps, array, sources)},
                              {"space", array.space},
                              {"role", role},
                              {"bytes", array.memory.bytes},
                              {"element", element},
                              {"begin", array.begin},
                              {"layout", layout_of(steps, array, number, role, element)}});
  }
  for (const StepPlace& place : notes.places) {
    json["places"].push_back({{"file", place.file}, {"line", place.line}, {"call", place.call}});
  }
  for (const StepMark& mark : marks_of(steps, sources)) {
    Json where = Json::array();
    for (const auto& [step, threads] : mark.steps) where.push_back({step, threads});
    json["marks"].push_back(
        {{"kind", mark.kind}, {"text", mark.text}, {"array", mark.array}, {"steps", where}});
  }
  for (const BlockStep& step : notes.steps) {
    json["steps"].push_back({{"kind", to_string(step.kind)},
                             {"place", step.place},
                             {"array", step.array},
                             {"bytes", step.bytes},
                             {"threads", step.threads},
                             {"requests", step.requests}});
  }
  return json;
}

std::string steps_text(const StageSteps& steps, const SourceText& sources) {
  std::string text = paragraph("", block_text(steps.notes));
  for (const StepMark& mark : marks_of(steps, sources)) {
    if (mark.kind == "race") continue;  // the finding says more
    text += paragraph("  " + mark.kind + ": ", mark.text);
  }
  return text;
}

std::string steps_page(const StageSteps& steps, const SourceText& sources, const std::string& title,
                       const std::string& where, const std::filesystem::path& parts) {
  Json json = steps_json(steps, sources);
  json["summary"] = block_text(steps.notes);
  json["sources"] = sources_json(steps.notes, sources);
  return html_head(title, read_text(parts / "viewer.css")) + "<header><h1>" + html_text(title) +
         "</h1>\n<p>" + html_text(where) + "</p></header>\n<main></main>\n" +
         "<script type=\"application/json\" id=\"steps\">" + json_in_html(json_text(json)) +
         "</script>\n<script>\n" + read_text(parts / "viewer.js") + "</script>\n</body>\n</html>\n";
}

}  // namespace convlab::grader
