#include "grader/course/puzzles.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <random>

#include "common/base/json_text.hpp"
#include "common/base/unknown_name.hpp"
#include "common/base/whole_file.hpp"
#include "grader/checks/behaviour_check.hpp"
#include "grader/checks/custom_submission.hpp"
#include "grader/checks/device_analysis.hpp"
#include "grader/checks/element_cases.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/course/progress.hpp"
#include "grader/judge/judge.hpp"
#include "grader/judge/observe.hpp"
#include "grader/measure/counters.hpp"
#include "grader/scores/score_rules.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

namespace {

/// How a puzzle is checked: a convolution with kernel 1 is a scaled copy or a matrix product, one
/// whose filters have a single row has one dimension.
struct PuzzleCheck {
  std::vector<ElementCase> cases{};
  bool leaks = false;                ///< the puzzle allocates, so it must free
  std::vector<CounterLimit> asks{};  ///< what the puzzle is about: counters of the first case
};

PuzzleCheck check_of(const CourseMilestone& milestone, const Puzzle& puzzle) {
  const auto file = milestone.folder / "cases.json";
  const std::string& stage = puzzle.stage;
  try {
    const auto json = parse_json(read_text(file)).at(stage);
    PuzzleCheck check{.leaks = json.value("leaks", false),
                      .asks = limits_of(json.value("asks", Json::array()))};
    for (const auto& [name, sizes] : json.at("cases").items()) {
      const auto at = [&, &list = sizes](int i) { return list.at(i).template get<int>(); };
      ElementCase test{name, {at(0), at(1), at(2), at(3), at(4), at(5), at(6)}, true};
      test.one_row = json.value("one_row", false);
      // Its sizes stand in the file, so other shapes say nothing.
      test.probe = ElementCase::Probe::kThisShape;
      check.cases.push_back(test);
    }
    return check;
  } catch (const Json::exception& error) {
    throw EnvironmentError(file.string() + " does not say how to check the puzzle '" + stage +
                           "': " + error.what());
  }
}

// What the puzzle asks for, if its right output is made otherwise.
std::optional<Finding> find_technique(const std::filesystem::path& program, const Puzzle& puzzle,
                                      const PuzzleCheck& check, const StageInfo& stage) {
  if (check.asks.empty()) return std::nullopt;
  Submission submission(program);
  submission.set_sources(SourceText({puzzle.file}));
  const ConvShape& shape = check.cases.front().shape;
  StageCounts counts;
  // It knows no rows of zeros, so it may find the output wrong.
  static_cast<void>(count_accesses(submission, stage, shape, counts));
  count_parts(submission, stage, shape, parts_asked(check.asks), counts);
  const std::string missed = kept_limits(check.asks, values_of(counts)).missed;
  if (missed.empty()) return std::nullopt;
  return finding("E-technique", "The output is right. Counted: " + missed + ".");
}

// The number before the name: 10 of "10_ldmatrix"; 0 if there is none.
int number_of(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  int number = 0;
  std::from_chars(name.data(), name.data() + name.size(), number);
  return number;
}

// The choice whose hash stands in cases.json, so that nobody reads the answer there by the way.
// Source of the hash: FNV-1a, 64 bits, of exercise and choice.
std::string answer_among(const std::vector<std::string>& choices, const std::string& exercise,
                         const std::string& hash) {
  const auto is_answer = [&](const std::string& choice) {
    std::uint64_t sum = 14695981039346656037U;
    for (const char c : exercise + " " + choice)
      sum = (sum ^ static_cast<unsigned char>(c)) * 1099511628211U;
    std::array<char, 17> digits{};
    std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(sum));
    return hash == digits.data();
  };
  const auto found = std::ranges::find_if(choices, is_answer);
  return found == choices.end() ? "" : *found;
}

