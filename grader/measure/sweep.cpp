#include "grader/measure/sweep.hpp"

#include <algorithm>

#include "common/base/error.hpp"
#include "common/base/whole_file.hpp"
#include "common/result/json_fields.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/checks/fresh_numbers.hpp"
#include "grader/submission/submission.hpp"

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
    SweepRecord old = parse_json(read_text(file)).get<SweepRecord>();
    const bool same = old.stage == fresh.stage && old.program == fresh.program &&
                      old.network == fresh.network && old.gpu == fresh.gpu;
    return same ? old : fresh;
  } catch (const Json::exception& error) {
    throw EnvironmentError(file.string() + " is no record of a sweep (" + error.what() +
                           "); delete it to begin anew.");
  }
}

bool time_point(const SweepPlan& plan, TriedPoint& point) {
  Submission submission(plan.program);
  submission.set_environment({plan.space.variable + "=" + text_of(point.point)});
  for (ConvShape shape : plan.shapes) {
    shape.batch = point.batch;
    const Arrays arrays = submission.prepare(shape, Placement::kAligned);
    FreshNumbers::draw().fill(arrays.weights, shape.weights_size());
    std::vector<double>& samples = point.op_ms.emplace_back();
    for (int i = 0; i <= plan.repeats; ++i) {
      if (plan.interrupted != nullptr && *plan.interrupted != 0) return false;
      const Call call = submission.run_timed(
          plan.space.stage, [&] { FreshNumbers::draw().fill(arrays.input, shape.input_size()); });
      if (call.failure) {
        point.op_ms.clear();
        const Finding found = explain(*call.failure, "a sample");
        point.failure = found.title + "; " + found.seen;
        return true;
      }
      refuse_silent_emulation(submission.device());
      if (i > 0) samples.push_back(call.op_ms);  // the first one warms up
    }
  }
  return true;
}

bool run_sweep(const SweepPlan& plan, const std::filesystem::path& file, SweepRecord& record,
               const std::function<void(const std::string&)>& show, const TimePoint& time) {
  const std::vector<TriedPoint> work = work_of(plan);
  for (std::size_t i = 0; i < work.size(); ++i) {
    TriedPoint point = work[i];
    const auto same = [&](const TriedPoint& tried) {
      return tried.batch == point.batch && tried.point == point.point;
    };
    if (std::ranges::any_of(record.tried, same)) continue;
    show(std::to_string(i + 1) + " of " + std::to_string(work.size()) + ": " +
         text_of(point.point) + " at " + std::to_string(point.batch) + " images");
    if (!time(plan, point)) return false;
    record.tried.push_back(std::move(point));
    write_atomically(file, json_text(Json(record), 1) + "\n");
  }
  return true;
}

}  // namespace convlab::grader
