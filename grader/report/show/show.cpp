#include "grader/report/show/show.hpp"

#include <algorithm>

#include "common/base/foreign_text.hpp"
#include "common/base/whole_file.hpp"
#include "common/serve/fault_messages.hpp"
#include "grader/report/pages/page.hpp"
#include "grader/report/table.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

namespace {

template <class Visit>
void for_each_access(const BlockStep& step, const Visit& visit) {
  for (std::size_t i = 0; i + 3 < step.threads.size(); i += 4) {
    for (std::int64_t n = 0; n < step.threads[i + 1]; ++n) {
      visit(static_cast<int>(step.threads[i] + n), step.threads[i + 2] + n * step.threads[i + 3]);
    }
  }
}

std::string array_role(const StageSteps& steps, const StepArray& array, const SourceText& sources) {
  return grader::array_role(array.memory, array.space, steps.notes.kernel, steps.shape, sources);
}

std::string array_name(const StageSteps& steps, const StepArray& array, const SourceText& sources) {
  std::string name = grader::array_name(array.memory, array.space, steps.notes.kernel, sources);
  const std::string role = array_role(steps, array, sources);
  return name == array.space + " memory" && !role.empty() ? role : name;
}

}  // namespace

std::optional<StepMark> mark_of(const StageSteps& stage) {
  const auto& record = stage.race && stage.race->race ? stage.race : stage.fault;
  if (!record || !stage.finding) return std::nullopt;
  StepMark mark{.text = stage.finding->title + ". " + stage.finding->seen};
  const auto is_there = [&](const StepPlace& place) {
    const auto is_at = [&](const auto& side) {
      return side.line == place.line && side.file == place.file;
    };
    return record->race ? is_at(record->race->first) || is_at(record->race->second)
                        : is_at(*record);
  };
  const StepNotes& notes = stage.notes;
  for (std::size_t i = 0; i < notes.steps.size(); ++i) {
    const BlockStep& step = notes.steps[i];
    if (step.array < 0 || !is_there(notes.places[static_cast<std::size_t>(step.place)])) continue;
    const FaultMemory& memory = notes.arrays[static_cast<std::size_t>(step.array)].memory;
    if (memory.variable != record->memory.variable || memory.bytes != record->memory.bytes)
      continue;
    mark.array = step.array;
    std::vector<int>& threads =
        mark.steps.emplace_back(static_cast<int>(i), std::vector<int>{}).second;
    for_each_access(step, [&](int thread, std::int64_t) { threads.push_back(thread); });
    constexpr std::size_t kMost = 300;  // so that a page stays small
    if (mark.steps.size() == kMost) break;
  }
  return mark;
}

namespace {

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
Json layout_of(const StageSteps& steps, const StepArray& array, const std::string& role,
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
  constexpr std::int64_t kUsual = 32;
  if (columns == 0) columns = std::min(elements, kUsual);
  columns = std::max<std::int64_t>(1, columns);
  return {1, (elements + columns - 1) / columns, columns};
}

Json sources_json(const StepNotes& notes, const SourceText& sources) {
  Json json = Json::object();
  for (const StepPlace& place : notes.places) {
    if (json.contains(place.file)) continue;
    if (const auto lines = sources.lines(place.file); !lines.empty()) json[place.file] = lines;
  }
  return json;
}

}  // namespace

std::string block_text(const StepNotes& notes) {
  const std::int64_t threads =
      std::int64_t{notes.block_size[0]} * notes.block_size[1] * notes.block_size[2];
  return "Block " + index_text(notes.block) + " of " + notes.kernel + ", launched with " +
         launch_text(notes.grid, notes.block_size) + ": " + grouped(threads) + " threads, " +
         grouped(std::ssize(notes.steps)) + " steps." +
         (notes.is_cut    ? " More steps follow; a smaller convolution (--case) has fewer."
          : notes.is_over ? ""
                          : " Then a fault ended the kernel. Threads that had not come so far are "
                            "missing in the last steps, because the emulated device runs one "
                            "thread after the other.");
}

Json steps_json(const StageSteps& steps, const SourceText& sources) {
  const StepNotes& notes = steps.notes;
  Json json = {
      {"stage", steps.stage.id}, {"shape", to_string(steps.shape)}, {"kernel", notes.kernel},
      {"grid", notes.grid},      {"block_size", notes.block_size},  {"block", notes.block},
      {"is_cut", notes.is_cut},  {"arrays", Json::array()},         {"places", Json::array()},
      {"marks", Json::array()},  {"steps", Json::array()}};
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
                              {"layout", layout_of(steps, array, role, element)}});
  }
  for (const StepPlace& place : notes.places) {
    json["places"].push_back({{"file", place.file}, {"line", place.line}, {"call", place.call}});
  }
  if (const auto mark = mark_of(steps)) {
    json["marks"].push_back({{"text", mark->text}, {"array", mark->array}, {"steps", mark->steps}});
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
