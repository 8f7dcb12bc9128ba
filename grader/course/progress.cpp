#include "grader/course/progress.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/base/enum_name.hpp"
#include "common/base/json_text.hpp"
#include "common/base/whole_file.hpp"
#include "common/program/arguments.hpp"
#include "common/result/result_json.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/scores/score_rules.hpp"

namespace convlab::grader {

namespace {

/// Every result that checks left in their usual folder, oldest first.
std::vector<CheckResult> earlier_results() {
  std::vector<CheckResult> results;
  std::error_code no_folder;
  for (const auto& entry : std::filesystem::directory_iterator(results_folder(), no_folder)) {
    if (entry.path().extension() != ".json") continue;
    try {
      results.push_back(read_check_result(entry.path()));
    } catch (const EnvironmentError&) {
      continue;  // another file, which was not requested by name
    }
  }
  std::ranges::stable_sort(results, [](const CheckResult& a, const CheckResult& b) {
    return a.result.created < b.result.created;
  });
  return results;
}

// The finding that ended a check before any stage ran, mostly "E-build"; else empty.
std::string finding_before_stages(const CheckResult& result) {
  for (const Finding& finding : result.findings) {
    if (finding.stage.empty()) return finding.id;
  }
  return {};
}

// Takes the check's result for the stage; false if the check did not include it.
bool take_over(const CheckResult& result, Progress& progress) {
  std::string found = finding_before_stages(result);
  bool ran = !found.empty();
  bool passed = true;
  std::vector<int> batches;
  for (const CaseResult& test : result.cases) {
    if (test.stage != progress.stage.id) continue;
    ran = true;
    passed = passed && test.verdict == Verdict::kPassed;
  }
  for (const RunResult& run : result.result.runs) {
    if (run.stage.id != progress.stage.id) continue;
    if (run.verdict == Verdict::kPassed) batches.push_back(run.batch);
    passed = passed && run.verdict == Verdict::kPassed;
  }
  if (!ran) return false;
  for (const Finding& finding : result.findings) {
    if (finding.stage == progress.stage.id) found = finding.id;
  }
  progress.state = passed && found.empty() ? State::kPassed : State::kFailed;
  progress.batches = std::move(batches);
  progress.date = date_of(result.result.created);
  progress.finding = std::move(found);
  return true;
}

std::string stage_of(const std::filesystem::path& file) {
  std::string stem = file.stem().string();
  std::ranges::replace(stem, '_', '-');
  return stem;
}

bool is_untouched(const CourseMilestone& milestone, const std::string& stage) {
  const auto file = file_of_stage(milestone.folder, stage);
  return file && std::ranges::any_of(handout_files(milestone), [&](const HandoutFile& each) {
           return course_folder() / each.path == *file && is_as_handed_out(each);
         });
}

// Whether a file of the stage has changed since a check. If each stage has a file with its name,
// the other stages' files do not matter.
bool has_changed(const std::vector<SourceFile>& then, const std::vector<SourceFile>& now,
                 const std::vector<StageInfo>& stages, const StageInfo& stage) {
  const auto matters = [&](const SourceFile& file) {
    if (is_puzzle(file.path)) return false;
    const std::string id = stage_of(file.path);
    return id == stage.id ||
           std::ranges::none_of(stages, [&](const StageInfo& each) { return each.id == id; });
  };
  const auto chosen = [&](std::vector<SourceFile> files) {
    std::erase_if(files, [&](const SourceFile& file) { return !matters(file); });
    return files;
  };
  return chosen(then) != chosen(now);
}

// A student's stages: those that give points, in their order, then others that checks have seen.
std::vector<StageInfo> students_stages(const CourseMilestone& milestone,
                                       const std::vector<CheckResult>& results) {
  std::vector<StageInfo> stages;
  const auto add = [&](const StageInfo& stage) {
    const auto known = std::ranges::find(stages, stage.id, &StageInfo::id);
    if (known == stages.end()) {
      stages.push_back(stage);
    } else if (!stage.title.empty()) {
      *known = stage;
    }
  };
  for (const ScoreRule& rule : load_score_rules(milestone.folder).items) {
    const auto file = file_of_stage(milestone.folder, rule.stage);
    add({.id = rule.stage, .title = file ? title_of(*file, rule.stage) : ""});
  }
  for (const CheckResult& result : results) {
    for (const CaseResult& test : result.cases) add({.id = test.stage});
    for (const RunResult& run : result.result.runs) add(run.stage);
  }
  return stages;
}

}  // namespace

const char* to_string(State state) {
  return enum_name(state, {"as handed out", "not checked yet", "passed", "not passed"});
}

std::string prediction_text(const Prediction& slip, const Counted& counted,
                            const std::string& answer) {
  const std::string loads = three_digits(slip.loads);
  const std::string inputs = three_digits(slip.inputs);
  const bool has_inputs = slip.inputs > 0.0;
  if (loads == three_digits(counted.loads) &&
      (!has_inputs || inputs == three_digits(counted.inputs))) {
    return "You predicted this.";
  }
  return "You predicted " + loads + " loads" +
         (has_inputs ? ", and " + inputs + " of each input" : "") +
         ". What explains the difference? Keep your sentence: " + answer;
}

// The largest batch that a check has if none is named.
static int whole_batch(const CheckResult& check) {
  const auto& runs = check.result.runs;
  return !runs.empty() && runs.front().device == Device::kEmulated ? 1000 : kMaxBatch;
}

bool is_whole(const Progress& progress) {
  const int whole = whole_batch(progress.check);
  return progress.state == State::kPassed &&
         std::ranges::any_of(progress.batches, [&](int batch) { return batch >= whole; });
}

std::vector<Progress> progress_of(const CourseMilestone& milestone) {
  std::vector<CheckResult> results = earlier_results();
  std::erase_if(results, [&](const CheckResult& each) {
    return each.result.milestone != milestone.id || each.result.solution != "student";
  });
  std::vector<Progress> all;
  const std::vector<StageInfo> stages = students_stages(milestone, results);
  const auto sources = describe_files(source_files(milestone));
  for (const StageInfo& stage : stages) {
    Progress progress{.stage = stage};
    for (const CheckResult& result : results) {
      if (!take_over(result, progress)) continue;
      progress.changed = has_changed(result.sources, sources, stages, stage);
      progress.check = result;
    }
    if (is_untouched(milestone, stage.id)) progress = {.stage = stage, .state = State::kHandedOut};
    all.push_back(std::move(progress));
  }
  return all;
}

std::string missing_stages(const CheckResult& check) {
  const bool is_of_one = check.basis && check.basis->only_stage;
  std::string missing;
  if (!check.score || is_of_one) return missing;
  for (const ScoreItem& item : check.score->items) {
    const bool is_required = item.item == "cases" && !check.score->is_optional(item.stage);
    if (is_required && std::ranges::count(check.cases, item.stage, &CaseResult::stage) == 0)
      missing += (missing.empty() ? "" : ", ") + item.stage;
  }
  return missing;
}

std::string untried_text(const CheckResult& check) {
  if (const std::string missing = missing_stages(check); !missing.empty())
    return "It lacks " + missing + ", which " + check.result.milestone + " asks for.";
  std::map<std::string, int> largest_of;  // by stage
  for (const RunResult& run : check.result.runs) {
    int& largest = largest_of[run.stage.id];
    largest = std::max(largest, run.batch);
  }
  int largest = kMaxBatch;
  for (const auto& [stage, batch] : largest_of) largest = std::min(largest, batch);
  const int whole = whole_batch(check);
  if (largest >= whole) return {};
  return "Up to batch " + std::to_string(largest) + " only; a whole check goes to " +
         std::to_string(whole) + ".";
}

Error nothing_checked(const std::string& milestone) {
  return {ExitCode::kFallsShort, "Nothing of " + milestone + " was checked yet. Next: " +
                                     grader_command("check", milestone)};
}

CheckResult combined_result(const CourseMilestone& milestone) {
  const std::string& id = milestone.id;
  const std::vector<Progress> stages = progress_of(milestone);
  std::optional<CheckResult> all;
  for (const Progress& progress : stages) {
    const std::string& stage = progress.stage.id;
    if (progress.state == State::kHandedOut) continue;
    const std::string next =
        " Next: " + grader_command("check", id, stages.size() > 1 ? stage : "");
    if (progress.state == State::kUnchecked) {
      throw Error(ExitCode::kFallsShort, "Stage " + stage + " was not checked yet." + next);
    }
    if (progress.changed) {
      throw Error(ExitCode::kFallsShort,
                  "The file of stage " + stage + " is not the one that was last checked." + next);
    }
    const CheckResult& check = progress.check;
    if (!all) {
      all = check;
      all->cases.clear();
      all->findings.clear();
      all->warnings.clear();
      all->result.runs.clear();
      all->result.verdict = Verdict::kPassed;
    }
    const auto add_own = [&](const auto& from, auto& to) {
      std::ranges::copy_if(from, std::back_inserter(to), [&](const auto& each) {
        if constexpr (requires { each.stage.id; })
          return each.stage.id == stage;
        else
          return each.stage == stage || each.stage.empty();
      });
    };
    add_own(check.cases, all->cases);
    add_own(check.result.runs, all->result.runs);
    add_own(check.findings, all->findings);
    add_own(check.warnings, all->warnings);
    if (progress.state != State::kPassed) all->result.verdict = Verdict::kFailed;
    all->result.created = std::max(all->result.created, check.result.created);
    if (!all->score || !check.score) continue;
    for (ScoreItem& item : all->score->items) {
      for (const ScoreItem& each : check.score->items) {
        const bool same = each.stage == item.stage && each.item == item.item &&
                          each.batch == item.batch && each.stage == stage;
        if (same) item = each;
      }
    }
  }
  if (!all) {
    throw Error(ExitCode::kFallsShort,
                "All of " + id + " is as handed out. Next: build/bin/grader next");
  }
  return *all;
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Prediction, made, limiter, loads, inputs, op_ms,
                                                reason)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Counted, loads, inputs)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Repair, named, mended)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ShownHint, shown, list, number, finding, stage)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(KnownNumber, value, what, shown)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Notebook, puzzles, answers, predictions, explained,
                                                repairs, hints, numbers)

