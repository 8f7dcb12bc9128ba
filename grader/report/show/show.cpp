#include "grader/report/show/show.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "common/base/foreign_text.hpp"
#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "common/result/json_fields.hpp"
#include "common/serve/fault_messages.hpp"
#include "grader/report/pages/page.hpp"
#include "grader/report/table.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

namespace {

constexpr int kWarp = 32;
constexpr std::int64_t kWord = 4;
// So that a page stays small; the sentence tells the number of all.
constexpr std::size_t kMostMarkedSteps = 300;

/// Something that is wrong in what a block did.
struct StepMark {
  std::string kind{};  ///< "race", "beyond", "unset", "unwritten" or "wrong"
  std::string text{};  ///< a sentence
  int array = -1;      ///< of StepNotes
  /// The steps, and in each the threads that do it.
  std::vector<std::pair<int, std::vector<int>>> steps{};
};

bool touches_memory(const BlockStep& step) {
  return step.array >= 0;
}

template <class Visit>
void for_each_access(const BlockStep& step, const Visit& visit) {
  for (std::size_t i = 0; i + 3 < step.threads.size(); i += 4) {
    for (std::int64_t n = 0; n < step.threads[i + 1]; ++n) {
      visit(static_cast<int>(step.threads[i] + n), step.threads[i + 2] + n * step.threads[i + 3]);
    }
  }
}

std::string does_text(const BlockStep& step, std::size_t threads) {
  const std::string verb = step.kind == StepKind::kRead    ? "read"
                           : step.kind == StepKind::kWrite ? "write"
                                                           : "change";
  return count_of(grouped(static_cast<std::int64_t>(threads)), "thread") + " " + verb +
         (threads == 1 ? "s " : " ");
}

std::string line_text(const StepPlace& place) {
  return place.line == 0 ? "" : " in line " + std::to_string(place.line);
}

/// Collects the marks of one kind, one for each place and array.
class Marks {
 public:
  void add(int step, const BlockStep& of, int thread) {
    auto& steps = marks_[{of.place, of.array, of.kind}].steps;
    if (steps.empty() || steps.back().first != step) steps.push_back({step, {}});
    steps.back().second.push_back(thread);
  }
  template <class Text>
  void move_to(std::vector<StepMark>& all, const StepNotes& notes, const std::string& kind,
               const Text& text) {
    for (auto& [key, mark] : marks_) {
      const auto [step, threads] = mark.steps.front();
      mark.kind = kind;
      mark.array = std::get<1>(key);
      mark.text = "Step " + grouped(std::int64_t{step} + 1) + ": " +
                  does_text(notes.steps[static_cast<std::size_t>(step)], threads.size()) +
                  text(notes.arrays[static_cast<std::size_t>(mark.array)]) +
                  line_text(notes.places[static_cast<std::size_t>(std::get<0>(key))]) + ".";
      if (mark.steps.size() > 1) {
        mark.text += " The same happens in " +
                     grouped(static_cast<std::int64_t>(mark.steps.size()) - 1) +
                     (mark.steps.size() == 2 ? " other step." : " other steps.");
      }
      if (mark.steps.size() > kMostMarkedSteps) mark.steps.resize(kMostMarkedSteps);
      all.push_back(std::move(mark));
    }
  }

