#include "grader/measure/sweep.hpp"

#include <algorithm>

#include "common/base/error.hpp"
#include "common/base/run_process.hpp"
#include "common/base/whole_file.hpp"
#include "common/result/json_fields.hpp"
#include "common/result/result.hpp"

namespace convlab::grader {

using convlab::from_json;
using convlab::to_json;

static void json_fields(JsonFields& fields, TriedPoint& tried) {
  fields("batch", tried.batch, "point", tried.point)
      .optional("op_ms", tried.op_ms, "failure", tried.failure);
}

static void json_fields(JsonFields& fields, SweepRecord& record) {
  fields("stage", record.stage, "program", record.program, "network", record.network, "gpu",
         record.gpu, "tried", record.tried);
}

namespace {

// Changes when the program is rebuilt.
std::string state_of(const std::filesystem::path& program) {
  std::error_code missing;
  const auto time = std::filesystem::last_write_time(program, missing);
  if (missing) throw EnvironmentError("There is no program " + program.string() + ": build it.");
  return program.filename().string() + " " + std::to_string(time.time_since_epoch().count());
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// Runs the program at one point, and stores its times or the reason for none.
// @return false if it was interrupted
bool try_point(const SweepPlan& plan, const std::filesystem::path& result_file, TriedPoint& point) {
  // A short program may end before anybody asks.
  if (plan.interrupted != nullptr && *plan.interrupted != 0) return false;
  const FinishedProcess run = run_process(
      {.words = {plan.program.string(), std::to_string(point.batch), "--stage", plan.space.stage,
                 "--network", plan.network, "--device", "gpu", "--repeats",
                 std::to_string(plan.repeats), "--json", result_file.string()},
       .environment = {plan.space.variable + "=" + text_of(point.point)},
       .interrupted = plan.interrupted});
  if (run.end == FinishedProcess::End::kInterrupted) return false;
  if (run.exit_code == static_cast<int>(ExitCode::kEnvironment)) {
    throw EnvironmentError(first_line(run.errors));
  }
  if (!run.succeeded()) {
    point.failure = run.errors.empty()
                        ? "the program ended with exit code " + std::to_string(run.exit_code)
                        : first_line(run.errors);
    return true;
  }
  const Result result = read_result(result_file);
  for (const LayerResult& layer : result.runs.at(0).layers) {
    point.op_ms.push_back(layer.op_ms);
  }
  return true;
}

}  // namespace

std::vector<TriedPoint> work_of(const SweepPlan& plan) {
  std::vector<TriedPoint> work;
  for (const int batch : plan.batches) {
    for (const SweepPoint& point : points_of(plan.space)) {
      const bool wanted = std::any_of(
          plan.shapes.begin(), plan.shapes.end(),
          [&](const ConvShape& shape) { return !reason_against(plan.space, point, shape); });
      if (wanted) work.push_back({.batch = batch, .point = point});
    }
  }
  return work;
}

SweepRecord continued_record(const std::filesystem::path& file, const SweepPlan& plan) {
  SweepRecord fresh{.stage = plan.space.stage,
                    .program = state_of(plan.program),
                    .network = plan.network,
                    .gpu = plan.gpu,
                    .tried = {}};
  if (!std::filesystem::exists(file)) return fresh;
  try {
    SweepRecord old = Json::parse(read_text(file)).get<SweepRecord>();
    const bool same = old.stage == fresh.stage && old.program == fresh.program &&
                      old.network == fresh.network && old.gpu == fresh.gpu;
    return same ? old : fresh;
  } catch (const nlohmann::json::exception& error) {
    throw EnvironmentError(file.string() + " is no record of a sweep (" + error.what() +
                           "); delete it to begin anew.");
  }
}

bool run_sweep(const SweepPlan& plan, const std::filesystem::path& file, SweepRecord& record,
               const std::function<void(const std::string&)>& show) {
  const std::vector<TriedPoint> work = work_of(plan);
  const std::filesystem::path result_file = file.string() + ".run";
  for (std::size_t i = 0; i < work.size(); ++i) {
    TriedPoint point = work[i];
    const auto same = [&](const TriedPoint& tried) {
      return tried.batch == point.batch && tried.point == point.point;
    };
    if (std::ranges::any_of(record.tried, same)) continue;
    show(std::to_string(i + 1) + " of " + std::to_string(work.size()) + ": " +
         text_of(point.point) + " at " + std::to_string(point.batch) + " images");
    const bool done = try_point(plan, result_file, point);
    std::error_code ignored;
    std::filesystem::remove(result_file, ignored);
    if (!done) return false;
    record.tried.push_back(std::move(point));
    write_atomically(file, Json(record).dump(1) + "\n");
  }
  return true;
}

}  // namespace convlab::grader
