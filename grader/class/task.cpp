#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>
#include <sstream>

#include "common/base/enum_name.hpp"
#include "common/base/error.hpp"
#include "common/base/in_threads.hpp"
#include "common/base/printable.hpp"
#include "common/base/run_process.hpp"
#include "common/base/whole_file.hpp"
#include "common/result/json_fields.hpp"
#include "common/result/result_json.hpp"
#include "grader/checks/edition.hpp"
#include "grader/class/grade_class.hpp"
#include "grader/course/course.hpp"
#include "grader/course/progress.hpp"
#include "grader/course/slurm_job.hpp"
#include "grader/judge/grade.hpp"

namespace convlab::grader {

// Where nlohmann-json looks for the conversions of the enums in this namespace.
using convlab::from_json;
using convlab::to_json;

/// The content of task.json: the words of `grader check` for each file.
struct TaskText {
  std::vector<std::vector<std::string>> checks{};
  double limit_s = 0.0;  ///< for all of them
  bool speed = true;
  Task::Phase phase = Task::Phase::kBoth;
};

static void json_fields(JsonFields& fields, TaskText& task) {
  fields("checks", task.checks, "limit_s", task.limit_s, "speed", task.speed, "phase", task.phase);
}

static void json_fields(JsonFields& fields, Outcome& outcome) {
  fields("state", outcome.state, "sentence", outcome.sentence, "seconds", outcome.seconds)
      .optional("check", outcome.check);
}

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono_literals::operator""ms;

constexpr const char* kTaskFile = "task.json";
constexpr const char* kOutcomeFile = "outcome.json";
constexpr const char* kPuzzles = "puzzles";

// The last line of a program that gives up is "grader: There is no …". The task's folder is removed
// from it, because it means nothing to the student.
std::string last_words(const FinishedProcess& run, const fs::path& folder) {
  std::istringstream lines(run.output);
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("grader: ")) last = line.substr(std::string("grader: ").size());
  }
  if (last.empty()) last = "The grader ended with " + std::to_string(run.exit_code) + ".";
  const std::string beginning = folder.string() + "/";
  for (auto at = last.find(beginning); at != std::string::npos; at = last.find(beginning)) {
    // And the "0/" of file_name.
    last.erase(at, std::min(last.find('/', at + beginning.size()), last.size() - 1) + 1 - at);
  }
  return printable_line(last);
}

// Where nobody's times are taken, a wrong file has no points for speed to lose either.
void leave_out_speed(CheckResult& check) {
  if (!check.score) return;
  for (ScoreItem& item : check.score->items) {
    if (item.item != "speed") continue;
    item.earned = 0.0;
    item.credit = Credit::kNotMeasured;
    item.why = kSpeedLeftOut;
  }
}

fs::path result_of(const fs::path& folder, std::size_t index) {
  return folder / ("check-" + std::to_string(index) + ".json");
}

// What the end of a check says of its submission. @param result  that it wrote
void judge(const FinishedProcess& run, const TaskText& task, const fs::path& result,
           Outcome& outcome) {
  const auto is = [&](ExitCode code) { return run.exit_code == static_cast<int>(code); };
  if (run.end == FinishedProcess::End::kTimeLimit) {
    std::ostringstream limit;
    limit << "Grading was stopped after " << task.limit_s << " seconds (--limit).";
    outcome.state = SubmissionState::kStopped;
    outcome.sentence = limit.str();
  } else if (run.end == FinishedProcess::End::kOutputLimit) {
    outcome.state = SubmissionState::kStopped;
    outcome.sentence = "Grading was stopped because of too much output.";
  } else if ((!is(ExitCode::kPassed) && !is(ExitCode::kFallsShort)) || !fs::exists(result)) {
    outcome.state = is(ExitCode::kUsage) ? SubmissionState::kRefused : SubmissionState::kMachine;
    outcome.sentence = last_words(run, result.parent_path());
  }
}

// Runs `grader check` for one file after the other. @return nothing when interrupted
std::optional<Outcome> run_checks(const TaskText& task, const fs::path& folder, double limit_s) {
  const auto start = Clock::now();
  const auto deadline =
      start + std::chrono::ceil<Clock::duration>(std::chrono::duration<double>(limit_s));
  // Beside others every check gets one core; times are taken with all of them.
  std::vector<std::string> environment = {"NO_COLOR=1"};
  if (task.phase == Task::Phase::kCorrectness) environment.emplace_back("OMP_NUM_THREADS=1");
  Outcome outcome{.state = SubmissionState::kGraded};
  std::vector<CheckResult> checks;
  for (const std::vector<std::string>& words : task.checks) {
    const fs::path result = result_of(folder, checks.size());
    if (task.phase != Task::Phase::kTimes) fs::remove(result);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    const FinishedProcess run = run_process({.words = words,
                                             .environment = environment,
                                             .output = Command::Output::kTogether,
                                             .time_limit = std::max(left, 1ms),
                                             .output_limit = std::size_t{4} << 20,
                                             .interrupted = [] { return stop_asked != 0; }});
    if (run.end == FinishedProcess::End::kInterrupted) return std::nullopt;
    judge(run, task, result, outcome);
    if (outcome.state != SubmissionState::kGraded) break;
    checks.push_back(read_check_result(result));
  }
  if (!checks.empty() && outcome.state == SubmissionState::kGraded) {
    outcome.check = merge_checks(checks);
    if (!task.speed) leave_out_speed(*outcome.check);
    if (task.phase == Task::Phase::kCorrectness && task.speed && waits_for_times(*outcome.check)) {
      outcome.state = SubmissionState::kChecked;
    }
  }
  outcome.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return outcome;
}

