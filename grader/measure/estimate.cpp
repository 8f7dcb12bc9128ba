#include "grader/measure/estimate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace convlab::grader {

namespace {

constexpr double kLanesOfWarp = 32.0;
constexpr double kSectorBytes = 32.0;
constexpr double kSectorsOfPass = 4.0;

KernelWork work_of_kernel(const KernelCounts& kernel) {
  const auto& block = kernel.launch.block;
  KernelWork work{
      .kernel = kernel.launch.kernel,
      .block_warps = std::ceil(double{1} * block[0] * block[1] * block[2] / kLanesOfWarp),
      .shared_bytes = static_cast<double>(shared_bytes_of(kernel)),
      .launches = static_cast<double>(kernel.launches),
      .registers = kernel.registers};
  work.warps = work.block_warps * static_cast<double>(kernel.launched_blocks);
  for (const ProductNote& note : kernel.products) {
    work.multiply_warps += static_cast<double>(note.warp_operations);
    if (note.kind.starts_with("tensor")) {
      work.tensor_multiply_adds += static_cast<double>(note.multiply_adds);
    }
  }
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
  constexpr double kMega = 1e6;
  constexpr double kGiga = 1e9;
  constexpr double kTera = 1e12;
  const double clock = gpu.clock_mhz * kMega;
  const double clocks = clock * gpu.multiprocessors;
  const auto resident = resident_blocks(gpu.multiprocessor, static_cast<int>(work.block_warps),
                                        static_cast<std::int64_t>(work.shared_bytes));
  const double warps = std::clamp(
      work.warps * batch, 1.0,
      gpu.multiprocessors * std::max(1, resident.blocks) * std::max(1.0, work.block_warps));
  const double tensor_tflops = is_tf32(precision) ? gpu.tf32_tensor_tflops : gpu.fp16_tensor_tflops;
  const double instructions = model.global_request * work.global_requests +
                              model.shared_request * work.shared_requests +
                              model.constant_word * work.constant_words;
  return {batch * model.memory * work.dram_bytes / (gpu.dram_gb_per_s * kGiga),
          batch * work.global_passes / clocks,
          batch * work.shared_passes / clocks,
          batch * (model.multiply * work.multiply_warps * kLanesOfWarp * kOperations /
                       (gpu.fp32_tflops * kTera) +
                   instructions / (kSchedulers * clocks)),
          batch * model.tensor * work.tensor_multiply_adds * kOperations / (tensor_tflops * kTera),
          batch * model.latency * (work.global_requests + work.barriers) / (warps * clock),
          model.launch * work.launches};
}

// Arithmetic gives its result after four clocks, so each of the four schedulers wants four warps.
bool has_few_warps(const KernelWork& work, const Gpu& gpu) {
  constexpr int kWanted = 4 * 4;
  const auto warps = static_cast<int>(work.block_warps);
  return warps * resident_blocks(gpu.multiprocessor, warps,
                                 static_cast<std::int64_t>(work.shared_bytes), work.registers)
                     .blocks <
         kWanted;
}

}  // namespace

std::vector<KernelWork> work_of(const StageCounts& counts, const SourceText& sources) {
  std::vector<KernelWork> all;
  for (const KernelCounts& kernel : kernels_of(counts, sources)) {
    all.push_back(work_of_kernel(kernel));
  }
  return all;
}

void json_fields(JsonFields& fields, KernelWork& work) {
  fields("kernel", work.kernel, "dram_bytes", work.dram_bytes, "global_requests",
         work.global_requests, "global_passes", work.global_passes, "shared_requests",
         work.shared_requests, "shared_passes", work.shared_passes, "constant_words",
         work.constant_words, "multiply_warps", work.multiply_warps, "tensor_multiply_adds",
         work.tensor_multiply_adds, "barriers", work.barriers, "warps", work.warps, "block_warps",
         work.block_warps, "shared_bytes", work.shared_bytes, "launches", work.launches);
}

static void json_fields(JsonFields& fields, EstimateModel& model) {
  fields("memory", model.memory, "multiply", model.multiply, "tensor", model.tensor,
         "global_request", model.global_request, "shared_request", model.shared_request,
         "constant_word", model.constant_word, "latency", model.latency, "launch", model.launch,
         "power", model.power, "low", model.low, "high", model.high, "error", model.error, "tested",
         model.tested);
}

static void json_fields(JsonFields& fields, LimitTime& limit) {
  fields("name", limit.name, "seconds", limit.seconds);
}

void json_fields(JsonFields& fields, Estimate& estimate) {
  fields("gpu", estimate.gpu, "tested", estimate.is_tested, "seconds", estimate.seconds, "low",
         estimate.low, "high", estimate.high, "limits", estimate.limits);
}

const EstimateModel& estimate_model() {
  static const auto model = measure_file("estimate.json").get<EstimateModel>();
  return model;
}

Estimate estimate(const std::vector<KernelWork>& work, Precision precision, const Gpu& gpu,
                  const EstimateModel& model, int batch) {
  Estimate result{.gpu = gpu.name,
                  .is_tested = std::ranges::count(model.tested, gpu.name) > 0,
                  .seconds = model.launch};
  for (const char* name : kLimitNames) result.limits.push_back({.name = name});
  result.limits.back().seconds = model.launch;
  double longest = 0.0;
  for (const KernelWork& kernel : work) {
    const Ceilings ceilings = ceilings_of(kernel, precision, gpu, model, batch);
    double sum = 0.0;
    for (std::size_t i = 0; i < ceilings.size(); ++i) {
      result.limits[i].seconds += ceilings[i];
      if (i + 1 < ceilings.size()) sum += std::pow(ceilings[i], model.power);
    }
    const double seconds = std::pow(sum, 1.0 / model.power);
    result.seconds += seconds + ceilings.back();
    if (seconds <= longest) continue;
    longest = seconds;
    result.has_few_warps = kernel.registers > 0 && has_few_warps(kernel, gpu);
  }
  result.low = result.seconds * model.low;
  result.high = result.seconds * model.high;
  std::ranges::stable_sort(result.limits, std::ranges::greater(), &LimitTime::seconds);
  return result;
}

std::string limited_by(const Estimate& estimate) {
  constexpr double kClose = 0.8;
  const auto& limits = estimate.limits;
  if (estimate.has_few_warps && limits[0].name == "issue and FP32") {
    return limits[0].name + ", latency";
  }
  const bool is_close = limits[1].seconds >= kClose * limits[0].seconds;
  return limits[0].name + (is_close ? ", " + limits[1].name : "");
}

}  // namespace convlab::grader
