#include "grader/measure/stage_counts.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "common/serve/fault_messages.hpp"
#include "grader/checks/element_cases.hpp"
#include "grader/checks/findings/catalogue.hpp"

namespace convlab::grader {

namespace {

constexpr std::uint64_t kSeed = 7;
constexpr std::int64_t kFloat = sizeof(float);

std::int64_t product(const std::array<unsigned, 3>& sizes) {
  return std::int64_t{sizes[0]} * sizes[1] * sizes[2];
}

// By how much less the outputs sum up to if tensor cores add nothing; of positive numbers, so that
// this is their part of the products.
double part_on_tensor_cores(Submission& submission, const StageInfo& stage,
                            const ConvShape& shape) {
  std::array<double, 2> sums{};
  for (const bool adds : {true, false}) {
    submission.set_environment({"CONVLAB_EMU_THREADS=1",
                                adds ? "CONVLAB_EMU_PRODUCTS=made" : "CONVLAB_EMU_PRODUCTS=none"});
    const Arrays arrays = submission.prepare(shape, Placement::kAligned);
    fill_random({.shape = shape, .exact = true}, kSeed, arrays);
    for (std::int64_t i = 0; i < shape.input_size(); ++i)
      arrays.input[i] = std::abs(arrays.input[i]);
    for (std::int64_t i = 0; i < shape.weights_size(); ++i) {
      arrays.weights[i] = std::abs(arrays.weights[i]);
    }
    const bool failed = submission.run(stage.id).failure.has_value();
    submission.set_environment({});
    if (failed) return 0.0;
    for (std::int64_t i = 0; i < shape.output_size(); ++i) {
      sums[adds ? 0 : 1] += static_cast<double>(arrays.output[i]);
    }
  }
  return sums[0] > 0.0 ? std::clamp(1.0 - sums[1] / sums[0], 0.0, 1.0) : 0.0;
}

void take_counts(Submission& submission, const Call& call, StageCounts& counts) {
  counts.launches = call.notes.launches;
  counts.counted = call.accesses;
  if (std::ranges::count(counts.counted.products, "tensor", &ProductNote::kind) == 0) return;
  counts.tensor_part = part_on_tensor_cores(submission, counts.stage, counts.shape);
}

}  // namespace

TracedRun run_traced(Submission& submission, const StageInfo& stage, const ConvShape& shape,
                     const std::string& mode, const std::vector<std::string>& settings) {
  std::vector<std::string> environment = settings;
  environment.insert(environment.end(), {"CONVLAB_EMU_THREADS=1", "CONVLAB_EMU_TRACE=" + mode});
  submission.set_environment(std::move(environment));
  TracedRun run{.arrays = submission.prepare(shape, Placement::kAligned)};
  fill_random({.shape = shape, .exact = true}, kSeed, run.arrays);
  run.call = submission.run(stage.id);
  submission.set_environment({});
  const std::string where = "a convolution of " + to_string(shape);
  if (run.call.race) {
    run.finding =
        finding(message_of(*run.call.race, shape, submission.sources()), "In " + where + ": ");
  } else if (run.call.failure) {
    run.finding = explain(*run.call.failure, where);
  }
  return run;
}

std::optional<Finding> count_accesses(Submission& submission, const StageInfo& stage,
                                      const ConvShape& layer, StageCounts& counts) {
  counts.stage = stage;
  counts.shape = layer;
  counts.shape.batch = 1;
  submission.set_environment({"CONVLAB_EMU_THREADS=1", "CONVLAB_EMU_TRACE=counts"});
  const CaseOutcome outcome = run_case(
      submission, stage,
      {.name = "counted", .shape = counts.shape, .probe = ElementCase::Probe::kNone}, kSeed);
  submission.set_environment({});
  take_counts(submission, outcome.call, counts);
  return outcome.finding;
}

std::optional<Finding> count_stage(Submission& submission, const StageInfo& stage,
                                   const ConvShape& layer, StageCounts& counts) {
  counts.stage = stage;
  counts.shape = layer;
  counts.shape.batch = 1;
  const TracedRun counted = run_traced(submission, stage, counts.shape, "counts");
  if (counted.finding) return counted.finding;
  take_counts(submission, counted.call, counts);
  return run_traced(submission, stage, counts.shape, "races").finding;
}

std::string array_name(const AccessNote& note, const SourceText& sources) {
  std::string name = note.memory.variable;
  if (name == "dynamic") name = sources.dynamic_shared(note.kernel);
  if (name.empty()) name = sources.parameter(note.kernel, note.memory.argument).name;
  return name.empty() ? note.space + " memory" : name;
}

std::string array_name(const BarrierNote& note, const SourceText& sources) {
  const std::string name =
      note.variable == "dynamic" ? sources.dynamic_shared(note.kernel) : note.variable;
  return name.empty() ? "shared memory" : name;
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
      ++known->launches;
      known->launched_blocks += product(launch.grid);
      continue;
    }
    KernelCounts kernel{.launch = launch,
                        .launches = 1,
                        .blocks = product(launch.grid),
                        .launched_blocks = product(launch.grid),
                        .threads = product(launch.grid) * product(launch.block)};
    const auto registers = counts.registers.find(launch.kernel);
    if (registers != counts.registers.end()) kernel.registers = registers->second;
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
    for (const ProductNote& note : counts.counted.products) {
      if (note.kernel == launch.kernel) kernel.products.push_back(note);
    }
    std::ranges::stable_sort(kernel.accesses, {}, &AccessNote::line);
    std::ranges::stable_sort(kernel.barriers, {}, &BarrierNote::line);
    std::ranges::stable_sort(kernel.products, {}, &ProductNote::line);
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

// An atomic operation loads, too. Of constant memory a warp gets a word at a time: what it does not
// share are loads like others.
double loads_per_product(const StageCounts& counts, const std::set<std::string>& spaces) {
  double loads = 0.0;
  for (const AccessNote& note : counts.counted.accesses) {
    if (!spaces.contains(note.space)) continue;
    if (note.space == "constant") {
      loads += static_cast<double>(note.parts - note.requests);
    } else if (!note.writes || note.atomic) {
      loads += static_cast<double>(note.lanes);
    }
  }
  return loads / static_cast<double>(counts.shape.multiply_adds());
}

double needed_sectors(const AccessNote& note) {
  constexpr double kSector = 32.0;
  const double lanes = static_cast<double>(note.lanes) / static_cast<double>(note.requests);
  return std::max(1.0, std::ceil(lanes * note.bytes / kSector));
}

double average_parts(const AccessNote& note) {
  return static_cast<double>(note.parts) / static_cast<double>(note.requests);
}

}  // namespace convlab::grader
