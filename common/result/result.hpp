#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "common/base/enum_name.hpp"
#include "common/base/process_usage.hpp"
#include "common/device/device_info.hpp"
#include "common/device/physical_bound.hpp"
#include "common/stage/stage.hpp"
#include "common/timing/statistics.hpp"

namespace convlab {

struct MeasuredDevice;

/// The result of one run or one check: the only source of tables, plots and reports.
/// docs/results.md describes the file format.
inline constexpr const char* kResultSchema = "convlab-result-1";

/// What a reader needs to compare two times.
struct MachineInfo {
  std::string cpu{};  ///< the processor's name
  int cores = 0;      ///< threads that this process may use
  int memory_mib = 0;
  std::string gpu{};        ///< empty without a GPU
  std::string driver{};     ///< the highest CUDA version that the driver supports, "13.0"
  std::string cuda{};       ///< version of the CUDA Toolkit that the program was built with
  int gpu_clock_mhz = 0;    ///< highest clock of the GPU's multiprocessors
  DeviceLimits promised{};  ///< by the GPU's properties
  DeviceLimits measured{};  ///< on this GPU
  std::string compiler{};
  std::string build_type{};  ///< "Release"
  std::string commit{};      ///< of the source that was built, "-dirty" if it had changes
};

/// This machine and this build; the GPU's fields stay empty.
MachineInfo describe_machine();

enum class Verdict {
  kMeasured,  ///< timed, not checked
  kPassed,
  kFailed,
};

inline const char* to_string(Verdict verdict) {
  return enum_name(verdict, {"measured", "passed", "failed"});
}

/// A stage in a result: Stage without the code.
struct StageInfo {
  std::string id{};
  std::string title{};
  std::string baseline{};
  Precision precision = Precision::kFp32;
  int order = 0;
  std::string only_for{};  ///< a network whose layers are all that the stage supports
};

StageInfo info_of(const Stage& stage);

/// How far the outputs were from the double-precision truth.
struct ErrorMeasure {
  std::int64_t compared = 0;
  std::int64_t wrong = 0;
  double worst_ratio = 0.0;  ///< largest |error| / (2^-24 · Σ|a||b|) of the finite outputs
  double bound = 0.0;        ///< the ratio that the stage's precision allows
};

/// One convolution layer of one run; every sample is kept, in milliseconds.
struct LayerResult {
  ConvShape shape{};
  std::vector<double> op_ms{};     ///< the convolution alone
  std::vector<double> layer_ms{};  ///< prolog, convolution and epilog
  std::optional<ErrorMeasure> error{};
  std::vector<OpSample> samples{};  ///< on a GPU, what each of op_ms was made of
};

struct AccuracyResult {
  int correct = 0;
  int total = 0;
  std::optional<int> expected{};  ///< the count that the double-precision network reaches
  int undecided = 0;              ///< undecided images, too close to call; they fail nobody
};

/// One network with one stage at one batch.
struct RunResult {
  std::string network{};
  int batch = 0;
  StageInfo stage{};
  Device device = Device::kCpu;
  std::vector<LayerResult> layers{};
  std::optional<ProcessUsage> total{};  ///< of m1, m2, …, or in a check of the submission
  std::optional<AccuracyResult> accuracy{};
  Verdict verdict = Verdict::kMeasured;
  double start_up_ms = 0.0;      ///< on a GPU: context and loading of kernels; in no time above
  double empty_launch_ms = 0.0;  ///< on a GPU: a kernel that does nothing, by the same clock
};

/// Labels of the lines that add_device makes: the time to move the data of all layers, and that of
/// single precision's arithmetic if it is longer.
inline constexpr const char* kMemoryBound = "memory bound";
inline constexpr const char* kFp32Bound = "fp32 bound";

/// A line that plots draw beside the stages: a library, or a limit of the machine.
struct ReferenceLine {
  std::string label{};  ///< "oneDNN", "memory bound"
  std::string kind{};   ///< "library" or "bound"
  std::string network{};
  int batch = 0;
  std::vector<double> op_ms{};  ///< one time per convolution layer
};

/// The content of one result file; after a check the file holds more, grader/checks/result.
struct Result {
  std::string program{};    ///< "m1", "grader check"
  std::string milestone{};  ///< "m1"
  std::string solution{};   ///< "student", "reference"
  std::string created{};    ///< UTC, ISO 8601; see utc_now()
  MachineInfo machine{};
  std::vector<RunResult> runs{};
  std::vector<ReferenceLine> references{};
  Verdict verdict = Verdict::kMeasured;
};

/// Writes the device into the result: the machine, the times that no run contains, and the physical
/// bounds of every network and batch that ran, as reference lines. Nothing for an emulated device.
void add_device(Result& result, const MeasuredDevice& device);

/// The time of day as results keep it, "2026-11-20T23:40:00Z".
std::string utc_now();

/// "2027-02-02T05:59:00Z", of seconds since 1970.
std::string utc_text(std::int64_t time);

/// The text of a result file.
std::string to_json(const Result& result);

/// The inverse of to_json. @param name  stands for the file in messages
/// @throws EnvironmentError if the text is not JSON, has another schema, or lacks a field.
Result parse_result(const std::string& text, const std::string& name);

/// By write_atomically.
void write_result(const std::filesystem::path& file, const Result& result);

/// @throws EnvironmentError if the file is missing or not a result.
Result read_result(const std::filesystem::path& file);

}  // namespace convlab
