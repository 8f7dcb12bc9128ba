#include "grader/measure/stage_counts.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "common/serve/fault_words.hpp"
#include "grader/checks/element_cases.hpp"
#include "grader/checks/findings/catalogue.hpp"

namespace convlab::grader {

namespace {

constexpr std::uint64_t kSeed = 7;
constexpr std::int64_t kFloat = sizeof(float);

std::vector<std::string> settings(const std::string& mode) {
  return {"CONVLAB_EMU_THREADS=1", "CONVLAB_EMU_TRACE=" + mode};
}

void begin_counts(StageCounts& counts, const StageInfo& stage, const ConvShape& layer) {
  counts.stage = stage;
  counts.shape = layer;
  counts.shape.batch = 1;
}

void take_counts(StageCounts& counts, const Call& call) {
  counts.launches = call.notes.launches;
  counts.counted = call.accesses;
}

std::optional<Finding> run_once(Submission& submission, const StageInfo& stage,
                                const ConvShape& shape, const std::string& mode, Call& call) {
  submission.set_environment(settings(mode));
  fill_random({.shape = shape, .exact = true}, kSeed,
              submission.prepare(shape, Placement::kAligned));
  call = submission.run(stage.id);
  submission.set_environment({});
  const std::string where = "a convolution of " + to_string(shape);
  if (call.race)
    return finding(words_of(*call.race, shape, submission.sources()), "In " + where + ": ");
  if (!call.failure) return std::nullopt;
  return explain(*call.failure, where);
}

std::int64_t product(const std::array<unsigned, 3>& sizes) {
  return std::int64_t{sizes[0]} * sizes[1] * sizes[2];
}

}  // namespace

std::optional<Finding> count_accesses(Submission& submission, const StageInfo& stage,
                                      const ConvShape& layer, StageCounts& counts) {
  begin_counts(counts, stage, layer);
  submission.set_environment(settings("counts"));
  const CaseOutcome outcome = run_case(
      submission, stage,
      {.name = "counted", .shape = counts.shape, .probe = ElementCase::Probe::kNone}, kSeed);
  submission.set_environment({});
  take_counts(counts, outcome.call);
  return outcome.finding;
}

std::optional<Finding> count_stage(Submission& submission, const StageInfo& stage,
                                   const ConvShape& layer, StageCounts& counts) {
  begin_counts(counts, stage, layer);
  Call call;
  if (auto found = run_once(submission, stage, counts.shape, "counts", call)) return found;
  take_counts(counts, call);
  if (auto found = run_once(submission, stage, counts.shape, "races", call)) return found;
  ConvShape ten = layer;
  ten.batch = 10;
  if (auto found = run_once(submission, stage, ten, "off", call)) return found;
  counts.launches_of_10 = call.notes.launches;
  return std::nullopt;
}

std::string array_name(const AccessNote& note, const SourceText& sources) {
  std::string name = note.memory.variable;
  if (name == "dynamic") name = sources.dynamic_shared(note.kernel);
  if (name.empty()) name = sources.parameter(note.kernel, note.memory.argument).name;
  return name.empty() ? note.space + " memory" : name;
}

std::string array_role(const AccessNote& note, const ConvShape& shape, const SourceText& sources) {
  if (note.space != "global" || !note.memory.variable.empty()) return {};
  return array_of_size(shape, note.memory.bytes / kFloat, array_name(note, sources));
}

std::vector<KernelCounts> kernels_of(const StageCounts& counts, const SourceText& sources) {
  std::vector<KernelCounts> kernels;
  for (const DeviceLaunch& launch : counts.launches) {
    const auto known = std::ranges::find_if(
        kernels, [&](const KernelCounts& each) { return each.launch.kernel == launch.kernel; });
    if (known != kernels.end()) {
      known->launched_blocks += product(launch.grid);
      continue;
    }
    KernelCounts kernel{.launch = launch,
                        .blocks = product(launch.grid),
                        .launched_blocks = product(launch.grid),
                        .threads = product(launch.grid) * product(launch.block)};
    for (const AccessNote& note : counts.counted.accesses) {
      if (note.kernel != launch.kernel) continue;
      kernel.accesses.push_back(note);
      if (!note.writes || array_role(note, counts.shape, sources) != "output") continue;
      kernel.storing = std::max(kernel.storing, note.threads);
      kernel.outputs_of_one += note.most_by_one * note.bytes / kFloat;
    }
    for (const BarrierNote& note : counts.counted.barriers) {
      if (note.kernel == launch.kernel) kernel.barriers.push_back(note);
    }
    std::ranges::stable_sort(kernel.accesses, {}, &AccessNote::line);
    std::ranges::stable_sort(kernel.barriers, {}, &BarrierNote::line);
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

double loads_per_input(const StageCounts& counts, const SourceText& sources) {
  double bytes = 0.0;
  for (const AccessNote& note : counts.counted.accesses) {
    if (note.writes || array_role(note, counts.shape, sources) != "input") continue;
    bytes += static_cast<double>(note.lanes) * note.bytes;
  }
  return bytes / static_cast<double>(counts.shape.input_size() * kFloat);
}

namespace {

double per_product(const StageCounts& counts, const std::set<std::string>& spaces) {
  double loads = 0.0;
  for (const AccessNote& note : counts.counted.accesses) {
    if (!note.writes && spaces.contains(note.space)) loads += static_cast<double>(note.lanes);
  }
  return loads / static_cast<double>(counts.shape.multiply_adds());
}

}  // namespace

double shared_loads_per_product(const StageCounts& counts) {
  return per_product(counts, {"shared"});
}

double loads_per_product(const StageCounts& counts) {
  return per_product(counts, {"global", "shared"});
}

double needed_sectors(const AccessNote& note) {
  constexpr double kSector = 32.0;
  const double lanes = static_cast<double>(note.lanes) / static_cast<double>(note.requests);
  return std::max(1.0, std::ceil(lanes * note.bytes / kSector));
}

double average_parts(const AccessNote& note) {
  return static_cast<double>(note.parts) / static_cast<double>(note.requests);
}

std::optional<std::array<std::int64_t, 3>> grid_at(const StageCounts& counts,
                                                   const KernelCounts& kernel, int batch) {
  const auto of_10 = std::find_if(
      counts.launches_of_10.begin(), counts.launches_of_10.end(),
      [&](const DeviceLaunch& launch) { return launch.kernel == kernel.launch.kernel; });
  if (of_10 == counts.launches_of_10.end()) return std::nullopt;
  std::array<std::int64_t, 3> grid{};
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const std::int64_t one = kernel.launch.grid[i];
    const std::int64_t ten = of_10->grid[i];
    if (ten != one && ten != one * 10) return std::nullopt;
    grid[i] = ten == one ? one : one * batch;
  }
  return grid;
}

}  // namespace convlab::grader
