#include "grader/report/pages/sweep.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "common/base/error.hpp"
#include "common/base/whole_file.hpp"
#include "common/timing/statistics.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/checks/fresh_numbers.hpp"
#include "grader/report/table.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

using convlab::from_json;
using convlab::to_json;

static void json_fields(JsonFields& fields, SweepParameter& parameter) {
  fields("name", parameter.name, "values", parameter.values);
}

static void json_fields(JsonFields& fields, SweepSpace& space) {
  fields("stage", space.stage, "variable", space.variable, "parameters", space.parameters)
      .optional("most_sums", space.most_sums);
}

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

// The value of a named parameter; 1 if the space lacks it.
int value_of(const SweepSpace& space, const SweepPoint& point, const std::string& name) {
  for (std::size_t i = 0; i < point.size(); ++i) {
    if (space.parameters[i].name == name) return point[i];
  }
  return 1;
}

int round_up(int value, int unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

std::vector<SweepSpace> read_sweep_spaces(const std::filesystem::path& file) {
  const std::string text = read_text(file);
  try {
    auto spaces = parse_json(text).get<std::vector<SweepSpace>>();
    for (const SweepSpace& space : spaces) {
      const bool good = std::ranges::all_of(space.parameters, [](const SweepParameter& each) {
        return !each.values.empty() && std::ranges::min(each.values) > 0;
      });
      if (!good || space.parameters.size() < 2) {
        throw EnvironmentError(file.string() + ", stage '" + space.stage +
                               "': a sweep needs two parameters or more, with values above 0.");
      }
    }
    return spaces;
  } catch (const Json::exception& error) {
    throw EnvironmentError(file.string() + " is no list of sweep spaces: " + error.what());
  }
}

std::vector<SweepPoint> points_of(const SweepSpace& space) {
  std::vector<SweepPoint> points = {{}};
  for (const SweepParameter& parameter : space.parameters) {
    std::vector<SweepPoint> longer;
    for (const SweepPoint& point : points) {
      for (const int value : parameter.values) {
        longer.push_back(point);
        longer.back().push_back(value);
      }
    }
    points = std::move(longer);
  }
  return points;
}

std::string text_of(const SweepPoint& point) {
  std::string text;
  for (const int value : point) text += (text.empty() ? "" : ",") + std::to_string(value);
  return text;
}

std::optional<std::string> reason_against(const SweepSpace& space, const SweepPoint& point,
                                          const ConvShape& shape) {
  constexpr int kWarp = 32;
  constexpr int kMostThreads = 1024;  // of a block
  const int maps = value_of(space, point, "maps");
  const int pixels = value_of(space, point, "pixels");
  const int block = value_of(space, point, "block");
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  if (block > kMostThreads) {
    return "too many threads: a block may have " + number(kMostThreads);
  }
  if (block > 1 && block % kWarp != 0)
    return "a block that is no multiple of 32 leaves threads of a warp idle";
  if (space.most_sums > 0 && maps * pixels > space.most_sums) {
    return "too many registers: more than " + number(space.most_sums) + " sums for a thread";
  }
  if (maps > shape.out_channels) {
    return "more maps than the convolution has, " + number(shape.out_channels);
  }
  const std::int64_t map_pixels = std::int64_t{shape.out_height()} * shape.out_width();
  if (std::int64_t{block} * pixels > 2 * map_pixels) {
    return "more than half of the threads have no pixel: a map has " + number(map_pixels);
  }
  return std::nullopt;
}

double counted_loads(const SweepSpace& space, const SweepPoint& point, const ConvShape& shape) {
  const int m = value_of(space, point, "maps");
  const int p = value_of(space, point, "pixels");
  const int block = value_of(space, point, "block");
  const int map_pixels = shape.out_height() * shape.out_width();
  const double paid =
      static_cast<double>(round_up(shape.out_channels, m)) * round_up(map_pixels, block * p);
  const double useful = static_cast<double>(shape.out_channels) * map_pixels;
  return (m + p) / (static_cast<double>(m) * p) * (paid / useful);
}

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

SweepRecord read_sweep_record(const std::filesystem::path& file) {
  try {
    return parse_json(read_text(file)).get<SweepRecord>();
  } catch (const Json::exception& error) {
    throw EnvironmentError(file.string() + " is no record of a sweep (" + error.what() +
                           "); delete it to begin anew.");
  }
}

void write_sweep_record(const std::filesystem::path& file, const SweepRecord& record) {
  write_atomically(file, json_text(Json(record), 1) + "\n");
}

SweepRecord continued_record(const std::filesystem::path& file, const SweepPlan& plan) {
  SweepRecord fresh{.stage = plan.space.stage,
                    .program = state_of(plan.program),
                    .network = plan.network,
                    .gpu = plan.gpu,
                    .tried = {}};
  if (!std::filesystem::exists(file)) return fresh;
  SweepRecord old = read_sweep_record(file);
  const bool same = old.stage == fresh.stage && old.program == fresh.program &&
                    old.network == fresh.network && old.gpu == fresh.gpu;
  return same ? old : fresh;
}

void time_point(const SweepPlan& plan, TriedPoint& point) {
  Submission submission(plan.program);
  submission.set_environment({plan.space.variable + "=" + text_of(point.point)});
  for (ConvShape shape : plan.shapes) {
    shape.batch = point.batch;
    const Arrays arrays = submission.prepare(shape, Placement::kAligned);
    FreshNumbers::draw().fill(arrays.weights, shape.weights_size());
    std::vector<double>& samples = point.op_ms.emplace_back();
    for (int i = 0; i <= plan.repeats; ++i) {
      const Call call = submission.run_timed(
          plan.space.stage, [&] { FreshNumbers::draw().fill(arrays.input, shape.input_size()); });
      if (call.failure) {
        point.op_ms.clear();
        const Finding found = explain(*call.failure, "a sample");
        point.failure = found.title + "; " + found.seen;
        return;
      }
      refuse_silent_emulation(submission.device());
      if (i > 0) samples.push_back(call.op_ms);  // the first one warms up
    }
  }
}

void run_sweep(const SweepPlan& plan, const std::filesystem::path& file, SweepRecord& record,
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
    time(plan, point);
    record.tried.push_back(std::move(point));
    write_sweep_record(file, record);
  }
}