 private:
  std::map<std::tuple<int, int, StepKind>, StepMark> marks_;
};

bool same_array(const FaultMemory& a, const FaultMemory& b) {
  return a.variable == b.variable && a.argument == b.argument && a.bytes == b.bytes;
}

/// Accesses of one word between two barriers.
struct WordAccess {
  int step;
  int thread;
  bool writes;
};

// The threads that touch the elements of the race in its two lines.
void add_race(const StageSteps& stage, const Finding& finding, std::vector<StepMark>& all) {
  const StepNotes& notes = stage.notes;
  const RaceFacts& race = *stage.race->race;
  StepMark mark{.kind = "race", .text = finding.title + ". " + finding.seen.text()};
  std::map<std::int64_t, std::vector<WordAccess>> words;
  std::map<int, std::set<int>> marked;
  const auto end_phase = [&] {
    for (const auto& [word, accesses] : words) {
      for (const WordAccess& a : accesses) {
        const bool races = std::ranges::any_of(accesses, [&](const WordAccess& b) {
          if (a.thread == b.thread || !(a.writes || b.writes)) return false;
          const bool same_warp = a.thread / kWarp == b.thread / kWarp;
          return race.scope == RaceScope::kGrid || same_warp == (race.scope == RaceScope::kWarp);
        });
        if (races) marked[a.step].insert(a.thread);
      }
    }
    words.clear();
  };
  for (std::size_t i = 0; i < notes.steps.size(); ++i) {
    const BlockStep& step = notes.steps[i];
    if (step.kind == StepKind::kBarrier) end_phase();
    if (!touches_memory(step)) continue;
    const StepArray& array = notes.arrays[static_cast<std::size_t>(step.array)];
    const StepPlace& place = notes.places[static_cast<std::size_t>(step.place)];
    const auto is_there = [&](const RaceSide& side) {
      return side.line == place.line && side.file == place.file;
    };
    if (!same_array(array.memory, stage.race->memory)) continue;
    if (!is_there(race.first) && !is_there(race.second)) continue;
    mark.array = step.array;
    for_each_access(step, [&](int thread, std::int64_t offset) {
      words[offset / kWord].push_back({static_cast<int>(i), thread, step.kind != StepKind::kRead});
    });
  }
  end_phase();
  for (const auto& [step, threads] : marked) {
    if (mark.steps.size() == kMostMarkedSteps) break;
    mark.steps.emplace_back(step, std::vector<int>(threads.begin(), threads.end()));
  }
  all.push_back(std::move(mark));
}

void add_elements(const char* kind, const std::vector<std::int64_t>& elements, const char* of_one,
                  const char* of_many, int array, std::vector<StepMark>& all) {
  if (elements.empty()) return;
  const auto count = static_cast<std::int64_t>(elements.size());
  all.push_back({.kind = kind,
                 .text = count_of(grouped(count), "element") + " of the whole output " +
                         (count == 1 ? of_one : of_many) + ".",
                 .array = array});
}

std::string array_role(const StageSteps& steps, const StepArray& array, const SourceText& sources) {
  return grader::array_role(array.memory, array.space, steps.notes.kernel, steps.shape, sources);
}

std::string array_name(const StageSteps& steps, const StepArray& array, const SourceText& sources) {
  std::string name = grader::array_name(array.memory, array.space, steps.notes.kernel, sources);
  const std::string role = array_role(steps, array, sources);
  return name == array.space + " memory" && !role.empty() ? role : name;
}

// The worst first.
std::vector<StepMark> marks_of(const StageSteps& stage, const SourceText& sources) {
  const StepNotes& notes = stage.notes;
  std::vector<StepMark> all;
  if (stage.race && stage.race->race && stage.finding) add_race(stage, *stage.finding, all);
  Marks beyond;
  Marks unset;
  std::vector<std::set<std::int64_t>> written(notes.arrays.size());
  for (std::size_t i = 0; i < notes.steps.size(); ++i) {
    const BlockStep& step = notes.steps[i];
    if (!touches_memory(step)) continue;
    const StepArray& array = notes.arrays[static_cast<std::size_t>(step.array)];
    auto& words = written[static_cast<std::size_t>(step.array)];
    const bool knows_all = array.space == "shared";
    for_each_access(step, [&](int thread, std::int64_t offset) {
      if (offset < 0 || offset + step.bytes > array.memory.bytes) {
        beyond.add(static_cast<int>(i), step, thread);
      } else if (knows_all && step.kind == StepKind::kWrite) {
        for (std::int64_t at = offset; at < offset + step.bytes; at += 2) words.insert(at / 2);
      } else if (knows_all && !words.contains(offset / 2)) {
        unset.add(static_cast<int>(i), step, thread);
      }
    });
  }
  const auto name = [&](const StepArray& array) { return array_name(stage, array, sources); };
  beyond.move_to(all, notes, "beyond", [&](const StepArray& array) {
    return "outside of " + name(array) + ", which has " + grouped(array.memory.bytes) + " bytes,";
  });
  unset.move_to(all, notes, "unset", [&](const StepArray& array) {
    return "elements of " + name(array) +
           " that no thread has written before, which is right only if nothing uses them,";
  });
  int output = -1;
  for (std::size_t i = 0; i < notes.arrays.size(); ++i) {
    if (array_role(stage, notes.arrays[i], sources) == "output") output = static_cast<int>(i);
  }
  add_elements("unwritten", stage.unwritten, "is written by no thread of any block",
               "are written by no thread of any block", output, all);
  add_elements("wrong", stage.wrong, "is wrong at the end, or was never written",
               "are wrong at the end, or were never written", output, all);
  return all;
}

// How many elements a row of an array has that the program does not declare with two dimensions,
// from the elements that neighbouring threads touch; 0 if they do not tell.
std::int64_t guessed_row(const StepNotes& notes, int array, std::int64_t element_bytes) {
  const std::int64_t across = notes.block_size[0];
  if (across < 2 || notes.block_size[1] < 2) return 0;
  std::map<std::int64_t, std::int64_t> votes;
  for (const BlockStep& step : notes.steps) {
    if (step.array != array) continue;
    std::map<int, std::int64_t> offsets;
    for_each_access(step, [&](int thread, std::int64_t offset) { offsets[thread] = offset; });
    for (const auto& [thread, offset] : offsets) {
      const auto beside = offsets.find(thread + 1);
      const auto below = offsets.find(thread + static_cast<int>(across));
      if (thread % across != 0 || beside == offsets.end() || below == offsets.end()) continue;
      const std::int64_t row = (below->second - offset) / element_bytes;
      if (beside->second - offset == element_bytes && row > 1) ++votes[row];
    }
  }
  const auto best = std::ranges::max_element(
      votes, [](const auto& a, const auto& b) { return a.second < b.second; });
  return best == votes.end() ? 0 : best->first;
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
  Json json = Json::object();
  for (const StepPlace& place : notes.places) {
    if (json.contains(place.file)) continue;
    if (const auto lines = sources.lines(place.file); !lines.empty()) json[place.file] = lines;
  }
  return json;
}

std::string cut_text(const StepNotes& notes) {
  if (notes.is_cut) return " More steps follow; a smaller convolution (--case) has fewer.";
  if (notes.is_over) return {};
  return " Then a fault ended the kernel. Threads that had not come so far are missing in the last "
         "steps, because the emulated device runs one thread after the other.";
}

std::string block_text(const StepNotes& notes) {
  const std::int64_t threads =
      std::int64_t{notes.block_size[0]} * notes.block_size[1] * notes.block_size[2];
  const auto count = static_cast<std::int64_t>(notes.steps.size());
  return "Block " + index_text(notes.block) + " of " + notes.kernel + ", launched with " +
         index_text(notes.grid) + " blocks of " + index_text(notes.block_size) +
         " threads: " + count_of(grouped(threads), "thread") + ", " +
         count_of(grouped(count), "step") + "." + cut_text(notes);
}

Json steps_json(const StageSteps& steps, const SourceText& sources) {
  const StepNotes& notes = steps.notes;
  Json json = {{"stage", steps.stage.id},
               {"shape", to_string(steps.shape)},
               {"kernel", notes.kernel},
               {"grid", notes.grid},
               {"block_size", notes.block_size},
               {"block", notes.block},
               {"is_cut", notes.is_cut},
               {"arrays", Json::array()},
               {"places", Json::array()},
               {"marks", Json::array()},
               {"unwritten", ranges_of(steps.unwritten)},
               {"wrong", ranges_of(steps.wrong)},
               {"steps", Json::array()},
               {"summary", block_text(notes)},
               {"sources", sources_json(notes, sources)}};
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

}  // namespace

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
  return html_head(title, read_text(parts / "viewer.css")) + "<header><h1>" + html_text(title) +
         "</h1>\n<p>" + html_text(where) + "</p></header>\n<main></main>\n" +
         "<script type=\"application/json\" id=\"steps\">" +
         json_in_html(json_text(steps_json(steps, sources))) + "</script>\n<script>\n" +
         read_text(parts / "viewer.js") + "</script>\n</body>\n</html>\n";
}

}  // namespace convlab::grader
