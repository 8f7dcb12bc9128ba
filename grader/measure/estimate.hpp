#pragma once

#include <string>
#include <vector>

#include "common/result/json_fields.hpp"
#include "grader/measure/counters.hpp"
#include "grader/measure/gpus.hpp"

namespace convlab::grader {

using convlab::from_json;
using convlab::to_json;

/// What one kernel asks of a GPU for each image of the batch.
struct KernelWork {
  std::string kernel{};
  double dram_bytes = 0.0;       ///< each array once for its loads and once for its stores, at most
  double global_requests = 0.0;  ///< loads, stores and atomic operations
  double global_passes = 0.0;    ///< of 128 bytes through the cache of a multiprocessor
  double shared_requests = 0.0;
  double shared_passes = 0.0;
  double constant_words = 0.0;
  double multiply_warps = 0.0;  ///< multiply-adds outside tensor cores, of warps
  double tensor_multiply_adds = 0.0;
  double barriers = 0.0;  ///< of warps
  double warps = 0.0;
  double block_warps = 0.0;
  double shared_bytes = 0.0;  ///< of a block
  double launches = 0.0;      ///< for the whole batch
  int registers = 0;          ///< of a thread; 0: unknown
};

void json_fields(JsonFields& fields, KernelWork& work);

/// In the order of their launches.
std::vector<KernelWork> work_of(const StageCounts& counts, const SourceText& sources);

/// estimate.json, which reference/results/calibration/fit_estimate.py writes.
struct EstimateModel {
  double memory = 1.0;          ///< times the published limit
  double multiply = 1.0;        ///< the same, of FP32 multiply-adds
  double tensor = 1.0;          ///< the same, of tensor cores
  double global_request = 1.0;  ///< instructions around a request
  double shared_request = 1.0;
  double constant_word = 1.0;
  double latency = 20.0;  ///< clocks that a warp waits for global memory or a barrier, on average
  double launch = 1e-6;   ///< seconds
  double power = 4.0;
  /// Of measured op times over estimated ones, those that 90 % lie between.
  double low = 0.5;
  double high = 2.0;
  std::string error{};              ///< a sentence for the reader
  std::vector<std::string> tested;  ///< names of GPUs
};

const EstimateModel& estimate_model();

/// A limit, and the time that it alone would take.
struct LimitTime {
  std::string name{};  ///< "memory", "cache", "shared memory", "issue and FP32", …
  double seconds = 0.0;
};

/// The op time in seconds on a GPU on which nothing was measured.
struct Estimate {
  std::string gpu{};
  bool is_tested = false;  ///< the model was compared with op times on this GPU
  double seconds = 0.0;
  double low = 0.0;
  double high = 0.0;
  std::vector<LimitTime> limits{};  ///< the longest first
  bool has_few_warps = false;       ///< too few, by registers, to issue at each clock
};

void json_fields(JsonFields& fields, Estimate& estimate);

/// t = Σ over kernels of (Σ ceiling^power)^(1/power), and the launches.
Estimate estimate(const std::vector<KernelWork>& work, Precision precision, const Gpu& gpu,
                  const EstimateModel& model, int batch);

/// The first limit; both if the second is within 20 %. Latency beside issue if few warps run.
std::string limited_by(const Estimate& estimate);

}  // namespace convlab::grader