// The place of a file below that of its milestone; empty if its name is too long, or if a terminal
// would obey it.
std::string place_of(const std::string& path) {
  constexpr std::size_t kLongest = 150;
  std::string place = path;
  if (place.starts_with("milestones/")) place.erase(0, place.find('/', place.find('/') + 1) + 1);
  return place.size() > kLongest || printable_line(place) != place ? "" : place;
}

// Two files of a submission may have the same name in different folders. A file with headers keeps
// its folder, so that it finds them.
std::string file_name(std::size_t index, const MilestoneWork& work) {
  const std::string& path = work.files[index].path;
  std::string place = place_of(path);
  // Nothing of a submission lies in a folder with a dot.
  if (place.empty()) place = ".named/submission" + fs::path(path).extension().string();
  if (work.headers.empty()) place = fs::path(place).filename().string();
  return std::to_string(index) + "/" + place;
}

/// The job of a task, "17_3", and how often it was submitted: its file beside the task.
struct JobOfTask {
  fs::path file;
  std::string job{};
  int attempts = 0;

  explicit JobOfTask(const Task& task) : file(task.folder() / "slurm-job") {
    if (!fs::exists(file)) return;
    std::istringstream text(read_text(file));
    text >> job >> attempts;
  }
};

// Submits an array of jobs. A file for each names its tasks.
void submit(const std::vector<Task>& tasks, const SlurmSettings& settings, double limit_s) {
  static int submissions = 0;
  const fs::path folder = tasks.front().folder().parent_path() / "slurm";
  constexpr std::size_t kMostJobs = 1000;  // Slurm's usual limit of an array (MaxArraySize)
  const auto chunk = std::max(static_cast<std::size_t>(settings.chunk),
                              (tasks.size() + kMostJobs - 1) / kMostJobs);
  const std::size_t jobs = (tasks.size() + chunk - 1) / chunk;
  const std::string list =
      (folder / ("array-" + std::to_string(::time(nullptr)) + "-" + std::to_string(submissions++)))
          .string();
  std::vector<std::string> folders(jobs);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    folders[i / chunk] += tasks[i].folder().string() + "\n";
  }
  for (std::size_t job = 0; job < jobs; ++job) {
    write_atomically(list + "." + std::to_string(job), folders[job]);
  }
  constexpr double kMinute = 60.0;
  const double minutes = std::ceil(limit_s * static_cast<double>(chunk) / kMinute) + 1;
  std::vector<std::string> words = {"--job-name=convlab-class",
                                    "--array=0-" + std::to_string(jobs - 1),
                                    "--time=" + std::to_string(std::lround(minutes)),
                                    "--mem=8G",
                                    "--no-requeue",
                                    "--output=" + list + ".%a.log"};
  if (!settings.gres.empty()) words.push_back("--gres=" + settings.gres);
  words.insert(words.end(), settings.options.begin(), settings.options.end());
  // The folder is a parameter of the script, so that no name is read by a shell.
  write_atomically(folder / "job.sh",
                   "#!/bin/sh\nexec \"$1\" class task \"$2.$SLURM_ARRAY_TASK_ID\"\n");
  words.insert(words.end(),
               {(folder / "job.sh").string(), fs::read_symlink("/proc/self/exe").string(), list});
  const std::string id = submit_to_slurm(words);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const JobOfTask job(tasks[i]);
    write_atomically(job.file, id + "_" + std::to_string(i / chunk) + " " +
                                   std::to_string(job.attempts + 1) + "\n");
  }
}

}  // namespace

const char* to_string(Task::Phase phase) {
  return enum_name(phase, {"correctness", "times", "both"});
}

