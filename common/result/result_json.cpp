#include "common/result/result_json.hpp"

#include <cmath>

#include "common/base/error.hpp"
#include "common/base/printable.hpp"

namespace convlab {

// nlohmann-json finds these through the names of the types; the names of the fields are the file
// format, docs/results.md.

void json_fields(JsonFields& fields, ConvShape& shape) {
  fields("batch", shape.batch, "out_channels", shape.out_channels, "in_channels", shape.in_channels,
         "height", shape.height, "width", shape.width, "kernel", shape.kernel, "stride",
         shape.stride);
  if (fields.reads()) validate(shape);
}

void json_fields(JsonFields& fields, StageInfo& stage) {
  fields("id", stage.id, "title", stage.title, "baseline", stage.baseline, "precision",
         stage.precision, "order", stage.order)
      .optional("only_for", stage.only_for);
}

void json_fields(JsonFields& fields, OpSample& sample) {
  fields("host_ms", sample.host_ms, "event_ms", sample.event_ms)
      .optional("tail_ms", sample.tail_ms)("clock_mhz", sample.clock_mhz, "slowed", sample.slowed);
}

CONVLAB_FIELDS(DeviceLimits, bytes_per_second, cache_bytes_per_second, cache_bytes, fp32_per_second,
               tf32_per_second, fp16_per_second)
CONVLAB_FIELDS(ComputeCapability, major, minor)
CONVLAB_FIELDS(DeviceInfo, device, name, capability, multiprocessors, memory_bytes, l2_bytes,
               clock_mhz, memory_clock_mhz, memory_bus_bits, driver, runtime)
CONVLAB_FIELDS(MeasuredDevice, info, limits, start_up_ms, empty_launch_ms)
CONVLAB_FIELDS(ErrorMeasure, compared, wrong, worst_ratio, bound)
static CONVLAB_FIELDS(
    MachineInfo, cpu, cores, memory_mib, gpu, driver, cuda, gpu_clock_mhz, promised, measured,
    compiler, build_type,
    commit) static CONVLAB_FIELDS(ProcessUsage, user_s, system_s, elapsed_s,
                                  peak_memory_mib) static CONVLAB_FIELDS(ReferenceLine, label, kind,
                                                                         network, batch, op_ms)

    static void json_fields(JsonFields& fields, LayerResult& layer) {
  fields("shape", layer.shape, "op_ms", layer.op_ms, "layer_ms", layer.layer_ms)
      .optional("error", layer.error, "samples", layer.samples);
}

static void json_fields(JsonFields& fields, AccuracyResult& accuracy) {
  fields("correct", accuracy.correct, "total", accuracy.total)
      .optional("expected", accuracy.expected)("undecided", accuracy.undecided);
}

// Names go into commands, pages and plots, and a file may come from anybody.
static void require_id(const char* what, const std::string& text) {
  if (is_id(text)) return;
  throw EnvironmentError("it names the " + std::string(what) + " '" + short_line(text, 40) +
                         "', but such a name has 1 to 40 of a-z, 0-9 and '-'");
}

static void json_fields(JsonFields& fields, RunResult& run) {
  fields("network", run.network, "batch", run.batch, "stage", run.stage, "device", run.device,
         "layers", run.layers)
      .optional("total", run.total, "accuracy", run.accuracy)("verdict", run.verdict)
      .optional("start_up_ms", run.start_up_ms, "empty_launch_ms", run.empty_launch_ms);
  if (!fields.reads()) return;
  require_id("network", run.network);
  require_id("stage", run.stage.id);
  constexpr std::size_t kMostLayers = 100;
  if (run.layers.size() > kMostLayers) throw EnvironmentError("a run has too many layers");
}

void json_fields(JsonFields& fields, Result& result) {
  std::string schema = kResultSchema;
  fields("schema", schema);
  if (schema != kResultSchema) throw EnvironmentError("its schema is '" + schema + "'");
  fields("program", result.program, "milestone", result.milestone, "solution", result.solution,
         "created", result.created, "machine", result.machine, "runs", result.runs, "references",
         result.references, "verdict", result.verdict);
}

std::string file_text(const Json& json) {
  return json_text(json, 2) + "\n";
}

namespace {

// A file may come from anybody; its text must not move a cursor, and only that of findings has
// lines.
void make_printable(Json& json, bool has_lines = false) {
  if (json.is_string()) {
    const auto& text = json.get_ref<const std::string&>();
    json = has_lines ? printable(text) : printable_line(text);
  }
  if (!json.is_structured()) return;
  for (const auto& [key, each] : json.items()) {
    make_printable(each, has_lines || key == "findings" || key == "warnings");
  }
}

// Whoever reads a list may look at all of it for each entry. The longest, of cases of all stages,
// has about a thousand.
void require_short_lists(const Json& json) {
  constexpr std::size_t kMost = 3000;
  if (json.is_array() && json.size() > kMost && json.front().is_structured()) {
    throw EnvironmentError("it has a list of " + std::to_string(json.size()) +
                           " entries, more than " + std::to_string(kMost));
  }
  if (!json.is_structured()) return;
  for (const Json& each : json) require_short_lists(each);
}

// Sums, products and quotients must stay numbers that can be drawn. Zero is no time.
void require_possible_numbers(const Json& json, bool is_time = false) {
  constexpr double kMost = 1e30;     // of anything else
  constexpr double kMostMs = 1e12;   // 30 years
  constexpr double kLeastMs = 1e-9;  // a picosecond
  const double ms = is_time && json.is_number() ? std::abs(json.get<double>()) : 0.0;
  if (!(ms <= kMostMs) || (ms > 0.0 && ms < kLeastMs)) {
    throw EnvironmentError("it has a time of " + json_text(json) + " ms, " +
                           (ms < 1.0 ? "less than a picosecond" : "more than 30 years"));
  }
  if (json.is_number() && std::abs(json.get<double>()) > kMost)
    throw EnvironmentError("it has the number " + json_text(json) + ", which nothing measures");
  if (!json.is_structured()) return;
  for (const auto& [key, each] : json.items()) {
    require_possible_numbers(each, (json.is_array() && is_time) || key.ends_with("_ms"));
  }
}

}  // namespace

Json parse_foreign(const std::string& text, bool has_lines) {
  constexpr int kDeepest = 64;
  Json json = parse_json(text, kDeepest);
  make_printable(json, has_lines);
  return json;
}

void read_file_text(const std::string& text, const std::string& name,
                    const std::function<void(const Json&)>& read) {
  try {
    const Json json = parse_foreign(text);
    require_short_lists(json);
    require_possible_numbers(json);
    read(json);
  } catch (const nlohmann::json::parse_error& error) {
    throw EnvironmentError(name + " is not JSON (it goes wrong at byte " +
                           std::to_string(error.byte) + "); run the command that wrote it again.");
  } catch (const std::exception& error) {
    // nlohmann-json starts its messages with "[json.exception.type_error.302] ".
    std::string reason = error.what();
    if (const auto end = reason.find("] "); reason.starts_with("[json") && end != std::string::npos)
      reason.erase(0, end + 2);
    if (reason.ends_with('.')) reason.pop_back();
    throw EnvironmentError(name + " is not a result of the form " + kResultSchema + ": " + reason +
                           ".");
  }
}

}  // namespace convlab
