#include "grader/checks/edition.hpp"

#include <algorithm>
#include <map>

#include "common/base/error.hpp"
#include "common/base/printable.hpp"
#include "common/base/unknown_name.hpp"
#include "common/base/whole_file.hpp"
#include "common/network/preset.hpp"
#include "common/program/arguments.hpp"
#include "common/result/json_fields.hpp"
#include "common/serve/finding_texts.hpp"
#include "grader/submission/build_submission.hpp"

namespace convlab::grader {

// Where nlohmann-json looks for the conversions of the structs in this namespace.
using convlab::from_json;
using convlab::to_json;

static void json_fields(JsonFields& fields, TimeRule& rule) {
  fields("batch", rule.batch, "full_ms", rule.full_ms, "none_ms", rule.none_ms);
}

static void json_fields(JsonFields& fields, CompetitionRules& rules) {
  fields("warm_ups", rules.run.warm_ups, "calls", rules.run.calls, "most_ms", rules.run.most_ms,
         "rules", rules.rules);
}

static void json_fields(JsonFields& fields, EditionTask& task) {
  fields("name", task.name, "title", task.title, "milestone", task.milestone, "workbook",
         task.workbook, "file", task.file)
      .defaulted("points", task.points, "points_in_half", task.points_in_half,
                 "points_without_half2", task.points_without_half2, "optional", task.optional)
      .defaulted("prolog_computes", task.prolog_computes, "matmul", task.matmul, "rules",
                 task.rules, "libraries", task.libraries, "batches", task.batches)
      .optional("time", task.time);
}

/// As the file has it: cases are lists of numbers there.
struct EditionText {
  Edition edition{};
  std::vector<std::vector<int>> cases{};
};

static void json_fields(JsonFields& fields, EditionText& text) {
  Edition& edition = text.edition;
  fields("edition", edition.name, "title", edition.title, "network", edition.network, "batches",
         edition.batches, "cases", text.cases, "warnings", edition.warnings, "tasks", edition.tasks)
      .defaulted("gpu", edition.gpu, "optional_points", edition.optional_points)
      .optional("competition", edition.competition);
}

namespace {

namespace fs = std::filesystem;

fs::path editions_folder() {
  return workbook_folder() / "grader" / "checks" / "editions";
}

void require(bool holds, const std::string& otherwise) {
  if (!holds) throw EnvironmentError(otherwise);
}

// An edition with every key that there is; a list has one element.
Json form() {
  Edition edition{.batches = {1}, .warnings = {""}};
  edition.competition.emplace().rules = {""};
  edition.tasks = {{.rules = {""}, .libraries = {""}, .batches = {1}, .time = TimeRule{}}};
  return EditionText{edition, {{1}}};
}

// Without it an edition cannot be read.
bool is_required(const Json::json_pointer& place, const std::string& key) {
  Json without = form();
  without[place].erase(key);
  try {
    static_cast<void>(without.get<EditionText>());
    return false;
  } catch (const Json::exception&) {
    return true;
  }
}

bool has_kind_of(const Json& given, const Json& wanted) {
  if (wanted.is_number_integer()) return given.is_number_integer();
  return wanted.is_number() ? given.is_number() : given.type() == wanted.type();
}

std::string kind_of(const Json& json) {
  if (json.is_number()) return json.is_number_integer() ? "a whole number" : "a number";
  if (json.is_string()) return "text in quotes";
  if (json.is_boolean()) return "true or false";
  return json.is_array() ? "a list" : "an object of keys and values";
}

// What nlohmann-json would refuse without saying where, and what it would leave out or round.
// @param place  in an edition of that form
// @param name   of the value in messages
void require_form(const Json& given, const Json::json_pointer& place, const std::string& name) {
  const Json all = form();
  const Json& wanted = all.at(place);
  require(has_kind_of(given, wanted), name + " must be " + kind_of(wanted));
  if (given.is_array()) {
    for (const Json& each : given) {
      const bool is_named = each.is_object() && each.contains("name") && each["name"].is_string();
      require_form(each, place / 0,
                   is_named ? "task '" + each["name"].get<std::string>() + "'" : "each of " + name);
    }
  }
  if (!given.is_object()) return;
  for (const auto& [key, value] : given.items()) {
    require(wanted.contains(key), name + " has an unknown key '" + key + "'");
    require_form(value, place / key, "'" + key + "'" + (place.empty() ? "" : " of " + name));
  }
  for (const auto& [key, value] : wanted.items()) {
    require(given.contains(key) || !is_required(place, key), name + " lacks the key '" + key + "'");
  }
}

void require_batches(const std::vector<int>& batches, const std::string& of) {
  for (const int batch : batches) {
    require(batch >= 1 && batch <= kMaxBatch, of + " has the batch " + std::to_string(batch) +
                                                  "; a batch is from 1 to " +
                                                  std::to_string(kMaxBatch));
  }
}

void require_known(const std::string& what, const std::vector<std::string>& names,
                   const std::vector<std::string>& known) {
  for (const std::string& name : names) {
    require(std::ranges::count(known, name) > 0, unknown_name(what, name, known));
  }
}

ConvShape case_of(const std::vector<int>& sizes) {
  constexpr std::size_t kSizes = 7;
  require(sizes.size() == kSizes, "a case is a list of 7 numbers: B, M, C, H, W, K, S");
  const ConvShape shape{sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5], sizes[6]};
  require(std::ranges::all_of(sizes, [](int size) { return size >= 1 && size <= kMaxBatch; }) &&
              shape.kernel <= std::min(shape.height, shape.width),
          "its case " + to_string(shape) + " is no convolution");
  return shape;
}

void check_task(const Edition& edition, const EditionTask& task) {
  const std::string of = "task '" + task.name + "'";
  require(std::ranges::count(edition.tasks, task.name, &EditionTask::name) == 1,
          "it has two tasks of the name '" + task.name + "'");
  require(std::ranges::count(edition.tasks, task.file, &EditionTask::file) == 1,
          "two of its tasks have the file '" + task.file + "'");
  require(!fs::path(task.file).extension().empty() && fs::path(task.file).is_relative(),
          of + " needs 'file', the end of the path of a source");
  const auto [least, most] =
      std::minmax({task.points, task.points_in_half, task.points_without_half2});
  require(least >= 0.0 && most <= 1000.0, of + " needs points from 0 to 1000");
  require_known("milestone", {task.workbook}, {"m1", "m2", "m3", "m4"});
  require(task.is_cpu() == !task.file.ends_with(".cu"),
          of + " needs the workbook's m1 for a .cc file, and another milestone for a .cu file");
  require(is_id(task.name), of + " has a name that is not of a-z, 0-9 and '-'");
  require_batches(task.batches, of);
  require_known("rule", task.rules, kCourseRules);
  for (const std::string& library : task.libraries) {
    require(std::ranges::count(kGpuLibraries, library) > 0,
            of + " allows '" + library + "', a library that the grader does not know");
  }
  if (!task.time) return;
  const std::vector<int>& batches = task.batches.empty() ? edition.batches : task.batches;
  require(std::ranges::count(batches, task.time->batch) > 0, of + " has a time at the batch " +
                                                                 std::to_string(task.time->batch) +
                                                                 ", which is none of its batches");
  require(task.time->full_ms > 0.0 && task.time->none_ms >= task.time->full_ms,
          of + " needs 'full_ms' above 0 and 'none_ms' not below it");
  require(!edition.gpu.empty() || task.is_cpu(),
          of + " has a time, so the edition needs 'gpu', the one that it was measured on");
}

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (const fs::path& part : fs::path(path)) parts.push_back(part.string());
  // The course calls its file .cc; everybody else .cpp.
  if (!parts.empty() && parts.back().ends_with(".cc"))
    parts.back().replace(parts.back().size() - 2, 2, "cpp");
  return parts;
}