std::string SweepTable::best() const {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(2, scored.size()); ++i) {
    text += (i == 0 ? "" : "; next: ") + text_of(scored[i].point) + " with " +
            three_digits(scored[i].score);
  }
  return text;
}

SweepTables tables_of(const SweepPlan& plan, const SweepRecord& record) {
  const bool counted = record.gpu.empty();
  SweepTables all{plan.space,
                  counted ? "counted, not timed" : record.gpu + ", network " + record.network};
  std::set<int> batches;
  for (const TriedPoint& tried : record.tried) batches.insert(tried.batch);
  if (counted) batches = {0};
  for (const int batch : batches) {
    for (std::size_t i = 0; i < plan.shapes.size(); ++i) {
      SweepTable table{.title = "convolution " + std::to_string(i + 1) +
                                (counted ? ", counted" : " at " + grouped(batch) + " images"),
                       .unit = counted ? "loads for each multiply-add" : "op time, ms"};
      std::map<std::string, int> reasons;
      for (const SweepPoint& point : points_of(plan.space)) {
        const auto tried = std::ranges::find_if(record.tried, [&](const TriedPoint& each) {
          return each.batch == batch && each.point == point;
        });
        if (const auto reason = reason_against(plan.space, point, plan.shapes[i])) {
          ++reasons[*reason];
        } else if (counted) {
          table.scored.push_back({point, counted_loads(plan.space, point, plan.shapes[i])});
        } else if (tried != record.tried.end() && !tried->failure.empty()) {
          ++reasons["failed: " + tried->failure];
        } else if (tried != record.tried.end() && i < tried->op_ms.size()) {
          table.scored.push_back({point, spread_of(tried->op_ms[i]).median});
        }
      }
      std::ranges::stable_sort(table.scored, {}, &ScoredPoint::score);
      for (const auto& [reason, count] : reasons) {
        table.left_out.push_back(std::to_string(count) + (count == 1 ? " point: " : " points: ") +
                                 reason);
      }
      all.tables.push_back(std::move(table));
    }
  }
  return all;
}

Table cells_of(const SweepSpace& space, const SweepTable& table) {
  const SweepParameter& down = space.parameters.at(0);
  const SweepParameter& across = space.parameters.at(1);
  Table cells{.heading = {down.name + " \\ " + across.name}};
  for (const int column : across.values) cells.heading.push_back(std::to_string(column));
  for (const int row : down.values) {
    std::vector<std::string> line = {std::to_string(row)};
    for (const int column : across.values) {
      const auto best = std::ranges::find_if(table.scored, [&](const ScoredPoint& each) {
        return each.point[0] == row && each.point[1] == column;
      });
      if (best == table.scored.end()) {
        line.emplace_back("-");
        continue;
      }
      const std::string rest = text_of({best->point.begin() + 2, best->point.end()});
      line.push_back(three_digits(best->score) + (rest.empty() ? "" : " (" + rest + ")"));
    }
    cells.rows.push_back(std::move(line));
  }
  return cells;
}

}  // namespace convlab::grader
