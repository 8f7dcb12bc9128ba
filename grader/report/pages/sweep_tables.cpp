#include "grader/report/pages/sweep_tables.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "common/timing/statistics.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/report/numbers.hpp"

namespace convlab::grader {

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