/// How much of two paths is the same, from their ends.
struct Likeness {
  std::size_t parts = 0;
  bool ends = false;  ///< one of them ends there
};

Likeness likeness(const std::string& path, const std::string& place) {
  const auto a = parts_of(path);
  const auto b = parts_of(place);
  const auto [at, other] = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend());
  return {static_cast<std::size_t>(at - a.rbegin()), at == a.rend() || other == b.rend()};
}

}  // namespace

double TimeRule::share(double op_ms) const {
  if (op_ms <= full_ms) return 1.0;
  return op_ms >= none_ms ? 0.0 : (none_ms - op_ms) / (none_ms - full_ms);
}

std::vector<std::string> edition_names() {
  std::vector<std::string> names;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(editions_folder(), missing)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  require(!names.empty(), "There are no editions in " + editions_folder().string() + ".");
  // "fa20" before "sp21" before "fa21".
  std::ranges::sort(names, {}, [](const std::string& name) {
    return name.substr(std::min<std::size_t>(2, name.size())) +
           (name.starts_with("sp") ? "a" : "b") + name;
  });
  return names;
}

Edition parse_edition(const std::string& text, const std::string& name) {
  try {
    const Json json = parse_json(text);
    require_form(json, Json::json_pointer(), "it");
    auto read = json.get<EditionText>();
    Edition& edition = read.edition;
    require_known("network", {edition.network}, preset_names());
    for (const auto& sizes : read.cases) edition.cases.push_back(case_of(sizes));
    require(!edition.batches.empty(), "it needs at least one of 'batches'");
    require_batches(edition.batches, "it");
    const std::set<std::string> may_warn = ids_of_kind("may-warn");
    require_known("warning", {edition.warnings.begin(), edition.warnings.end()},
                  {may_warn.begin(), may_warn.end()});
    if (edition.competition) {
      const RankedRun& run = edition.competition->run;
      require(
          std::clamp(run.warm_ups, 0, 1000) == run.warm_ups &&
              std::clamp(run.calls, 1, 1000) == run.calls && run.most_ms > 0.0,
          "its competition needs 0 to 1000 'warm_ups', 1 to 1000 'calls' and a 'most_ms' above 0");
      require_known("rule", edition.competition->rules, kCourseRules);
    }
    for (const EditionTask& task : edition.tasks) check_task(edition, task);
    return edition;
  } catch (const std::exception& error) {
    std::string why = printable_line(error.what());
    if (why.starts_with('[')) why = why.substr(std::min(why.size(), why.find(']') + 2));
    if (why.ends_with('.')) why.pop_back();
    throw EnvironmentError("The edition " + name + " cannot be used: " + why +
                           " (the files beside it show the form).");
  }
}

