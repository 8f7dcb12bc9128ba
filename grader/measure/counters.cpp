#include "grader/measure/counters.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "common/base/error.hpp"
#include "common/base/unknown_name.hpp"
#include "common/base/whole_file.hpp"
#include "common/network/preset.hpp"
#include "common/result/json_fields.hpp"
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

namespace {

constexpr double kSector = 32.0;
constexpr double kLanes = 32.0;

/// Sums over the accesses that count.
struct Sum {
  double requests = 0.0;
  double lanes = 0.0;
  double parts = 0.0;
  double needed = 0.0;
  double conflicts = 0.0;
};

template <class Counts>
Sum sum_of(const StageCounts& stage, const Counts& counts) {
  Sum sum;
  for (const AccessNote& note : stage.counted.accesses) {
    if (!counts(note)) continue;
    sum.requests += static_cast<double>(note.requests);
    sum.lanes += static_cast<double>(note.lanes);
    sum.parts += static_cast<double>(note.parts);
    sum.needed += std::min(static_cast<double>(note.parts),  // fewer if lanes share an address
                           needed_sectors(note) * static_cast<double>(note.requests));
    sum.conflicts += static_cast<double>(note.conflicts);
  }
  return sum;
}

bool is_global(const AccessNote& note) {
  return note.space == "global";
}
bool is_shared(const AccessNote& note) {
  return note.space == "shared";
}
double ratio(double part, double of) {
  return of > 0.0 ? part / of : std::numeric_limits<double>::quiet_NaN();
}

double sectors_over_needed(const StageCounts& stage) {
  const Sum sum = sum_of(stage, is_global);
  return ratio(sum.parts, sum.needed);
}

double bytes_over_least(const StageCounts& stage) {
  const ConvShape& shape = stage.shape;
  const auto least =
      static_cast<double>(shape.input_size() + shape.weights_size() + shape.output_size()) *
      sizeof(float);
  return ratio(sum_of(stage, is_global).parts * kSector, least);
}

double conflicts_per_request(const StageCounts& stage) {
  const Sum sum = sum_of(stage, is_shared);
  return ratio(sum.conflicts, sum.requests);
}

double active_lanes(const StageCounts& stage) {
  const Sum sum = sum_of(stage, [](const AccessNote& note) { return note.bytes > 0; });
  return ratio(sum.lanes, sum.requests * kLanes);
}

double tensor_share(const StageCounts& stage) {
  double made = 0.0;
  for (const ProductNote& note : stage.counted.products) {
    if (note.kind == "tensor") made += static_cast<double>(note.multiply_adds);
  }
  return std::min(stage.tensor_part, ratio(made, static_cast<double>(stage.shape.multiply_adds())));
}

}  // namespace

const std::vector<Counter>& counters() {
  static const std::vector<Counter> all = {
      {"loads-per-product", "loads for each multiply-add", false,
       [](const StageCounts& stage) { return loads_per_product(stage); }},
      {"global-loads-per-product", "of these, from global memory", false,
       [](const StageCounts& stage) {
         return loads_per_product(stage, {"global", "constant"});
       }},
      {"bytes-over-least", "global bytes moved, over the least", false, bytes_over_least},
      {"sectors-over-needed", "sectors moved, over those needed", false, sectors_over_needed},
      {"conflicts-per-request", "bank conflicts for each request", false, conflicts_per_request},
      {"active-lanes", "lanes active in a request", true, active_lanes},
      {"tensor-share", "multiply-adds on tensor cores", true, tensor_share}};
  return all;
}

const Counter* find_counter(std::string_view id) {
  const auto found = std::ranges::find(counters(), id, &Counter::id);
  return found == counters().end() ? nullptr : &*found;
}

std::int64_t shared_bytes_of(const KernelCounts& kernel) {
  std::map<std::string, std::int64_t> arrays;
  for (const AccessNote& note : kernel.accesses) {
    if (note.space == "shared") arrays[note.memory.variable] = note.memory.bytes;
  }
  std::int64_t sum = 0;
  for (const auto& [name, bytes] : arrays) sum += bytes;
  return sum;
}

using convlab::from_json;

static void json_fields(JsonFields& fields, MultiprocessorLimits& limits) {
  fields("threads", limits.threads, "blocks", limits.blocks, "shared_kib", limits.shared_kib,
         "reserved_kib", limits.reserved_kib);
}

static void json_fields(JsonFields& fields, Gpu& gpu) {
  fields("name", gpu.name, "capability", gpu.capability, "multiprocessors", gpu.multiprocessors,
         "clock_mhz", gpu.clock_mhz, "dram_gb_per_s", gpu.dram_gb_per_s, "fp32_tflops",
         gpu.fp32_tflops, "fp16_tensor_tflops", gpu.fp16_tensor_tflops);
  gpu.tf32_tensor_tflops = gpu.fp16_tensor_tflops;
  fields.defaulted("tf32_tensor_tflops", gpu.tf32_tensor_tflops);
}

Json measure_file(const std::string& name) {
  const auto course = network_folder().parent_path().parent_path();  // of ROOT/common/network
  return parse_json(read_text(course / "grader/measure" / name));
}

const std::vector<Gpu>& published_gpus() {
  static const std::vector<Gpu> gpus = [] {
    const auto json = measure_file("gpus.json");
    auto all = json.at("gpus").get<std::vector<Gpu>>();
    for (Gpu& gpu : all) json.at("capabilities").at(gpu.capability).get_to(gpu.multiprocessor);
    return all;
  }();
  return gpus;
}

ResidentBlocks resident_blocks(const MultiprocessorLimits& limits, int warps,
                               std::int64_t shared_bytes, int registers) {
  constexpr int kWarp = 32;
  constexpr int kRegisters = 65536;
  constexpr int kAtATime = 256;  // a warp gets so many
  constexpr std::int64_t kKiB = 1024;
  ResidentBlocks resident{.blocks = limits.blocks, .limited_by = "blocks"};
  const auto limit = [&](std::int64_t blocks, const char* by) {
    if (blocks < resident.blocks) resident = {.blocks = static_cast<int>(blocks), .limited_by = by};
  };
  limit(limits.threads / std::max(kWarp, warps * kWarp), "threads");
  if (shared_bytes > 0) {
    limit(limits.shared_kib * kKiB / (shared_bytes + limits.reserved_kib * kKiB), "shared memory");
  }
  if (registers > 0) {
    const int of_warp = (registers * kWarp + kAtATime - 1) / kAtATime * kAtATime;
    limit(kRegisters / (of_warp * std::max(1, warps)), "registers");
  }
  resident.share = static_cast<double>(resident.blocks) * warps * kWarp / limits.threads;
  if (resident.share >= 1.0) resident.limited_by = "threads";
  return resident;
}

}  // namespace convlab::grader
