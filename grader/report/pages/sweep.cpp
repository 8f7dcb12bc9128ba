#include "grader/report/pages/sweep.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "common/base/error.hpp"
#include "common/base/whole_file.hpp"
#include "common/network/preset.hpp"
#include "common/timing/statistics.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/checks/fresh_numbers.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SweepParameter, name, values)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SweepSpace, stage, variable, parameters, most_sums)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TriedPoint, batch, point, op_ms, failure)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SweepRecord, stage, network, gpu, tried)

namespace {

// The value of a named parameter; 1 if the space lacks it.
int value_of(const SweepSpace& space, const SweepPoint& point, const std::string& name) {
  const auto found = std::ranges::find(space.parameters, name, &SweepParameter::name);
  return found == space.parameters.end()
             ? 1
             : point[static_cast<std::size_t>(found - space.parameters.begin())];
}

int round_up(int value, int unit) {
  return (value + unit - 1) / unit * unit;
}

/// A point with its time in milliseconds, or its counted loads.
struct ScoredPoint {
  SweepPoint point{};
  double score = 0.0;
};

Table cells_of(const SweepSpace& space, const std::vector<ScoredPoint>& best_first) {
  const SweepParameter& down = space.parameters.at(0);
  const SweepParameter& across = space.parameters.at(1);
  Table cells{.heading = {down.name + " \\ " + across.name}};
  for (const int column : across.values) cells.heading.push_back(std::to_string(column));
  for (const int row : down.values) {
    std::vector<std::string> line = {std::to_string(row)};
    for (const int column : across.values) {
      const auto best = std::ranges::find_if(best_first, [&](const ScoredPoint& each) {
        return each.point[0] == row && each.point[1] == column;
      });
      if (best == best_first.end()) {
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

SweepTable table_of(const SweepSpace& space, const std::string& title, const std::string& unit,
                    std::vector<ScoredPoint> points) {
  std::ranges::stable_sort(points, {}, &ScoredPoint::score);
  SweepTable table{.text = "Sweep of " + space.stage + ", " + title + ": " + unit +
                           "; in brackets the other parameters. ",
                   .cells = cells_of(space, points)};
  for (std::size_t i = 0; i < std::min<std::size_t>(2, points.size()); ++i) {
    table.text += (i == 0 ? "Best: " : "; next: ") + text_of(points[i].point) + " with " +
                  three_digits(points[i].score);
  }
  table.text += points.empty() ? "No point ran." : ".";
  for (const ScoredPoint& each : points) {
    table.scores.push_back({each.score, unit + " of " + text_of(each.point) + " in " + title});
  }
  return table;
}

}  // namespace

std::vector<SweepSpace> read_sweep_spaces(const std::filesystem::path& file) {
  const std::string text = read_text(file);
  try {
    auto spaces = nlohmann::json::parse(text).get<std::vector<SweepSpace>>();
    if (std::ranges::all_of(spaces, [](const auto& each) { return each.parameters.size() >= 2; })) {
      return spaces;
    }
    throw EnvironmentError(file.string() + ": a sweep needs two parameters or more.");
  } catch (const nlohmann::json::exception& error) {
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
  std::erase_if(points, [&](const SweepPoint& point) {
    const int sums = value_of(space, point, "maps") * value_of(space, point, "pixels");
    return space.most_sums > 0 && sums > space.most_sums;
  });
  return points;
}

std::string text_of(const SweepPoint& point) {
  std::string text;
  for (const int value : point) text += (text.empty() ? "" : ",") + std::to_string(value);
  return text;
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

SweepRecord read_sweep_record(const std::filesystem::path& file) {
  try {
    return nlohmann::json::parse(read_text(file)).get<SweepRecord>();
  } catch (const nlohmann::json::exception& error) {
    throw EnvironmentError(file.string() + " is no record of a sweep (" + error.what() +
                           "); delete it to begin anew.");
  }
}

void write_sweep_record(const std::filesystem::path& file, const SweepRecord& record) {
  write_atomically(file, nlohmann::json(record).dump(1) + "\n");
}

void time_point(const std::filesystem::path& program, const SweepSpace& space,
                std::vector<ConvShape> shapes, TriedPoint& tried) {
  constexpr int kSamples = 10;
  Submission submission(program);
  submission.set_environment({space.variable + "=" + text_of(tried.point)});
  for (ConvShape& shape : shapes) {
    shape.batch = tried.batch;
    const Arrays arrays = submission.prepare(shape, Placement::kAligned);
    FreshNumbers::draw().fill(arrays.weights, shape.weights_size());
    std::vector<double> samples;
    for (int i = 0; i <= kSamples; ++i) {
      const Call call = submission.run_timed(
          space.stage, [&] { FreshNumbers::draw().fill(arrays.input, shape.input_size()); });
      if (call.failure) {
        tried.op_ms.clear();
        const Finding found = explain(*call.failure, "a sample");
        tried.failure = found.title + "; " + found.seen;
        return;
      }
      refuse_silent_emulation(submission.device());
      if (i > 0) samples.push_back(call.op_ms);  // the first one warms up
    }
    tried.op_ms.push_back(spread_of(samples).median);
  }
}

std::vector<SweepTable> tables_of(const SweepSpace& space, const SweepRecord& record) {
  const bool is_counted = record.gpu.empty();
  const std::vector<ConvShape> shapes = load_preset(record.network).conv_shapes(1);
  std::set<int> batches;
  for (const TriedPoint& tried : record.tried) batches.insert(tried.batch);
  if (is_counted) batches = {0};
  std::vector<SweepTable> tables;
  for (const int batch : batches) {
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const std::string layer = "convolution " + std::to_string(i + 1) + " of " + record.network;
      std::vector<ScoredPoint> points;
      if (is_counted) {
        for (const SweepPoint& point : points_of(space)) {
          points.push_back({point, counted_loads(space, point, shapes[i])});
        }
        tables.push_back(
            table_of(space, layer + ", counted", "loads for each multiply-add", points));
        continue;
      }
      for (const TriedPoint& tried : record.tried) {
        if (tried.batch == batch && i < tried.op_ms.size()) {
          points.push_back({tried.point, tried.op_ms[i]});
        }
      }
      tables.push_back(table_of(space, layer + " at " + grouped(batch) + " images, " + record.gpu,
                                "op time, ms", points));
    }
  }
  return tables;
}

}  // namespace convlab::grader
