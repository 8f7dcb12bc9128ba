#include "grader/measure/counters.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "common/serve/fault_messages.hpp"
#include "grader/checks/element_cases.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/measure/parts.hpp"
#include "grader/submission/build_submission.hpp"

namespace convlab::grader {

namespace {

constexpr std::int64_t kFloat = sizeof(float);

std::int64_t product(const std::array<unsigned, 3>& sizes) {
  return std::int64_t{sizes[0]} * sizes[1] * sizes[2];
}

bool is_tensor(const std::string& kind) {
  return kind.starts_with("tensor");
}

StageCounts counts_of_one(const StageInfo& stage, const ConvShape& layer) {
  StageCounts counts{.stage = stage, .shape = layer};
  counts.shape.batch = 1;
  return counts;
}

void take_counts(Submission& submission, const Call& call, StageCounts& counts) {
  counts.launches = call.notes.launches;
  counts.counted = call.accesses;
  counts.allocated = 0;
  for (const DeviceTransfer& each : call.notes.transfers)
    if (each.what == "allocation") counts.allocated += each.bytes;
  const auto makes = [&](const char* kind) {
    return std::ranges::any_of(counts.counted.products, [&](const ProductNote& note) {
      return note.kind.starts_with(kind);
    });
  };
  if (makes("tensor") || makes("half"))
    counts.product_part = part_of_products(submission, counts, makes("tensor"));
}

}  // namespace

ConvShape drawn_like(ConvShape shape) {
  std::mt19937_64 engine(kCountedSeed);
  const auto below = [&](int count) {
    return static_cast<int>(engine() % static_cast<unsigned>(count));
  };
  constexpr int kStep = 4;  // rows stay aligned
  constexpr int kSteps = 3;
  shape.height -= kStep * (1 + below(kSteps));
  shape.width -= kStep * (1 + below(kSteps));
  shape.batch -= below(1 + shape.batch / kStep);
  return shape;
}

TracedRun run_traced(Submission& submission, const StageInfo& stage, const ConvShape& shape,
                     const std::string& mode, const std::vector<std::string>& settings,
                     bool has_whole_numbers) {
  std::vector<std::string> environment = settings;
  environment.insert(environment.end(), {"CONVLAB_EMU_THREADS=1", "CONVLAB_EMU_TRACE=" + mode});
  submission.set_environment(std::move(environment));
  TracedRun run{.arrays = submission.prepare(shape, Placement::kAligned)};
  fill_random({.shape = shape, .exact = has_whole_numbers}, kCountedSeed, run.arrays);
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
  counts = counts_of_one(stage, layer);
  submission.set_environment({"CONVLAB_EMU_THREADS=1", "CONVLAB_EMU_TRACE=counts"});
  const CaseOutcome outcome = run_case(
      submission, stage,
      {.name = "counted", .shape = counts.shape, .probe = ElementCase::Probe::kNone}, kCountedSeed);
  submission.set_environment({});
  take_counts(submission, outcome.call, counts);
  return outcome.finding;
}

std::optional<Finding> count_stage(Submission& submission, const StageInfo& stage,
                                   const ConvShape& layer, StageCounts& counts) {
  counts = counts_of_one(stage, layer);
  const TracedRun counted = run_traced(submission, stage, counts.shape, "counts");
  if (counted.finding) return counted.finding;
  take_counts(submission, counted.call, counts);
  return run_traced(submission, stage, counts.shape, "races").finding;
}

std::string array_name(const FaultMemory& memory, const std::string& space,
                       const std::string& kernel, const SourceText& sources) {
  std::string name =
      memory.variable == "dynamic" ? sources.dynamic_shared(kernel) : memory.variable;
  if (name.empty()) name = sources.parameter(kernel, memory.argument).name;
  return name.empty() ? space + " memory" : name;
}

std::string array_role(const FaultMemory& memory, const std::string& space,
                       const std::string& kernel, const ConvShape& shape,
                       const SourceText& sources) {
  if (space != "global" || !memory.variable.empty()) return {};
  return array_of_size(shape, memory.bytes / kFloat, array_name(memory, space, kernel, sources));
}

static bool is_of(const AccessNote& note, const char* role, const ConvShape& shape,
                  const SourceText& sources) {
  return array_role(note.memory, note.space, note.kernel, shape, sources) == role;
}

template <class Note>
static std::vector<Note> notes_of(const std::vector<Note>& all, const std::string& kernel) {
  std::vector<Note> notes;
  std::ranges::copy_if(all, std::back_inserter(notes),
                       [&](const Note& note) { return note.kernel == kernel; });
  std::ranges::stable_sort(notes, {}, &Note::line);
  return notes;
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
                        .threads = product(launch.grid) * product(launch.block),
                        .accesses = notes_of(counts.counted.accesses, launch.kernel),
                        .barriers = notes_of(counts.counted.barriers, launch.kernel),
                        .products = notes_of(counts.counted.products, launch.kernel)};
    const auto registers = counts.registers.find(launch.kernel);
    if (registers != counts.registers.end()) kernel.registers = registers->second;
    for (const AccessNote& note : kernel.accesses) {
      if (!note.writes || !is_of(note, "output", counts.shape, sources)) continue;
      kernel.storing = std::max(kernel.storing, note.threads);
    }
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

double loads_per_input(const StageCounts& counts, const SourceText& sources) {
  double bytes = 0.0;
  for (const AccessNote& note : counts.counted.accesses) {
    if (note.writes || !is_of(note, "input", counts.shape, sources)) continue;
    bytes += static_cast<double>(note.lanes) * note.bytes;
  }
  return bytes / static_cast<double>(counts.shape.input_size() * kFloat);
}

Unrolling unrolling_of(const StageCounts& counts, const SourceText& sources) {
  double loaded = 0.0;
  double weights = 0.0;
  auto stored = static_cast<double>(counts.counted.async_bytes);
  for (const AccessNote& note : counts.counted.accesses) {
    const std::string role =
        array_role(note.memory, note.space, note.kernel, counts.shape, sources);
    const double bytes = static_cast<double>(note.lanes) * note.bytes;
    if (note.writes && role != "output" && (note.space == "global" || note.space == "shared")) {
      stored += bytes;
    } else if (!note.writes && note.space == "global") {
      (role == "weights" ? weights : loaded) += bytes;
    }
  }
  const double products = static_cast<double>(counts.shape.multiply_adds()) * kFloat;
  // Weights that a block keeps are stored beside the input; others are loaded for each product.
  if (2.0 * weights <= products) stored = std::max(0.0, stored - weights);
  const double kept = 2.0 * loaded <= products ? std::max(stored, loaded) : stored;
  return {.part = kept * counts.shape.out_channels / products,
          .loads_per_product = loaded / products};
}

// Of constant memory a warp gets a word at a time: what it does not share are loads like others.
static double loads(const StageCounts& counts, bool of_shared) {
  double loads = 0.0;
  for (const AccessNote& note : counts.counted.accesses) {
    if (note.space == "constant") {
      loads += static_cast<double>(note.parts - note.requests);
    } else if ((!note.writes || note.atomic) && (of_shared || note.space != "shared")) {
      loads += static_cast<double>(note.lanes);
    }
  }
  return loads / static_cast<double>(counts.shape.multiply_adds());
}

double loads_per_product(const StageCounts& counts) {
  return loads(counts, true);
}

static constexpr double kSector = 32.0;

double needed_sectors(const AccessNote& note) {
  const double lanes = static_cast<double>(note.lanes) / static_cast<double>(note.requests);
  return std::max(1.0, std::ceil(lanes * note.bytes / kSector));
}

double average_parts(const AccessNote& note) {
  return static_cast<double>(note.parts) / static_cast<double>(note.requests);
}

namespace {

/// Sums over the accesses to one kind of memory, or to all of which the size is known.
struct Sum {
  double requests = 0.0;
  double lanes = 0.0;
  double parts = 0.0;
  double needed = 0.0;
  double conflicts = 0.0;
};

Sum sum_of(const StageCounts& stage, const std::string& space) {
  Sum sum;
  for (const AccessNote& note : stage.counted.accesses) {
    if (space.empty() ? note.bytes == 0 : note.space != space) continue;
    const auto requests = static_cast<double>(note.requests);
    const auto parts = static_cast<double>(note.parts);
    sum.requests += requests;
    sum.lanes += static_cast<double>(note.lanes);
    sum.parts += parts;
    // Fewer if lanes share an address.
    sum.needed += std::min(parts, needed_sectors(note) * requests);
    sum.conflicts += static_cast<double>(note.conflicts);
  }
  return sum;
}

double ratio(double part, double of) {
  return of > 0.0 ? part / of : std::numeric_limits<double>::quiet_NaN();
}

// An output depends on the input, so some loads must have been seen, a half or more for each number
// of a row. Otherwise the kernels load in a way that nobody counts, and no number of theirs is one.
double if_loads_are_seen(const StageCounts& counts, double number) {
  constexpr std::int64_t kLeast = 2;
  std::int64_t bytes = 0;
  for (const AccessNote& note : counts.counted.accesses) {
    if (!note.writes && note.space != "shared") bytes += note.lanes * note.bytes;
  }
  const bool are_seen = bytes >= kLeast * counts.shape.in_channels * counts.shape.out_width();
  return are_seen ? number : std::numeric_limits<double>::quiet_NaN();
}

double sectors_over_needed(const StageCounts& stage) {
  const Sum sum = sum_of(stage, "global");
  return ratio(sum.parts, sum.needed);
}

double bytes_over_least(const StageCounts& stage) {
  const ConvShape& shape = stage.shape;
  const std::int64_t least = shape.input_size() + shape.weights_size() + shape.output_size();
  const double sectors = sum_of(stage, "global").parts + sum_of(stage, "local").parts;
  return if_loads_are_seen(stage, ratio(sectors * kSector, static_cast<double>(least * kFloat)));
}

double conflicts_per_request(const StageCounts& stage) {
  const Sum sum = sum_of(stage, "shared");
  return ratio(sum.conflicts, sum.requests);
}

double active_lanes(const StageCounts& stage) {
  constexpr double kLanes = 32.0;
  const Sum sum = sum_of(stage, "");
  return ratio(sum.lanes, sum.requests * kLanes);
}

// For each multiply-add that the convolution needs, those that are made.
template <class Kind>
double products(const StageCounts& stage, Kind is_kind) {
  double made = 0.0;
  for (const ProductNote& note : stage.counted.products) {
    if (is_kind(note.kind)) made += static_cast<double>(note.multiply_adds);
  }
  return made / static_cast<double>(stage.shape.multiply_adds());
}

double other_products(const StageCounts& stage) {
  return products(stage, [](const std::string& kind) { return !is_tensor(kind); });
}

// What is made in another way need not be made so.
double share_of(double made, double made_otherwise) {
  return std::min(made, std::max(0.0, 1.0 - made_otherwise));
}

double tensor_share(const StageCounts& stage) {
  return share_of(std::min(stage.product_part, products(stage, is_tensor)), other_products(stage));
}

double ptx_share(const StageCounts& stage) {
  const double made = products(stage, [](const std::string& kind) { return kind == "tensor-ptx"; });
  return share_of(std::min(stage.product_part, made), products_made(stage) - made);
}

// @param kind  "half" for all of them, "half2" for those of two at once
double half_share(const StageCounts& stage, const char* kind) {
  const auto of_halves = [&](const std::string& each) { return each.starts_with(kind); };
  const double all = products_made(stage);
  const double halves = products(stage, of_halves);
  return share_of(std::min(stage.product_part, halves), all - halves);
}

double lanes_of(const StageCounts& stage, const std::string& space, bool atomic) {
  double lanes = 0.0;
  for (const AccessNote& note : stage.counted.accesses) {
    const bool counts = atomic ? note.atomic : !note.writes;
    if (counts && note.space == space) lanes += static_cast<double>(note.lanes);
  }
  return lanes;
}

double for_each_product(double number, const StageCounts& stage) {
  return number / static_cast<double>(stage.shape.multiply_adds());
}

}  // namespace

double products_made(const StageCounts& counts) {
  return products(counts, [](const std::string& /*kind*/) { return true; });
}

const std::vector<Counter>& counters() {
  static const std::vector<Counter> all = [] {
    std::vector<Counter> list = {
        {"loads-per-product", "loads for each multiply-add", false,
         [](const StageCounts& stage) { return if_loads_are_seen(stage, loads(stage, true)); }},
        {"global-loads-per-product", "of these, from global memory", false,
         [](const StageCounts& stage) { return if_loads_are_seen(stage, loads(stage, false)); }},
        {"bytes-over-least", "global bytes moved, times the least", false, bytes_over_least},
        {"sectors-over-needed", "sectors moved, times those needed", false, sectors_over_needed},
        {"conflicts-per-request", "bank conflicts for each request", false, conflicts_per_request},
        {"active-lanes", "lanes active in a request", true, active_lanes},
        {"tensor-share", "multiply-adds on tensor cores", true, tensor_share},
        {"shared-loads-per-product", "loads from shared memory for each multiply-add", false,
         [](const StageCounts& stage) {
           return for_each_product(lanes_of(stage, "shared", false), stage);
         },
         true},
        {"constant-loads-per-product", "loads from constant memory for each multiply-add", false,
         [](const StageCounts& stage) {
           return for_each_product(lanes_of(stage, "constant", false), stage);
         },
         true},
        {"shuffles-per-product", "values from another lane for each multiply-add", false,
         [](const StageCounts& stage) {
           return for_each_product(static_cast<double>(stage.counted.shuffles), stage);
         },
         true},
        {"atomics-per-output", "atomic operations for each output", false,
         [](const StageCounts& stage) {
           return lanes_of(stage, "global", true) / static_cast<double>(stage.shape.output_size());
         },
         true},
        {"stores-per-output", "numbers stored in global memory for each output", false,
         [](const StageCounts& stage) {
           double bytes = 0.0;
           for (const AccessNote& note : stage.counted.accesses)
             if (note.writes && !note.atomic && note.space == "global")
               bytes += static_cast<double>(note.lanes) * note.bytes;
           return bytes / static_cast<double>(stage.shape.output_size() * kFloat);
         },
         true},
        {"workspace-per-output", "numbers allocated beside the arrays, for each output", false,
         [](const StageCounts& stage) {
           const ConvShape& s = stage.shape;
           const std::int64_t arrays = s.input_size() + s.weights_size() + s.output_size();
           return static_cast<double>(stage.allocated / kFloat - arrays) /
                  static_cast<double>(s.output_size());
         },
         true},
        {"async-copies-per-input",
         "bytes copied asynchronously into shared memory, over the input's", false,
         [](const StageCounts& stage) {
           return static_cast<double>(stage.counted.async_bytes) /
                  static_cast<double>(stage.shape.input_size() * kFloat);
         },
         true},
        {"products-over-needed", "products that are made, over the multiply-adds", false,
         [](const StageCounts& stage) {
           const double made = products_made(stage);
           // None means that nobody saw them.
           return made > 0.0 ? made : std::numeric_limits<double>::quiet_NaN();
         },
         true},
        {"ptx-share", "multiply-adds on tensor cores by inline PTX", true, ptx_share, true},
        {"half-share", "multiply-adds of halves", true,
         [](const StageCounts& stage) { return half_share(stage, "half"); }, true},
        {"half2-share", "multiply-adds of half2", true,
         [](const StageCounts& stage) { return half_share(stage, "half2"); }, true},
        {"products-of-a-thread", "products of one thread, over those of an output", false,
         [](const StageCounts& stage) {
           return static_cast<double>(stage.counted.most_products) /
                  static_cast<double>(stage.shape.taps());
         },
         true},
        {"outputs-of-a-thread", "outputs for each thread that multiplies", false,
         [](const StageCounts& stage) {
           return ratio(static_cast<double>(stage.shape.output_size()),
                        static_cast<double>(stage.counted.product_threads));
         },
         true},
        {"launches", "launches of kernels", false,
         [](const StageCounts& stage) { return static_cast<double>(stage.launches.size()); },
         true}};
    for (const Part& part : all_parts()) {
      const auto measured = [id = std::string(part.id)](const StageCounts& stage) {
        const auto known = stage.parts.find(id);
        return known == stage.parts.end() ? std::numeric_limits<double>::quiet_NaN()
                                          : known->second;
      };
      list.push_back({part.id, part.title, true, measured, true, true});
    }
    return list;
  }();
  return all;
}

std::map<std::string, double> values_of(const StageCounts& counts) {
  std::map<std::string, double> values;
  for (const Counter& counter : counters()) {
    const double value = counter.value(counts);
    if (!std::isnan(value)) values.emplace(counter.id, value);
  }
  return values;
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

}  // namespace convlab::grader