void Task::write(const MilestoneWork& work, const TaskSettings& settings, Phase phase,
                 const std::optional<CheckResult>& checked) const {
  TaskText task{.limit_s = settings.limit_s, .speed = settings.measures_speed, .phase = phase};
  for (std::size_t i = 0; i < work.files.size(); ++i) {
    // A folder brings its headers along.
    const std::string given = work.headers.empty() ? file_name(i, work) : std::to_string(i);
    const std::string result = result_of(folder_, i).string();
    std::vector<std::string>& words = task.checks.emplace_back(
        std::vector<std::string>{settings.grader, "check", work.milestone, "--solution",
                                 (folder_ / given).string(), "--json", result});
    const auto add = [&](bool wanted, std::initializer_list<std::string> more) {
      if (wanted) words.insert(words.end(), more);
    };
    add(!settings.batches.empty(), {"--batches", settings.batches});
    add(!settings.rules.empty() && !find_task(work.milestone), {"--rules", settings.rules});
    add(!settings.precision.empty(), {"--precision", settings.precision});
    add(phase == Phase::kTimes, {"--times-of", result});
    // Their points do not depend on times.
    add(phase != Phase::kTimes && !work.puzzles.empty(),
        {"--puzzles", (folder_ / kPuzzles).string()});
    add(phase == Phase::kCorrectness || !settings.measures_speed, {"--no-speed"});
  }
  const std::string text = file_text(Json(task));
  // A job of an interrupted grader may be working on it, or has just written its outcome: the same
  // number means the same sources.
  const fs::path file = folder_ / kTaskFile;
  if (fs::exists(file) && read_text(file) == text) return;
  remove();
  for (std::size_t i = 0; i < work.files.size(); ++i) {
    write_atomically(folder_ / file_name(i, work), work.files[i].text);
    for (const SubmittedFile& header : work.headers) {
      const std::string place = place_of(header.path);
      if (!place.empty()) write_atomically(folder_ / std::to_string(i) / place, header.text);
    }
    if (checked) write_check_result(result_of(folder_, i), *checked);
  }
  for (const SubmittedFile& puzzle : work.puzzles) {
    write_atomically(folder_ / kPuzzles / fs::path(puzzle.path).filename(), puzzle.text);
  }
  write_atomically(file, text);
}

double Task::run(double most_s, bool is_rest) const {
  if (outcome()) return 0.0;
  TaskText task;
  const fs::path file = folder_ / kTaskFile;
  read_file_text(read_text(file), file.string(), [&](const Json& json) { json.get_to(task); });
  const std::optional<Outcome> ended = run_checks(task, folder_, std::min(most_s, task.limit_s));
  if (!ended) return 0.0;
  // With what others have left it has not been stopped for good.
  if (!is_rest || ended->state != SubmissionState::kStopped) write_outcome(*ended);
  return ended->seconds;
}

void Task::write_outcome(const Outcome& outcome) const {
  write_atomically(folder_ / kOutcomeFile, file_text(Json(outcome)));
}

std::optional<Outcome> Task::outcome() const {
  const fs::path file = folder_ / kOutcomeFile;
  if (!fs::exists(file)) return std::nullopt;
  Outcome outcome;
  read_file_text(read_text(file), file.string(), [&](const Json& json) { json.get_to(outcome); });
  return outcome;
}

