#include "common/result/result.hpp"

#include <array>
#include <ctime>
#include <nlohmann/json.hpp>

#include "common/error/error.hpp"
#include "common/file/whole_file.hpp"
#include "common/result/json_fields.hpp"

namespace convlab {

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kMeasured:
      return "measured";
    case Verdict::kPassed:
      return "passed";
    case Verdict::kFailed:
      return "failed";
  }
  return "unknown";
}

// Found by nlohmann-json through the name of the type; the field names are the file format.

static void to_json(Json& json, Verdict verdict) {
  json = to_string(verdict);
}
static void from_json(const Json& json, Verdict& verdict) {
  verdict = value_named(json, {Verdict::kMeasured, Verdict::kPassed, Verdict::kFailed});
}

static void to_json(Json& json, const MachineInfo& machine) {
  json = {{"cpu", machine.cpu},
          {"cores", machine.cores},
          {"memory_mib", machine.memory_mib},
          {"gpu", machine.gpu},
          {"driver", machine.driver},
          {"cuda", machine.cuda},
          {"gpu_clock_mhz", machine.gpu_clock_mhz},
          {"promised", machine.promised},
          {"measured", machine.measured},
          {"compiler", machine.compiler},
          {"build_type", machine.build_type},
          {"commit", machine.commit}};
}
static void from_json(const Json& json, MachineInfo& machine) {
  machine = {.cpu = json.at("cpu"),
             .cores = json.at("cores"),
             .memory_mib = json.at("memory_mib"),
             .gpu = json.at("gpu"),
             .driver = json.at("driver"),
             .cuda = json.value("cuda", ""),
             .gpu_clock_mhz = json.value("gpu_clock_mhz", 0),
             .promised = json.value("promised", DeviceLimits{}),
             .measured = json.value("measured", DeviceLimits{}),
             .compiler = json.at("compiler"),
             .build_type = json.at("build_type"),
             .commit = json.at("commit")};
}

static void to_json(Json& json, const ErrorMeasure& error) {
  json = {{"compared", error.compared},
          {"wrong", error.wrong},
          {"worst_ratio", error.worst_ratio},
          {"bound", error.bound}};
}
static void from_json(const Json& json, ErrorMeasure& error) {
  error = {.compared = json.at("compared"),
           .wrong = json.at("wrong"),
           .worst_ratio = json.at("worst_ratio"),
           .bound = json.at("bound")};
}

static void to_json(Json& json, const LayerResult& layer) {
  json = {{"shape", layer.shape}, {"op_ms", layer.op_ms}, {"layer_ms", layer.layer_ms}};
  if (layer.error) json["error"] = *layer.error;
  if (layer.samples.empty()) return;
  json["samples"] = layer.samples;
  json["first_op_ms"] = layer.first_op_ms;
}
static void from_json(const Json& json, LayerResult& layer) {
  layer = {.shape = json.at("shape"),
           .op_ms = json.at("op_ms"),
           .layer_ms = json.at("layer_ms"),
           .error = {}};
  if (json.contains("error")) layer.error = json["error"].get<ErrorMeasure>();
  if (!json.contains("samples")) return;
  layer.samples = json["samples"].get<std::vector<OpSample>>();
  layer.first_op_ms = json.at("first_op_ms");
}

static void to_json(Json& json, const ProcessUsage& total) {
  json = {{"user_s", total.user_s},
          {"system_s", total.system_s},
          {"elapsed_s", total.elapsed_s},
          {"peak_memory_mib", total.peak_memory_mib}};
}
static void from_json(const Json& json, ProcessUsage& total) {
  total = {.user_s = json.at("user_s"),
           .system_s = json.at("system_s"),
           .elapsed_s = json.at("elapsed_s"),
           .peak_memory_mib = json.at("peak_memory_mib")};
}

static void to_json(Json& json, const AccuracyResult& accuracy) {
  json = {{"correct", accuracy.correct}, {"total", accuracy.total}};
  if (accuracy.expected) json["expected"] = *accuracy.expected;
  json["undecided"] = accuracy.undecided;
}
static void from_json(const Json& json, AccuracyResult& accuracy) {
  accuracy = {.correct = json.at("correct"),
              .total = json.at("total"),
              .expected = {},
              .undecided = json.at("undecided")};
  if (json.contains("expected")) accuracy.expected = json["expected"].get<int>();
}

static void to_json(Json& json, const Finding& finding) {
  json = {{"id", finding.id},       {"title", finding.title}, {"seen", finding.seen},
          {"cause", finding.cause}, {"next", finding.next},   {"stage", finding.stage}};
}
static void from_json(const Json& json, Finding& finding) {
  finding = {.id = json.at("id"),
             .title = json.at("title"),
             .seen = json.at("seen"),
             .cause = json.at("cause"),
             .next = json.at("next"),
             .stage = json.value("stage", "")};
}