void note_numbers(Notebook& notebook, const std::vector<KnownNumber>& numbers) {
  constexpr std::ptrdiff_t kMost = 1000;
  auto& all = notebook.numbers;
  for (const KnownNumber& each : numbers) {
    const bool known = std::ranges::any_of(all, [&](const KnownNumber& other) {
      return other.value == each.value && other.what == each.what;
    });
    if (each.value > 0.0 && !known) all.push_back({each.value, each.what, utc_now()});
  }
  all.erase(all.begin(), all.begin() + std::max<std::ptrdiff_t>(0, std::ssize(all) - kMost));
}

bool is_reasoned(const std::string& reason) {
  constexpr std::ptrdiff_t kFewestWords = 8;
  return std::ranges::count(reason, ' ') + 1 >= kFewestWords &&
         reason.find_first_of("0123456789") != std::string::npos;
}

std::filesystem::path notebook_file(const CourseMilestone& milestone) {
  return build_folder() / "notebook" / (milestone.id + ".json");
}

Notebook read_notebook(const CourseMilestone& milestone) {
  const auto file = notebook_file(milestone);
  if (!std::filesystem::exists(file)) return {};
  try {
    return nlohmann::json(parse_foreign(read_text(file), true)).get<Notebook>();
  } catch (const std::exception& error) {
    throw EnvironmentError(file.string() + " is damaged (" + error.what() +
                           "); remove it, or take yours with grader restore.");
  }
}

void write_notebook(const CourseMilestone& milestone, const Notebook& notebook) {
  write_atomically(notebook_file(milestone), json_text(nlohmann::json(notebook), 1) + "\n");
}

Hints read_hints(const std::filesystem::path& file) {
  try {
    auto hints = parse_json(read_text(file)).get<Hints>();
    for (const auto& [name, list] : hints) {
      if (list.empty()) throw EnvironmentError(file.string() + " has no hints for " + name + ".");
    }
    return hints;
  } catch (const Json::exception& error) {
    throw EnvironmentError(file.string() + " is no object of lists of texts: " + error.what());
  }
}

}  // namespace convlab::grader