fs::path edition_file(const std::string& name) {
  return editions_folder() / (name + ".json");
}

Edition load_edition(const std::string& name) {
  const std::vector<std::string> names = edition_names();
  if (std::ranges::find(names, name) == names.end()) {
    throw UsageError(unknown_name("edition", name, names));
  }
  const fs::path file = edition_file(name);
  Edition edition = parse_edition(read_text(file), file.string());
  require(edition.name == name, "The edition " + file.string() + " calls itself '" + edition.name +
                                    "'; name and file must be the same.");
  return edition;
}

Edition ranked_edition() {
  std::optional<Edition> last;
  for (const std::string& name : edition_names()) {
    Edition edition = load_edition(name);
    if (edition.competition) last = std::move(edition);
  }
  require(last.has_value(), "No edition has the rules of a ranked run.");
  return *last;
}

std::optional<NamedTask> find_task(const std::string& given) {
  std::string id = given;
  std::ranges::replace(id, '_', '-');  // as the course writes them
  const std::string name = id.substr(0, id.find('-'));
  if (name == id) return std::nullopt;
  const std::vector<std::string> names = edition_names();
  if (std::ranges::find(names, name) == names.end()) return std::nullopt;
  NamedTask found;
  found.edition = load_edition(name);
  std::vector<std::string> known;
  for (const EditionTask& task : found.edition.tasks) {
    if (found.edition.id_of(task) == id) {
      found.task = task;
      return found;
    }
    known.push_back(found.edition.id_of(task));
  }
  throw UsageError(unknown_name("task", id, known));
}