static void to_json(Json& json, const CaseResult& result) {
  json = {{"stage", result.stage},    {"name", result.name},   {"shape", result.shape},
          {"seed", result.seed},      {"exact", result.exact}, {"error", result.error},
          {"verdict", result.verdict}};
}
static void from_json(const Json& json, CaseResult& result) {
  result = {.stage = json.at("stage"),
            .name = json.at("name"),
            .shape = json.at("shape"),
            .seed = json.at("seed"),
            .exact = json.at("exact"),
            .error = json.at("error"),
            .verdict = json.at("verdict")};
}

static void to_json(Json& json, const RunResult& run) {
  json = {{"network", run.network},
          {"batch", run.batch},
          {"stage", run.stage},
          {"device", run.device},
          {"layers", run.layers}};
  if (run.total) json["total"] = *run.total;
  if (run.accuracy) json["accuracy"] = *run.accuracy;
  json["verdict"] = run.verdict;
  if (run.device == Device::kGpu) {
    json["start_up_ms"] = run.start_up_ms;
    json["empty_launch_ms"] = run.empty_launch_ms;
  }
}
static void from_json(const Json& json, RunResult& run) {
  run = {.network = json.at("network"),
         .batch = json.at("batch"),
         .stage = json.at("stage"),
         .device = json.at("device"),
         .layers = json.at("layers"),
         .total = {},
         .accuracy = {},
         .verdict = json.at("verdict")};
  if (json.contains("total")) run.total = json["total"].get<ProcessUsage>();
  if (json.contains("accuracy")) run.accuracy = json["accuracy"].get<AccuracyResult>();
  run.start_up_ms = json.value("start_up_ms", 0.0);
  run.empty_launch_ms = json.value("empty_launch_ms", 0.0);
}

static void to_json(Json& json, const ReferenceLine& line) {
  json = {{"label", line.label},
          {"kind", line.kind},
          {"network", line.network},
          {"batch", line.batch},
          {"op_ms", line.op_ms}};
}
static void from_json(const Json& json, ReferenceLine& line) {
  line = {.label = json.at("label"),
          .kind = json.at("kind"),
          .network = json.at("network"),
          .batch = json.at("batch"),
          .op_ms = json.at("op_ms")};
}

StageInfo info_of(const Stage& stage) {
  return {.id = stage.id,
          .title = stage.title,
          .baseline = stage.baseline,
          .precision = to_string(stage.precision),
          .order = stage.order};
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

std::string to_json(const Result& result) {
  Json json = {{"schema", kResultSchema},       {"program", result.program},
               {"milestone", result.milestone}, {"solution", result.solution},
               {"created", result.created},     {"machine", result.machine},
               {"cases", result.cases},         {"runs", result.runs},
               {"findings", result.findings},   {"references", result.references},
               {"isolation", result.isolation}, {"verdict", result.verdict}};
  if (result.score) json["score"] = *result.score;
  if (!result.sources.empty()) json["sources"] = result.sources;
  // The output of a crashed program may hold any bytes. They must not prevent writing the result.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result parse_result(const std::string& text, const std::string& name) {
  try {
    const Json json = Json::parse(text);
    const auto schema = json.at("schema").get<std::string>();
    if (schema != kResultSchema) {
      throw EnvironmentError("its schema is '" + schema + "'");
    }
    Result result{.program = json.at("program"),
                  .milestone = json.at("milestone"),
                  .solution = json.at("solution"),
                  .created = json.at("created"),
                  .machine = json.at("machine"),
                  .cases = json.at("cases"),
                  .runs = json.at("runs"),
                  .findings = json.at("findings"),
                  .references = json.at("references"),
                  .isolation = json.value("isolation", ""),
                  .verdict = json.at("verdict")};
    if (json.contains("score")) result.score = json["score"].get<Score>();
    if (json.contains("sources")) result.sources = json["sources"].get<std::vector<SourceFile>>();
    return result;
  } catch (const nlohmann::json::parse_error& error) {
    throw EnvironmentError(name + " is not JSON (it goes wrong at byte " +
                           std::to_string(error.byte) + "); run the command that wrote it again.");
  } catch (const std::exception& error) {
    // nlohmann-json starts its messages with "[json.exception.type_error.302] ".
    std::string reason = error.what();
    if (const auto end = reason.find("] "); reason.starts_with("[json") && end != std::string::npos)
      reason.erase(0, end + 2);
    throw EnvironmentError(name + " is not a result of the form " + kResultSchema + ": " + reason +
                           ".");
  }
}

void write_result(const std::filesystem::path& file, const Result& result) {
  write_atomically(file, to_json(result));
}

Result read_result(const std::filesystem::path& file) {
  return parse_result(read_text(file), file.string());
}

}  // namespace convlab
