#include "grader/report/pages/sweep.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "common/base/error.hpp"
#include "common/base/whole_file.hpp"
#include "common/network/preset.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/report/plots/result_figures.hpp"

namespace convlab::grader {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SweepSpace, stage, variable, maps, pixels, block, most_sums)

namespace {

int round_up(int value, int unit) {
  return (value + unit - 1) / unit * unit;
}

// Counted instead of timed: loads for each useful multiply-add. A thread with m maps and p pixels
// loads m + p numbers for m · p products; products of maps and pixels that do not exist cost loads
// but are not useful.
double counted_loads(const SweepPoint& point, const ConvShape& shape) {
  const auto [m, p, block] = point;
  const int map_pixels = shape.out_height() * shape.out_width();
  const double paid =
      static_cast<double>(round_up(shape.out_channels, m)) * round_up(map_pixels, block * p);
  const double useful = static_cast<double>(shape.out_channels) * map_pixels;
  return (m + p) / (static_cast<double>(m) * p) * (paid / useful);
}

/// A point with its time in milliseconds, or its counted loads.
struct ScoredPoint {
  SweepPoint point{};
  double score = 0.0;
};

SweepTable table_of(const SweepSpace& space, const std::string& title, const std::string& unit,
                    std::vector<ScoredPoint> points) {
  std::ranges::stable_sort(points, {}, &ScoredPoint::score);
  SweepTable table{.text = "Sweep of " + space.stage + ", " + title + ": " + unit +
                           "; in brackets the threads of a block. ",
                   .cells = {.heading = {"maps \\ pixels"}}};
  for (const int pixels : space.pixels) table.cells.heading.push_back(std::to_string(pixels));
  for (const int maps : space.maps) {
    auto& row = table.cells.rows.emplace_back(1, std::to_string(maps));
    for (const int pixels : space.pixels) {
      const auto best = std::ranges::find_if(points, [&](const ScoredPoint& each) {
        return each.point[0] == maps && each.point[1] == pixels;
      });
      row.push_back(best == points.end()
                        ? "-"
                        : three_digits(best->score) + " (" + std::to_string(best->point[2]) + ")");
    }
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(2, points.size()); ++i) {
    table.text += (i == 0 ? "Best: " : "; next: ") + text_of(points[i].point) + " with " +
                  three_digits(points[i].score);
  }
  table.text += points.empty() ? "No point ran." : ".";
  for (const auto& [point, score] : points) {
    table.scores.push_back({score, unit + " of " + text_of(point) + " in " + title});
  }
  return table;
}

}  // namespace

std::vector<SweepSpace> sweep_spaces(const std::filesystem::path& milestone_folder) {
  const auto file = milestone_folder / "sweeps.json";
  if (!std::filesystem::exists(file)) return {};
  try {
    return nlohmann::json::parse(read_text(file)).get<std::vector<SweepSpace>>();
  } catch (const nlohmann::json::exception& error) {
    throw EnvironmentError(file.string() + " is no list of sweep spaces: " + error.what());
  }
}

std::vector<SweepPoint> points_of(const SweepSpace& space) {
  std::vector<SweepPoint> points;
  for (const int maps : space.maps) {
    for (const int pixels : space.pixels) {
      if (maps * pixels > space.most_sums) continue;
      for (const int block : space.block) points.push_back({maps, pixels, block});
    }
  }
  return points;
}

std::string text_of(const SweepPoint& point) {
  return std::to_string(point[0]) + "," + std::to_string(point[1]) + "," + std::to_string(point[2]);
}

std::vector<SweepTable> timed_tables(const SweepSpace& space, const std::filesystem::path& folder) {
  std::map<std::tuple<std::string, int, std::size_t>, std::vector<ScoredPoint>> found;
  for (const auto& batch : std::filesystem::directory_iterator(folder)) {
    for (const SweepPoint& point : points_of(space)) {
      const auto file = batch.path() / (text_of(point) + ".json");
      if (!std::filesystem::exists(file)) continue;
      const std::vector<Result> results = {read_result(file)};
      for (const std::string& network : networks_of(results)) {
        for (const PlottedRun& run : plotted_runs(results, network)) {
          for (std::size_t i = 0; i < run.run->layers.size(); ++i) {
            const std::string where = network + " on " + run.result->machine.gpu;
            found[{where, run.run->batch, i}].push_back({point, run.op_ms[i].median});
          }
        }
      }
    }
  }
  std::vector<SweepTable> tables;
  for (const auto& [key, points] : found) {
    const auto& [where, batch, layer] = key;
    tables.push_back(table_of(space,
                              "convolution " + std::to_string(layer + 1) + " of " + where + ", " +
                                  grouped(batch) + " images",
                              "op time, ms", points));
  }
  return tables;
}

std::vector<SweepTable> counted_tables(const SweepSpace& space, const std::string& network) {
  std::vector<SweepTable> tables;
  for (const ConvShape& shape : load_preset(network).conv_shapes(1)) {
    std::vector<ScoredPoint> points;
    for (const SweepPoint& point : points_of(space)) {
      points.push_back({point, counted_loads(point, shape)});
    }
    tables.push_back(table_of(
        space, "convolution " + std::to_string(tables.size() + 1) + " of " + network + ", counted",
        "loads for each multiply-add", points));
  }
  return tables;
}

}  // namespace convlab::grader