std::string title_of_course(const std::string& id) {
  const std::vector<std::string> editions = edition_names();
  if (std::ranges::find(editions, id) != editions.end()) return load_edition(id).title;
  const auto named = find_task(id);
  return named ? named->task.title : "";
}

std::vector<TaskFile> tasks_in(const Edition& edition, const std::vector<std::string>& paths) {
  std::map<std::string, int> uses;  // of a file's name, by tasks
  for (const EditionTask& task : edition.tasks) ++uses[parts_of(task.file).back()];
  // The task whose place the path names best; a file alone is that of the last task of its name.
  const auto task_of = [&](const std::string& path) {
    const EditionTask* best = nullptr;
    std::size_t most = 1;
    for (const EditionTask& task : edition.tasks) {
      const auto [parts, ends] = likeness(path, task.file);
      if (parts < most || (!ends && uses[parts_of(task.file).back()] > 1)) continue;
      best = &task;
      most = parts;
    }
    return std::pair(best, most);
  };
  std::vector<TaskFile> found;
  for (const EditionTask& task : edition.tasks) {
    std::vector<std::string> candidates;
    std::size_t most = 0;
    for (const std::string& path : paths) {
      const auto [of, parts] = task_of(path);
      if (of != &task || parts < most) continue;
      if (parts > most) candidates.clear();
      most = parts;
      candidates.push_back(path);
    }
    if (candidates.size() > 1) {
      throw UsageError("There are two files for the task " + edition.id_of(task) + ", " +
                       short_line(candidates[0], 120) + " and " + short_line(candidates[1], 120) +
                       "; leave one of them.");
    }
    if (!candidates.empty()) found.push_back({task, candidates.front()});
  }
  return found;
}

std::vector<std::string> editions_of(const std::vector<std::string>& paths) {
  std::vector<std::string> best;
  std::ptrdiff_t most = 2;  // one file alone is no tree
  for (const std::string& name : edition_names()) {
    const Edition edition = load_edition(name);
    const auto fits = std::ranges::count_if(edition.tasks, [&](const EditionTask& task) {
      return std::ranges::any_of(paths, [&](const std::string& path) {
        return likeness(path, task.file).parts == parts_of(task.file).size();
      });
    });
    if (fits > most) best.clear();
    if (fits >= most) best.push_back(name);
    most = std::max(most, fits);
  }
  return best;
}

std::string choice_among(const std::vector<std::string>& editions) {
  if (editions.size() < 2) return {};
  const std::string& newest = editions.back();
  std::string others;
  for (std::size_t i = 0; i + 1 < editions.size(); ++i) others += editions[i] + ", ";
  others.resize(others.size() - 2);
  return "The rules are those of " + newest + "; its files are also those of " + others +
         ", which --rules can name.";
}

bool defines_course_interface(const std::string& text) {
  for (auto at = text.find("conv_forward_"); at != std::string::npos;
       at = text.find("conv_forward_", at + 1)) {
    const auto begin = text.find_first_of("(;{", at);
    if (begin == std::string::npos || text[begin] != '(') continue;
    const auto end = text.find_first_of(");{", begin);
    if (end == std::string::npos || text[end] != ')') continue;
    const auto next = text.find_first_not_of(" \t\r\n", end + 1);
    if (next != std::string::npos && text[next] == '{') return true;
  }
  return false;
}

}  // namespace convlab::grader
