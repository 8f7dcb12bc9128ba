#include "grader/grading/luck.hpp"

#include <algorithm>
#include <memory>
#include <regex>
#include <set>
#include <utility>

#include "grader/checks/behaviour_check.hpp"
#include "grader/checks/device_analysis.hpp"
#include "grader/findings/catalogue.hpp"
#include "grader/findings/course_findings.hpp"
#include "reference/oracle/comparison.hpp"

namespace convlab::grader {

namespace {

constexpr const char* kForgiven = "CONVLAB_EMU_READS=forgiven";
const std::string kLockstep = "CONVLAB_EMU_LOCKSTEP=";

bool all_right(Submission& submission, const StageInfo& stage,
               const std::vector<ElementCase>& cases, std::uint64_t seed) {
  return std::all_of(cases.begin(), cases.end(), [&](const ElementCase& test) {
    return !run_case(submission, stage, test, ++seed).finding;
  });
}

// Runs the cases with warps in lockstep. Nothing if a case is wrong or no lane relies on another.
std::optional<Luck> find_warp_sync(const std::filesystem::path& program, const StageInfo& stage,
                                   const std::vector<ElementCase>& cases, std::uint64_t seed,
                                   std::vector<std::string> environment) {
  Submission submission(program);
  environment.push_back(kLockstep + "all");
  submission.set_environment(environment);
  std::optional<FaultRecord> told;
  std::string where;
  std::set<std::string> places;
  for (const ElementCase& test : cases) {
    const Arrays arrays = submission.prepare(test.shape, Placement::kAligned);
    fill_random(test, ++seed, arrays);
    const Call call = submission.run(stage.id);
    const auto tolerance =
        test.exact ? oracle::Tolerance::exact() : oracle::Tolerance::of(stage.precision);
    if (call.failure ||
        !oracle::compare(test.shape, arrays.input, arrays.weights, arrays.output, tolerance)
             .passed(test.shape)) {
      return std::nullopt;
    }
    if (!call.warp_sync) continue;
    places.insert(call.warp_sync->text);
    if (told) continue;
    told = call.warp_sync;
    where = "case '" + test.name + "'";
  }
  if (!told) return std::nullopt;
  std::string list;
  for (const std::string& each : places) list += (list.empty() ? "" : ",") + each;
  environment.back() = kLockstep + list;
  return Luck{warp_sync_finding(*told, where), program, environment};
}

// Null if the program does not answer.
std::unique_ptr<Submission> start(const EmulatedProgram& emulated, const SourceText& sources) {
  auto submission = std::make_unique<Submission>(emulated.program);
  submission->set_sources(sources);
  std::vector<StageInfo> stages;
  if (submission->list_stages(stages)) return nullptr;
  return submission;
}

}  // namespace

std::optional<Luck> find_luck(const BuildEmulated& build, const StageInfo& stage,
                              const std::vector<ElementCase>& cases, std::uint64_t seed,
                              const Finding& found) {
  const bool outside = found.id == "E-outside";
  if (outside) {
    if (const auto program = build(false).program; !program.empty()) {
      Submission submission(program);
      submission.set_environment({kForgiven});
      if (all_right(submission, stage, cases, seed)) return Luck{found, program, {kForgiven}};
    }
  }
  const std::filesystem::path program = build(true).program;
  if (program.empty()) return std::nullopt;
  auto luck = find_warp_sync(program, stage, cases, seed, {});
  if (!luck) luck = find_warp_sync(program, stage, cases, seed, {kForgiven});
  return luck;
}

std::optional<Finding> look_closer(const BuildEmulated& build, const SourceText& sources,
                                   const StageInfo& stage, const ElementCase& test,
                                   std::uint64_t seed, const Finding& found) {
  const EmulatedProgram emulated = build(false);
  if (emulated.program.empty()) {
    if (found.id != "E-outside" || !emulated.refused || emulated.refused->id != "E-build") {
      return std::nullopt;
    }
    Finding refused = *emulated.refused;
    refused.title = "it should not compile";
    refused.cause =
        "nvcc accepts this line; the compiler for the emulated device names the mistake in it.";
    refused.next = "Change this line, then check again.";
    refused.seen += "\nOn the GPU a kernel then accesses memory outside its arrays (E-outside).";
    return refused;
  }
  const auto submission = start(emulated, sources);
  if (!submission) return std::nullopt;
  // Few images are quick and usually enough.
  auto closer = run_case(*submission, stage, with_few_images({test}).front(), seed).finding;
  if (!closer) closer = run_case(*submission, stage, test, seed).finding;
  if (!closer || closer->id == "E-wrong" || closer->id == "E-unsupported") return std::nullopt;
  closer->seen +=
      "\nSeen on the emulated device, which ran the case again; the GPU reported " + found.id + ".";
  return closer;
}

std::optional<Finding> rehearse(const BuildEmulated& build, const SourceText& sources,
                                const StageInfo& stage, const CasePlan& plan, std::uint64_t seed) {
  const EmulatedProgram emulated = build(false);
  if (emulated.program.empty()) return std::nullopt;
  const auto started = start(emulated, sources);
  if (!started) return std::nullopt;
  Submission& submission = *started;
  CasePlan small = plan;
  small.repeated = with_few_images(plan.repeated);
  std::uint64_t next = seed;
  for (const ElementCase& test : small.repeated) {
    CaseOutcome outcome = run_case(submission, stage, test, ++next);
    if (outcome.finding) return outcome.finding;
  }
  if (auto found = check_slices(submission, stage, small, seed)) return found;
  if (auto found = check_order(submission, stage, small, seed)) return found;
  return check_leaks(submission, stage, small.repeated.front().shape, seed);
}

namespace {

// The lines that declare a variable before a parallel loop and change it inside. Nothing if there
// are no such lines.
std::optional<Finding> name_shared_variable(const SourceText& sources, const std::string& seen) {
  static const std::regex declares(R"(^(?:float|double|int|auto)\s+(\w+)\s*(=[^;]*)?;)");
  constexpr int kNear = 40;
  for (const auto& pragma : sources.lines_with({"#pragma", "omp", "parallel"})) {
    const std::string clauses = sources.line(pragma.file, pragma.line);
    for (int before = std::max(1, pragma.line - kNear); before < pragma.line; ++before) {
      const std::string line = sources.line(pragma.file, before);
      std::smatch part;
      if (!std::regex_search(line, part, declares)) continue;
      const std::string name = part[1];
      if (std::regex_search(clauses, std::regex("\\b" + name + "\\b"))) continue;
      const std::regex changes("\\b" + name + "\\s*[-+*]?=[^=]");
      for (int inside = pragma.line + 1; inside < pragma.line + kNear; ++inside) {
        if (!std::regex_search(sources.line(pragma.file, inside), changes)) continue;
        Finding found = finding("E-race", seen + sources.quote(pragma.file, before) +
                                              sources.quote(pragma.file, pragma.line) +
                                              sources.quote(pragma.file, inside));
        found.cause = "`" + name +
                      "` is declared before the parallel loop, so all threads share it: "
                      "each changes it while the others add up.";
        found.next =
            "Declare it inside the loop, where each output begins, so that each thread has "
            "its own; for one sum of all threads write reduction(+ : " +
            name + ").";
        return found;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Finding> find_shared_variable(const std::function<std::filesystem::path()>& build,
                                            const SourceText& sources, const StageInfo& stage,
                                            std::uint64_t seed) {
  if (!build || sources.lines_with({"#pragma", "omp", "parallel"}).empty()) return std::nullopt;
  const std::filesystem::path program = build();
  if (program.empty()) return std::nullopt;
  const auto plain = start({.program = program}, sources);
  if (!plain) return std::nullopt;
  const ElementCase test{"several threads", {16, 8, 4, 24, 24, 5, 1}, true};
  constexpr int kTries = 3;
  for (int i = 0; i < kTries; ++i) {
    const auto wrong = run_case(*plain, stage, test, seed).finding;
    if (!wrong) continue;
    const std::string seen = "Compiled without optimisation: " + wrong->seen;
    if (auto named = name_shared_variable(sources, seen)) return named;
    Finding found = finding("E-race", seen);
    found.title = "right only with optimisation";
    found.cause =
        "OpenMP threads change a variable that they share, or a variable has no start value.";
    found.next = "Declare each variable inside the loop that uses it, and give it a start value.";
    return found;
  }
  return std::nullopt;
}

bool may_be_luck(const Finding& finding) {
  static const std::set<std::string> certain = {
      "E-build",          "E-not-implemented", "E-no-stage",     "E-library",
      "E-exit",           "E-launch",          "E-empty-grid",   "E-timed-phase-empty",
      "E-no-kernel",      "E-timeout",         "E-memory",       "E-null",
      "E-device-pointer", "E-stride",          "E-precision",    "E-forbidden",
      "E-cuda-call",      "E-flood",           "E-rounded-down", "E-first-map",
      "E-channel",        "E-first-channel",   "E-last-channel", "E-first-image",
      "E-height-width"};
  return !certain.contains(finding.id);
}

bool holds_everywhere(const Finding& finding) {
  static const std::set<std::string> certain = {
      "E-outside",        "E-misaligned",     "E-uninitialised", "E-unwritten-memory",
      "E-never-written",  "E-partly-written", "E-race",          "E-barrier",
      "E-unsynchronised", "E-side-stream",    "E-leak",          "E-slices"};
  return certain.contains(finding.id);
}

std::vector<ElementCase> with_few_images(std::vector<ElementCase> cases) {
  constexpr int kFew = 1;
  for (ElementCase& test : cases) test.shape.batch = std::min(test.shape.batch, kFew);
  return cases;
}

}  // namespace convlab::grader
