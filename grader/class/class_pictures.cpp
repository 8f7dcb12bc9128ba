#include "grader/class/class_pictures.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "common/timing/statistics.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/report/score_table.hpp"

namespace convlab::grader {

namespace {

/// A stage at a batch that was timed.
using Timed = std::tuple<std::string, std::string, int>;  // milestone, stage, batch

std::map<Timed, std::vector<SpeedRow>> by_stage(const std::vector<SpeedRow>& speeds) {
  std::map<Timed, std::vector<SpeedRow>> groups;
  for (const SpeedRow& row : speeds) groups[{row.milestone, row.stage, row.batch}].push_back(row);
  return groups;
}

std::string name_of(const Timed& timed) {
  return std::get<0>(timed) + " " + std::get<1>(timed) + ", batch " +
         std::to_string(std::get<2>(timed));
}

std::string stem_of(const std::string& what, const Timed& timed) {
  return what + "-" + std::get<0>(timed) + "-" + std::get<1>(timed) + "-" +
         std::to_string(std::get<2>(timed));
}

// The best attempt of each student, fastest first.
std::vector<SpeedRow> best_of_each(const std::vector<SpeedRow>& rows) {
  std::map<std::string, SpeedRow> best;
  for (const SpeedRow& row : rows) {
    const auto [place, is_new] = best.try_emplace(row.student, row);
    if (!is_new && row.yours_ms < place->second.yours_ms) place->second = row;
  }
  std::vector<SpeedRow> result;
  for (const auto& [student, row] : best) result.push_back(row);
  std::ranges::sort(result, {}, &SpeedRow::yours_ms);
  return result;
}

double median(const std::vector<SpeedRow>& rows, double SpeedRow::*field) {
  std::vector<double> values;
  for (const SpeedRow& row : rows) values.push_back(row.*field);
  return spread_of(std::move(values)).median;
}

Chart distribution(const Timed& timed, const std::vector<SpeedRow>& rows) {
  const std::vector<SpeedRow> best = best_of_each(rows);
  Chart chart{.title = "Op time of the class: " + name_of(timed),
              .x_title = "share of the class that is at most as slow, %",
              .y_title = "op time, ms (log scale)",
              .log_y = true};
  Chart::Line own{.label = "best attempt of each"};
  Chart::Line reference{.label = "reference (median)"};
  Chart::Line floor{.label = "floor"};
  const double reference_ms = median(best, &SpeedRow::reference_ms);
  const double floor_ms = median(best, &SpeedRow::floor_ms);
  for (std::size_t i = 0; i < best.size(); ++i) {
    constexpr double kPercent = 100.0;
    chart.x.push_back(kPercent * static_cast<double>(i + 1) / static_cast<double>(best.size()));
    own.values.emplace_back(best[i].yours_ms);
    reference.values.emplace_back(reference_ms);
    floor.values.emplace_back(floor_ms);
  }
  chart.lines = {own, reference};
  if (floor_ms > 0.0) chart.lines.push_back(floor);
  return chart;
}

// Three lines of a group of numbers for each x: the best, the middle, the last quarter.
void add_quartiles(Chart& chart, const std::vector<std::vector<double>>& groups) {
  chart.lines = {{.label = "fastest"},
                 {.label = "upper quarter"},
                 {.label = "median"},
                 {.label = "lower quarter"}};
  for (const std::vector<double>& group : groups) {
    const Spread spread = spread_of(group);
    const double fastest = group.empty() ? 0.0 : *std::ranges::max_element(group);
    const std::array values = {fastest, spread.upper_quartile, spread.median,
                               spread.lower_quartile};
    for (std::size_t i = 0; i < values.size(); ++i) {
      chart.lines[i].values.push_back(group.empty() ? std::nullopt
                                                    : std::optional<double>(values[i]));
    }
  }
}

Chart by_attempt(const Timed& timed, const std::vector<SpeedRow>& rows) {
  Chart chart{.title = "Speed by attempt: " + name_of(timed),
              .x_title = "attempt",
              .y_title = "times as fast as the reference (log scale)",
              .log_y = true};
  std::map<int, std::vector<double>> attempts;
  for (const SpeedRow& row : rows) attempts[row.attempt].push_back(row.speed);
  std::vector<std::vector<double>> groups;
  for (auto& [attempt, values] : attempts) {
    // A name, because there are no values between two attempts.
    chart.x.push_back(static_cast<double>(chart.places.size()));
    chart.places.push_back(std::to_string(attempt));
    groups.push_back(std::move(values));
  }
  add_quartiles(chart, groups);
  return chart;
}

constexpr std::size_t kDate = 10;  // of "2026-11-22T…"

Chart over_the_days(const Timed& timed, const std::vector<SpeedRow>& rows) {
  Chart chart{.title = "Best speed so far, day by day: " + name_of(timed),
              .x_title = "day",
              .y_title = "times as fast as the reference (log scale)",
              .log_y = true};
  std::map<std::string, std::vector<const SpeedRow*>> days;
  for (const SpeedRow& row : rows) days[row.received.substr(0, kDate)].push_back(&row);
  std::map<std::string, double> best;
  std::vector<std::vector<double>> groups;
  for (const auto& [day, of_day] : days) {
    for (const SpeedRow* row : of_day) {
      best[row->student] = std::max(best[row->student], row->speed);
    }
    std::vector<double> values;
    for (const auto& [student, speed] : best) values.push_back(speed);
    chart.x.push_back(static_cast<double>(chart.places.size()));
    chart.places.push_back(day);
    groups.push_back(std::move(values));
  }
  add_quartiles(chart, groups);
  return chart;
}

Chart progress(const std::vector<SubmissionRow>& rows) {
  Chart chart{.title = "Progress over the term",
              .x_title = "day",
              .y_title = "students whose submission passed"};
  std::set<std::string> days;
  // By milestone, the day when each student passed first.
  std::map<std::string, std::map<std::string, std::string>> passed;
  for (const SubmissionRow& row : rows) {
    const std::string day = row.received.substr(0, kDate);
    days.insert(day);
    auto& students = passed[row.milestone];
    if (!row.passed) continue;
    const auto [place, is_new] = students.try_emplace(row.student, day);
    if (!is_new) place->second = std::min(place->second, day);
  }
  chart.places.assign(days.begin(), days.end());
  for (std::size_t i = 0; i < chart.places.size(); ++i) chart.x.push_back(static_cast<double>(i));
  for (const auto& [milestone, students] : passed) {
    std::map<std::string, int> new_ones;
    for (const auto& [student, day] : students) ++new_ones[day];
    Chart::Line line{.label = milestone};
    int sum = 0;
    for (const std::string& day : chart.places) {
      line.values.emplace_back(static_cast<double>(sum += new_ones[day]));
    }
    chart.lines.push_back(std::move(line));
  }
  return chart;
}

Table overview(const std::vector<SubmissionRow>& rows) {
  Table table{.heading = {"milestone", "students", "submissions", "passed", "median points",
                          "most points", "refused", "stopped"}};
  std::map<std::string, std::vector<SubmissionRow>> milestones;
  for (const SubmissionRow& row : rows) milestones[row.milestone].push_back(row);
  for (const auto& [milestone, all] : milestones) {
    std::vector<double> points;
    double most = 0.0;
    int passed = 0;
    for (const SubmissionRow& row : counting(all, false)) {
      points.push_back(row.earned);
      most = std::max(most, row.earned);
      passed += row.passed ? 1 : 0;
    }
    // By name: clang 14 lets no lambda capture a structured binding.
    const auto count = [&all = all](SubmissionState state) {
      return std::to_string(std::count_if(
          all.begin(), all.end(), [&](const SubmissionRow& row) { return row.state == state; }));
    };
    table.rows.push_back({milestone, std::to_string(points.size()), std::to_string(all.size()),
                          std::to_string(passed), points_text(spread_of(points).median),
                          points_text(most), count(SubmissionState::kRefused),
                          count(SubmissionState::kStopped)});
  }
  return table;
}

Table all_submissions(const std::vector<SubmissionRow>& rows, bool with_names) {
  Table table{
      .heading = {"who", "milestone", "attempt", "received", "state", "points", "of", "finding"}};
  for (const SubmissionRow& row : rows) {
    table.rows.push_back({with_names ? row.student : row.alias, row.milestone,
                          std::to_string(row.attempt), row.received, to_string(row.state),
                          points_text(row.earned), points_text(row.counted),
                          row.passed ? "passed" : row.finding});
  }
  return table;
}

}  // namespace

std::vector<ClassPicture> class_pictures(const std::vector<SubmissionRow>& rows,
                                         const std::vector<SpeedRow>& speeds) {
  std::vector<ClassPicture> pictures;
  if (!rows.empty()) pictures.push_back({"progress", progress(rows)});
  for (const auto& [timed, group] : by_stage(speeds)) {
    pictures.push_back({stem_of("op-time", timed), distribution(timed, group)});
    pictures.push_back({stem_of("by-attempt", timed), by_attempt(timed, group)});
    pictures.push_back({stem_of("best-so-far", timed), over_the_days(timed, group)});
  }
  return pictures;
}

Table leaderboard(const std::vector<SpeedRow>& speeds, const std::string& milestone,
                  const std::string& stage, int batch, bool with_names) {
  Table table{.heading = {"who", "rank", "op time ms", "times the reference", "attempts"}};
  std::vector<SpeedRow> rows;
  std::map<std::string, int> attempts;
  for (const SpeedRow& row : speeds) {
    if (row.milestone != milestone || row.stage != stage || row.batch != batch) continue;
    rows.push_back(row);
    attempts[row.student] = std::max(attempts[row.student], row.attempt);
  }
  for (const SpeedRow& row : best_of_each(rows)) {
    table.rows.push_back({with_names ? row.student : row.alias,
                          std::to_string(table.rows.size() + 1), three_digits(row.yours_ms),
                          three_digits(row.speed), std::to_string(attempts[row.student])});
  }
  return table;
}

Page class_dashboard(const std::vector<SubmissionRow>& rows, const std::vector<SpeedRow>& speeds,
                     bool with_names) {
  Page page{.title = "The class",
            .subtitle = with_names ? "With names: for instructors only."
                                   : "Aliases stand for names; they were drawn at random."};
  page.sections.push_back({.title = "Overview", .blocks = {overview(rows), progress(rows)}});
  for (const auto& [timed, group] : by_stage(speeds)) {
    const auto& [milestone, stage, batch] = timed;
    page.sections.push_back(
        {.title = "Speed: " + name_of(timed),
         .blocks = {LiveTable{leaderboard(group, milestone, stage, batch, with_names)},
                    distribution(timed, group), by_attempt(timed, group),
                    over_the_days(timed, group)}});
  }
  page.sections.push_back(
      {.title = "All submissions", .blocks = {LiveTable{all_submissions(rows, with_names)}}});
  return page;
}

}  // namespace convlab::grader