void Task::remove() const {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

static bool has_stage(const CheckResult& check, const std::string& stage) {
  return std::ranges::count(check.cases, stage, &CaseResult::stage) > 0;
}

static void fail_without_required_stages(CheckResult& check) {
  if (!missing_stages(check).empty()) check.result.verdict = Verdict::kFailed;
}

CheckResult merge_checks(const std::vector<CheckResult>& checks) {
  CheckResult merged = checks.front();
  for (const CheckResult& check : checks) {
    if (!merged.score) merged.score = check.score;
  }
  const auto append = [](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  for (std::size_t i = 1; i < checks.size(); ++i) {
    const CheckResult& check = checks[i];
    append(merged.cases, check.cases);
    append(merged.findings, check.findings);
    append(merged.warnings, check.warnings);
    append(merged.evidence, check.evidence);
    append(merged.result.runs, check.result.runs);
    if (merged.basis && check.basis) {
      append(merged.basis->measured, check.basis->measured);
      merged.basis->cases_of.insert(check.basis->cases_of.begin(), check.basis->cases_of.end());
      merged.basis->counted.insert(check.basis->counted.begin(), check.basis->counted.end());
    }
    if (check.result.verdict != Verdict::kPassed) merged.result.verdict = check.result.verdict;
    if (!merged.score || !check.score) continue;
    for (std::size_t item = 0; item < merged.score->items.size(); ++item) {
      const ScoreItem& other = check.score->items.at(item);
      if (has_stage(check, other.stage)) merged.score->items[item] = other;
    }
  }
  fail_without_required_stages(merged);
  return merged;
}

std::optional<CheckResult> judged_again(const CheckResult& kept, const TaskSettings& settings,
                                        const std::string& milestone) {
  const fs::path folder = find_milestone(milestone).folder;
  if (!kept.score || !kept.basis || !fs::exists(folder / "scores.json")) return std::nullopt;
  ScoreRules rules = load_score_rules(folder);
  const auto named = [](const std::string& own, const std::string& of_milestone) {
    return own.empty() ? of_milestone : own;
  };
  const std::string wanted = named(settings.rules, rules.rules);
  const bool has_rules = wanted.empty() || wanted == (kept.rules.empty() ? "workbook" : kept.rules);
  const std::string precision = named(settings.precision, rules.precision);
  const bool has_precision =
      precision.empty() || std::ranges::all_of(kept.evidence, [&](const Evidence& each) {
        return !each.demands.finds_precision && to_string(each.precision) == precision;
      });
  std::string batches;
  for (const int batch : kept.basis->batches) {
    batches += (batches.empty() ? "" : ",") + std::to_string(batch);
  }
  const bool has_batches = settings.batches.empty() || settings.batches == batches;
  if (!has_rules || !has_precision || !has_batches) return std::nullopt;
  name_only_stage(rules, kept.score->items.front().stage);
  std::optional<CheckResult> check = grade_again(kept, rules);
  if (!check) return check;
  if (!settings.measures_speed) {
    leave_out_speed(*check);
  } else if (waits_for_times(*check)) {
    return std::nullopt;
  }
  fail_without_required_stages(*check);
  return check;
}

bool waits_for_times(const CheckResult& check) {
  if (!check.score) return false;
  return std::ranges::any_of(check.score->items, [](const auto& item) {
    return item.item == "speed" && item.credit == Credit::kNotMeasured && item.why == kSpeedLeftOut;
  });
}

void run_locally(const std::vector<Task>& tasks, int jobs, const StudentTime& time,
                 const TaskEnded& ended) {
  std::map<std::int64_t, std::size_t> place_of;
  std::vector<std::vector<std::size_t>> students;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const auto [place, is_new] = place_of.try_emplace(time.students[i], students.size());
    if (is_new) students.emplace_back();
    students[place->second].insert(students[place->second].begin(), i);
  }
  std::mutex mutex;
  in_threads(students.size(), static_cast<std::size_t>(jobs), [&](std::size_t student) {
    for (const std::size_t i : students[student]) {
      std::unique_lock lock(mutex);
      const double left_s = time.left(i);
      const bool is_rest = time.is_rest(i);
      if (stop_asked != 0 || left_s <= 0.0) return;
      lock.unlock();
      const double seconds = tasks[i].run(left_s, is_rest);
      lock.lock();
      time.spend(i, seconds);
      if (stop_asked == 0) ended(i);
    }
  });
}

void run_through_slurm(const std::vector<Task>& tasks, const SlurmSettings& settings,
                       double limit_s, const TaskEnded& ended,
                       const std::function<void(const std::string&)>& waits) {
  constexpr int kAttempts = 3;  // for a task that a node lost
  std::vector<std::size_t> open(tasks.size());
  std::iota(open.begin(), open.end(), std::size_t{0});
  for (auto answered = Clock::now(); stop_asked == 0; wait_a_second()) {
    const auto queue = slurm_queue();
    // Read after the queue: a job that left it has written its outcome.
    std::erase_if(open, [&](std::size_t index) {
      const bool has_ended = tasks[index].outcome().has_value();
      if (has_ended) ended(index);
      return has_ended;
    });
    if (open.empty()) return;
    if (!queue && Clock::now() - answered > std::chrono::minutes(10)) {
      throw EnvironmentError(
          "squeue has not answered for ten minutes; the jobs go on, and the same command "
          "collects what they write.");
    }
    if (!queue) continue;
    answered = Clock::now();
    std::vector<Task> lost;
    std::map<std::string, QueuedJob> own;
    for (const std::size_t index : open) {
      const JobOfTask job(tasks[index]);
      if (const auto queued = queue->find(job.job); queued != queue->end()) {
        own.insert(*queued);
        continue;
      }
      if (job.attempts < kAttempts) {
        lost.push_back(tasks[index]);
      } else {
        tasks[index].write_outcome(
            {.state = SubmissionState::kMachine,
             .sentence = "Slurm lost this submission " + std::to_string(kAttempts) + " times."});
      }
    }
    if (!lost.empty()) submit(lost, settings, limit_s);
    if (own.empty()) continue;
    const auto next = std::ranges::min_element(own, {}, [](const auto& each) {
      return std::pair(!each.second.waits, each.second.before);
    });
    const auto waiting =
        std::ranges::count_if(own, [](const auto& each) { return each.second.waits; });
    waits(std::to_string(own.size() - static_cast<std::size_t>(waiting)) + " jobs run, " +
          std::to_string(waiting) + " wait" +
          (waiting == 0 ? "" : ", " + next->first + ": " + next->second.words));
  }
}

}  // namespace convlab::grader
