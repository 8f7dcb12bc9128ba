#include "grader/measure/estimate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "common/base/whole_file.hpp"
#include "common/network/preset.hpp"
#include "grader/measure/counters.hpp"

namespace convlab::grader {

namespace {

constexpr double kLanesOfWarp = 32.0;
constexpr double kSectorBytes = 32.0;
constexpr double kSectorsOfPass = 4.0;

KernelWork work_of_kernel(const KernelCounts& kernel) {
  const auto& block = kernel.launch.block;
  KernelWork work{
      .kernel = kernel.launch.kernel,
      .tensor_multiply_adds = static_cast<double>(kernel.tensor_multiply_adds),
      .block_warps = std::ceil(double{1} * block[0] * block[1] * block[2] / kLanesOfWarp),
      .shared_bytes = static_cast<double>(shared_bytes_of(kernel)),
      .launches = static_cast<double>(kernel.launches)};
  work.warps = work.block_warps * static_cast<double>(kernel.launched_blocks);
  // By array and direction: what all accesses move, and the size of the array.
  std::map<std::pair<std::string, bool>, std::pair<double, double>> moved;
  for (const AccessNote& note : kernel.accesses) {
    const auto requests = static_cast<double>(note.requests);
    const auto parts = static_cast<double>(note.parts);
    if (note.space == "global") {
      work.global_requests += requests;
      work.global_passes += std::max(requests, parts / kSectorsOfPass);
      const std::string array = note.memory.variable + std::to_string(note.memory.argument);
      auto& [bytes, size] = moved[{array, note.writes}];
      bytes += parts * kSectorBytes;
      size = static_cast<double>(note.memory.bytes);
    } else if (note.space == "shared") {
      work.shared_requests += requests;
      work.shared_passes += parts;
    } else {
      work.constant_words += parts;
    }
  }
  for (const auto& [array, bytes] : moved) work.dram_bytes += std::min(bytes.first, bytes.second);
  for (const BarrierNote& note : kernel.barriers) {
    if (note.before == 0) work.barriers += static_cast<double>(note.times) * work.block_warps;
  }
  return work;
}

// Loads of threads, and how many lanes of a request make one.
std::pair<double, double> loads_of(const KernelCounts& kernel) {
  double lanes = 0.0;
  double requests = 0.0;
  for (const AccessNote& note : kernel.accesses) {
    if (note.writes) continue;
    lanes += static_cast<double>(note.lanes);
    requests += static_cast<double>(note.requests);
  }
  return {lanes, requests > 0.0 ? lanes / requests : kLanesOfWarp};
}

}  // namespace

std::vector<KernelWork> work_of(const StageCounts& counts, const SourceText& sources) {
  std::vector<KernelWork> all;
  double on_tensor_cores = 0.0;
  double most_loads = 0.0;
  double lanes = kLanesOfWarp;
  std::size_t multiplies = 0;
  for (const KernelCounts& kernel : kernels_of(counts, sources)) {
    all.push_back(work_of_kernel(kernel));
    on_tensor_cores += all.back().tensor_multiply_adds;
    const auto [loads, active] = loads_of(kernel);
    if (loads <= most_loads) continue;
    most_loads = loads;
    lanes = active;
    multiplies = all.size() - 1;
  }
  const double rest = static_cast<double>(counts.shape.multiply_adds()) - on_tensor_cores;
  if (!all.empty()) all[multiplies].multiply_warps = std::max(0.0, rest) / lanes;
  return all;
}

namespace {

constexpr std::array<const char*, 7> kLimitNames = {
    "memory", "cache", "shared memory", "issue and FP32", "tensor cores", "latency", "launches"};

using Ceilings = std::array<double, kLimitNames.size()>;

bool is_tf32(Precision precision) {
  return precision == Precision::kTf32 || precision == Precision::kTf32Truncated;
}

Ceilings ceilings_of(const KernelWork& work, Precision precision, const Gpu& gpu,
                     const EstimateModel& model, double batch) {
  constexpr double kSchedulers = 4.0;
  constexpr double kOperations = 2.0;  // of a multiply-add
  const double clocks = gpu.clock * gpu.multiprocessors;
  const int resident =
      std::max(1, resident_blocks(gpu.multiprocessor, static_cast<int>(work.block_warps),
                                  static_cast<std::int64_t>(work.shared_bytes))
                      .blocks);
  const double warps = std::clamp(work.warps * batch, 1.0,
                                  std::max(1.0, gpu.multiprocessors * resident * work.block_warps));
  const double tensor =
      is_tf32(precision) ? gpu.tf32_tensor_per_second : gpu.fp16_tensor_per_second;
  const double instructions = model.global_request * work.global_requests +
                              model.shared_request * work.shared_requests +
                              model.constant_word * work.constant_words;
  return {batch * model.memory * work.dram_bytes / gpu.bytes_per_second,
          batch * work.global_passes / clocks,
          batch * work.shared_passes / clocks,
          batch * (model.multiply * work.multiply_warps * kLanesOfWarp * kOperations /
                       gpu.fp32_per_second +
                   instructions / (kSchedulers * clocks)),
          batch * model.tensor * work.tensor_multiply_adds * kOperations / tensor,
          batch * model.latency * (work.global_requests + work.shared_requests + work.barriers) /
              (warps * gpu.clock),
          model.launch * work.launches};
}

}  // namespace

const EstimateModel& estimate_model() {
  static const EstimateModel model = [] {
    const auto course = network_folder().parent_path().parent_path();  // of ROOT/common/network
    const auto json = nlohmann::json::parse(read_text(course / "grader/measure/estimate.json"));
    const auto& constants = json.at("constants");
    return EstimateModel{.memory = constants.at("memory"),
                         .multiply = constants.at("multiply"),
                         .tensor = constants.at("tensor"),
                         .global_request = constants.at("global_request"),
                         .shared_request = constants.at("shared_request"),
                         .constant_word = constants.at("constant_word"),
                         .latency = constants.at("latency"),
                         .launch = constants.at("launch"),
                         .power = constants.at("power"),
                         .low = json.at("low"),
                         .high = json.at("high"),
                         .error = json.at("error"),
                         .tested = json.at("tested")};
  }();
  return model;
}

Estimate estimate(const std::vector<KernelWork>& work, Precision precision, const Gpu& gpu,
                  const EstimateModel& model, int batch) {
  Estimate result{.gpu = gpu.name,
                  .is_tested = std::ranges::count(model.tested, gpu.name) > 0,
                  .seconds = model.launch};
  for (const char* name : kLimitNames) result.limits.push_back({.name = name});
  result.limits.back().seconds = model.launch;
  for (const KernelWork& kernel : work) {
    const Ceilings ceilings = ceilings_of(kernel, precision, gpu, model, batch);
    double sum = 0.0;
    for (std::size_t i = 0; i < ceilings.size(); ++i) {
      result.limits[i].seconds += ceilings[i];
      if (i + 1 < ceilings.size()) sum += std::pow(ceilings[i], model.power);
    }
    result.seconds += std::pow(sum, 1.0 / model.power) + ceilings.back();
  }
  result.low = result.seconds * model.low;
  result.high = result.seconds * model.high;
  std::ranges::stable_sort(result.limits, std::ranges::greater(), &LimitTime::seconds);
  return result;
}

std::string limited_by(const Estimate& estimate) {
  constexpr double kClose = 0.8;
  const auto& limits = estimate.limits;
  const bool is_close = limits[1].seconds >= kClose * limits[0].seconds;
  return limits[0].name + (is_close ? ", " + limits[1].name : "");
}

}  // namespace convlab::grader
