#include "grader/report/plots/sweep_report.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "common/timing/statistics.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/report/numbers.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

namespace {

// The points of a convolution that are out already, by the reason, with an empty table for the
// others.
struct Begun {
  SweepTable table{};
  std::map<std::string, int> reasons{};

  SweepTable finish() {
    std::ranges::stable_sort(table.scored, {}, &ScoredPoint::score);
    for (const auto& [reason, count] : reasons) {
      table.left_out.push_back(std::to_string(count) + (count == 1 ? " point: " : " points: ") +
                               reason);
    }
    return std::move(table);
  }
};

// @param batch  0: counted, the same at every batch
Begun begin_table(const SweepPlan& plan, std::size_t layer, int batch) {
  const std::string number = std::to_string(layer + 1);
  const bool counted = batch == 0;
  Begun begun{{.title = "convolution " + number +
                        (counted ? ", counted" : " at " + grouped(batch) + " images"),
               .file_stem = "sweep-" + plan.space.stage + "-" + number + "-" +
                            (counted ? "counted" : std::to_string(batch)),
               .unit = counted ? "loads for each multiply-add" : "op time, ms"}};
  for (const SweepPoint& point : points_of(plan.space)) {
    if (const auto reason = reason_against(plan.space, point, plan.shapes[layer])) {
      ++begun.reasons[*reason];
    }
  }
  return begun;
}

// The values of all parameters from the third on: "128".
std::string rest_of(const SweepPoint& point) {
  return text_of(
      SweepPoint(point.begin() + std::min<std::ptrdiff_t>(2, std::ssize(point)), point.end()));
}

// The best point with these values of the first two parameters; null if there is none.
const ScoredPoint* best_in_cell(const SweepTable& table, int row, std::optional<int> column) {
  const auto found = std::ranges::find_if(table.scored, [&](const ScoredPoint& scored) {
    return scored.point[0] == row && (!column || scored.point[1] == *column);
  });
  return found == table.scored.end() ? nullptr : &*found;
}

// "0.390 (64)": the score, and the values of all parameters from the third on; "-" for null.
std::string cell_text(const ScoredPoint* best) {
  if (best == nullptr) return "-";
  const std::string rest = rest_of(best->point);
  return three_digits(best->score) + (rest.empty() ? "" : " (" + rest + ")");
}

}  // namespace

SweepTables tables_of(const SweepPlan& plan, const SweepRecord& record) {
  const bool counted = record.gpu.empty();
  SweepTables all{plan.space,
                  counted ? "counted, not timed" : record.gpu + ", network " + record.network};
  std::set<int> batches;
  for (const TriedPoint& tried : record.tried) batches.insert(tried.batch);
  if (counted) batches = {0};
  for (const int batch : batches) {
    for (std::size_t i = 0; i < plan.shapes.size(); ++i) {
      Begun begun = begin_table(plan, i, batch);
      for (const SweepPoint& point : counted ? points_of(plan.space) : std::vector<SweepPoint>()) {
        const auto loads = counted_loads(plan.space, point, plan.shapes[i]);
        if (loads && !reason_against(plan.space, point, plan.shapes[i])) {
          begun.table.scored.push_back({point, *loads});
        }
      }
      for (const TriedPoint& tried : record.tried) {
        if (tried.batch != batch || reason_against(plan.space, tried.point, plan.shapes[i])) {
          continue;
        }
        if (!tried.failure.empty()) {
          ++begun.reasons["failed: " + tried.failure];
        } else if (i < tried.op_ms.size()) {
          begun.table.scored.push_back({tried.point, spread_of(tried.op_ms[i]).median});
        }
      }
      all.tables.push_back(begun.finish());
    }
  }
  return all;
}

Figure heat_map(const SweepSpace& space, const SweepTable& table, const std::string& caption) {
  const SweepParameter& rows = space.parameters[0];
  const bool has_columns = space.parameters.size() > 1;
  Figure figure{.name = table.file_stem,
                .form = Figure::Form::kCells,
                .title = "Sweep of " + space.stage + ", " + table.title,
                .caption = table.unit,
                .x = {.title = has_columns ? space.parameters[1].name : table.unit},
                .y = {.title = rows.name},
                .panels = std::vector<Panel>(1)};
  for (std::size_t i = 2; i < space.parameters.size(); ++i) {
    figure.caption += (i == 2 ? ", in brackets the best " : ", ") + space.parameters[i].name;
  }
  if (!caption.empty()) figure.caption += " · " + caption;
  std::vector<std::optional<int>> columns(1);
  if (has_columns) {
    columns.assign(space.parameters[1].values.begin(), space.parameters[1].values.end());
  }
  for (const auto& column : columns) {
    figure.columns.push_back(column ? std::to_string(*column) : "best");
  }
  for (const int row : rows.values) {
    figure.rows.push_back(std::to_string(row));
    Series& series = figure.panels[0].series.emplace_back();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const ScoredPoint* best = best_in_cell(table, row, columns[i]);
      if (best == nullptr) continue;
      series.marks.push_back({.at = static_cast<double>(i),
                              .value = best->score,
                              .low = best->score,
                              .high = best->score,
                              .text = cell_text(best)});
    }
  }
  return figure;
}

std::string table_text(const SweepSpace& space, const SweepTable& table) {
  const Figure map = heat_map(space, table);
  std::string text = paragraph("", map.title + ": " + map.caption) + plain_table(table_of(map));
  const auto point = [&](std::size_t place) {
    const ScoredPoint& scored = table.scored[place];
    return text_of(scored.point) + " with " + three_digits(scored.score);
  };
  if (!table.scored.empty()) {
    text += "Best: " + point(0) + (table.scored.size() > 1 ? "; next: " + point(1) : "") + "\n";
  }
  for (const std::string& line : table.left_out) text += paragraph("Left out, ", line);
  return text;
}

}  // namespace convlab::grader