std::optional<Finding> check_program(const CourseMilestone& milestone,
                                     const std::filesystem::path& program, const Puzzle& puzzle,
                                     const PuzzleCheck& check, std::uint64_t seed,
                                     StageInfo& stage) {
  Submission submission(program);
  std::vector<StageInfo> stages;
  if (submission.list_stages(stages) || stages.empty()) {
    return finding("E-no-stage", "The puzzle " + puzzle.file.filename().string() +
                                     " was built, but its last lines are missing. To get the file "
                                     "back as handed out: build/bin/grader reset " +
                                     milestone.id);
  }
  submission.set_sources(SourceText({puzzle.file}));
  stage = stages.front();
  for (const ElementCase& test : check.cases) {
    CaseOutcome outcome = run_case(submission, stage, test, seed);
    if (outcome.finding) {
      outcome.finding->alone.clear();  // a puzzle is always checked as a whole
      return outcome.finding;
    }
    if (auto early = find_early_end(outcome.call, submission.sources())) return early;
  }
  // A missing barrier or a missing wait may show in another order only. Other shapes do not count.
  const CasePlan known{.rules = Rules::kCourse, .repeated = check.cases};
  if (auto found = Behaviour{submission, stage, known, seed}.on_emulated()) return found;
  if (!check.leaks) return std::nullopt;
  return check_leaks(submission, stage, check.cases.front().shape, seed);
}

}  // namespace

std::vector<std::string> hashes_of(const std::vector<Puzzle>& puzzles) {
  std::vector<std::filesystem::path> files;
  for (const Puzzle& puzzle : puzzles) files.push_back(puzzle.file);
  std::vector<std::string> hashes;
  for (const SourceFile& file : describe_files(files)) hashes.push_back(file.sha256);
  return hashes;
}

std::optional<Finding> check_puzzle(const CourseMilestone& milestone, const Puzzle& puzzle) {
  static bool parts_built = false;
  if (!parts_built) build_custom_submission_parts();
  parts_built = true;
  const PuzzleCheck check = check_of(milestone, puzzle);
  // One program for all: nothing is observed before the last look.
  const SubmittedSources file = only(puzzle.file);
  const BuiltSubmission built = build_submission(
      file, {.build = build_folder(), .device = Device::kEmulated, .traced = true});
  if (built.problem) return explain(*built.problem, file);
  // Puzzles give points, so nobody may know the numbers; a repair shows the same mistake each time.
  const std::uint64_t seed = puzzle.folder == "puzzles" ? std::random_device{}() : 11;
  StageInfo stage;
  auto found = check_program(milestone, built.program, puzzle, check, seed, stage);
  // Of wrong numbers alone nobody can tell that a barrier or a stream is missing.
  if (found && (is_of_kind(*found, "certain") || is_of_kind(*found, "time"))) return found;
  const Record observed =
      observe_accesses({.program = built.program}, SourceText({puzzle.file}), stage,
                       {.repeated = check.cases}, seed, found.has_value());
  const auto& race = observed.race;
  if (race && (!found || race->is_between_warps)) {
    return found ? cause_of(*found, *race) : race->finding;
  }
  if (found || observed.finding) return found ? found : observed.finding;
  return find_technique(built.program, puzzle, check, stage);
}

std::vector<Puzzle> puzzles_of(const CourseMilestone& milestone, const std::string& folder) {
  std::vector<Puzzle> puzzles;
  const auto place = milestone.folder / folder;
  if (!std::filesystem::is_directory(place)) return puzzles;
  const auto cases = parse_json_or_null(read_text(milestone.folder / "cases.json"));
  for (const auto& entry : std::filesystem::directory_iterator(place)) {
    const auto& file = entry.path();
    if (file.extension() != ".cu" || number_of(file) == 0) continue;
    std::string stage = file.stem().string();
    stage.erase(0, stage.find('_') + 1);
    std::ranges::replace(stage, '_', '-');
    const Json own = cases.is_object() ? cases.value(stage, Json::object()) : Json::object();
    auto causes = own.value("causes", std::vector<std::string>());
    std::vector<std::string> choices = causes;
    for (const Counter& counter : counters()) choices.emplace_back(counter.id);
    puzzles.push_back({file, stage, title_of(file, stage), folder, own.value("before", ""),
                       answer_among(choices, stage, own.value("answer", "")), std::move(causes),
                       own.value("seen", ""), own.value("most_moved", 0.0)});
  }
  std::ranges::sort(puzzles, {}, [](const Puzzle& each) { return number_of(each.file); });
  return puzzles;
}

std::optional<Puzzle> find_puzzle(const CourseMilestone& milestone, const std::string& stage) {
  for (const char* folder : {"puzzles", "repairs", "detective"}) {
    const auto puzzles = puzzles_of(milestone, folder);
    const auto found = std::ranges::find(puzzles, stage, &Puzzle::stage);
    if (found != puzzles.end()) return *found;
  }
  return std::nullopt;
}

std::vector<std::string> scored_stages(const CourseMilestone& milestone) {
  std::vector<std::string> names;
  for (const ScoreRule& rule : load_score_rules(milestone.folder).items) {
    if (names.empty() || names.back() != rule.stage) names.push_back(rule.stage);
  }
  return names;
}

UsageError name_a_stage(const CourseMilestone& milestone) {
  return UsageError(milestone.id +
                    " has many stages; add --stage and a name (build/bin/grader list shows them).");
}

std::vector<std::string> stage_names(const CourseMilestone& milestone) {
  std::vector<std::string> names = scored_stages(milestone);
  for (const char* folder : {"puzzles", "repairs"}) {
    for (const Puzzle& puzzle : puzzles_of(milestone, folder)) names.push_back(puzzle.stage);
  }
  if (!puzzles_of(milestone, "detective").empty()) names.emplace_back("detective");
  return names;
}

static bool names_stage(const std::filesystem::path& file, const std::string& stage) {
  return read_text(file).find('"' + stage + '"') != std::string::npos;
}

bool is_own_stage(const CourseMilestone& milestone, const std::string& stage) {
  return std::ranges::any_of(source_files(milestone), [&](const auto& file) {
    return !is_puzzle(file.string()) && names_stage(file, stage);
  });
}

void require_stage(const CourseMilestone& milestone, const std::string& stage) {
  const std::vector<std::string> names = stage_names(milestone);
  if (std::ranges::find(names, stage) != names.end()) return;
  // Also the kernels of the detective's case, each of which may be looked at.
  for (const auto& file : source_files(milestone)) {
    if (names_stage(file, stage)) return;
  }
  throw UsageError(unknown_stage(milestone, stage, names));
}

std::string unknown_stage(const CourseMilestone& milestone, const std::string& stage,
                          const std::vector<std::string>& known) {
  for (const CourseMilestone& other : milestones()) {
    const auto names = stage_names(other);
    if (other.id == milestone.id || std::ranges::find(names, stage) == names.end()) continue;
    return stage + " is not in " + milestone.id + ": it is in " + other.id + ", so name " +
           other.id + " --stage " + stage + ".";
  }
  return unknown_name("stage", stage, known, " in " + milestone.id);
}

bool is_repair(const CourseMilestone& milestone, const std::string& stage) {
  const auto found = find_puzzle(milestone, stage);
  return found && found->folder == "repairs";
}

ConvShape first_shape(const CourseMilestone& milestone, const Puzzle& puzzle) {
  return check_of(milestone, puzzle).cases.front().shape;
}

SolvedFiles known_solved(const CourseMilestone& milestone) {
  SolvedFiles solved = read_notebook(milestone).puzzles;
  const std::vector<Puzzle> puzzles = puzzles_of(milestone);
  const std::vector<std::string> now = hashes_of(puzzles);
  for (std::size_t i = 0; i < puzzles.size(); ++i) {
    const auto known = solved.find(puzzles[i].stage);
    if (known != solved.end() && known->second != now[i]) solved.erase(known);
  }
  return solved;
}

void remember_solved(const CourseMilestone& milestone, const SolvedFiles& solved) {
  Notebook notebook = read_notebook(milestone);
  notebook.puzzles = known_solved(milestone);
  for (const auto& [stage, hash] : solved) notebook.puzzles[stage] = hash;
  write_notebook(milestone, notebook);
}

std::vector<FindingWords> causes_of(const Puzzle& repair) {
  std::vector<FindingWords> causes;
  for (const std::string& id : repair.causes) {
    const auto found = std::ranges::find(catalogue(), id, &FindingWords::id);
    if (found == catalogue().end()) {
      throw EnvironmentError(repair.stage + " has the cause '" + id + "', which no check finds.");
    }
    causes.push_back(*found);
  }
  return causes;
}

}  // namespace convlab::grader
