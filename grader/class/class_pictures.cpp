#include "grader/class/class_pictures.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "common/timing/statistics.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/class/term.hpp"
#include "grader/report/check_report.hpp"
#include "grader/report/plots/result_figures.hpp"

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
std::vector<SpeedRow> best_of_each(std::vector<SpeedRow> rows) {
  std::ranges::stable_sort(rows, {}, &SpeedRow::yours_ms);
  std::set<std::string> seen;
  std::erase_if(rows, [&](const SpeedRow& row) { return !seen.insert(row.student).second; });
  return rows;
}

double median(const std::vector<SpeedRow>& rows, double SpeedRow::*field) {
  std::vector<double> values;
  for (const SpeedRow& row : rows) values.push_back(row.*field);
  return spread_of(std::move(values)).median;
}

std::string caption_of(const std::vector<SubmissionRow>& rows) {
  return std::to_string(rows.size()) + " submissions";
}

std::string caption_of(const std::vector<SpeedRow>& rows) {
  return std::to_string(rows.size()) +
         " timed submissions, one machine, in turns with the reference solution";
}

// Only what is known stands on a log scale.
void add(Figure& figure, const std::string& label, double at, const Spread& point,
         Series::Line line = Series::Line::kSolid) {
  if (figure.y.log && !(point.lower_quartile > 0.0)) return;
  Series& series = series_of(figure.panels[0], label);
  series.line = line;
  series.marks.push_back({at, point.median, point.lower_quartile, point.upper_quartile});
  figure.x.include(at);
  figure.y.include(point.lower_quartile);
  figure.y.include(point.upper_quartile);
}

void add(Figure& figure, const std::string& label, double at, double value,
         Series::Line line = Series::Line::kSolid) {
  add(figure, label, at, Spread{value, value, value}, line);
}

// Room around the marks, and the name of each line at its end.
Figure finished(Figure figure) {
  if (figure.y.log) {
    figure.y.low /= 1.5;
    figure.y.high *= 1.5;
  } else {
    figure.y.low = 0.0;
    figure.y.high = std::max(1.0, 1.1 * figure.y.high);
  }
  const double room = std::max(0.5, 0.03 * (figure.x.high - figure.x.low));
  figure.x.low -= room;
  figure.x.high += room;
  if (figure.panels[0].series.size() > 1) figure.label_ends();
  return figure;
}

constexpr std::size_t kDate = 10;  // of "2026-11-22T…"
constexpr double kDay = 86'400;

// Of days: a tic for each of at most seven, because more would touch on a slide.
Figure finished_days(Figure figure) {
  std::set<double> days;
  for (const Series& series : figure.panels[0].series) {
    for (const Mark& mark : series.marks) days.insert(mark.at);
  }
  constexpr std::size_t kMost = 7;
  const std::size_t step = (days.size() + kMost - 1) / kMost;
  std::size_t i = 0;
  for (const double day : days) {
    if (i++ % step != 0) continue;
    const auto seconds = static_cast<std::int64_t>(day * kDay);
    figure.x.tics.emplace_back(day, utc_text(seconds).substr(0, kDate));
  }
  return finished(std::move(figure));
}

Figure distribution(const Timed& timed, const std::vector<SpeedRow>& rows) {
  const std::vector<SpeedRow> best = best_of_each(rows);
  Figure figure{.name = stem_of("op-time", timed),
                .form = Figure::Form::kLines,
                .title = "Op time of the class: " + name_of(timed),
                .caption = caption_of(rows),
                .x = {.title = "share of the class that is at least as fast, %", .log = false},
                .y = {.title = "op time, ms (log scale)"},
                .panels = std::vector<Panel>(1)};
  constexpr double kPercent = 100.0;
  for (std::size_t i = 0; i < best.size(); ++i) {
    add(figure, "best attempt of each",
        kPercent * static_cast<double>(i + 1) / static_cast<double>(best.size()), best[i].yours_ms);
  }
  const auto add_limit = [&](const std::string& label, int colour, double SpeedRow::*field) {
    for (const double at : {0.0, kPercent}) {
      add(figure, label, at, median(best, field), Series::Line::kDashed);
    }
    Series& series = figure.panels[0].series.back();
    if (series.label != label) return;
    series.colour = colour;
    series.symbol = -1;
  };
  add_limit("reference (median)", kLibraryColour, &SpeedRow::reference_ms);
  add_limit("bound", kBoundColour, &SpeedRow::bound_ms);
  return finished(std::move(figure));
}

// The middle half around the median, and the fastest.
void add_group(Figure& figure, double at, const std::vector<double>& group) {
  const Spread spread = spread_of(group);
  add(figure, "median, middle half", at, spread);
  add(figure, "fastest", at, *std::ranges::max_element(group));
}

std::optional<Figure> by_attempt(const Timed& timed, const std::vector<SpeedRow>& rows) {
  std::map<int, std::vector<double>> attempts;
  for (const SpeedRow& row : rows) attempts[row.attempt].push_back(row.speed);
  // Rows: there is nothing between two attempts.
  Figure figure{.name = stem_of("by-attempt", timed),
                .title = "Speed by attempt: " + name_of(timed),
                .caption = caption_of(rows),
                .x = {.title = "times as fast as the reference (log scale)"},
                .y = {.title = "attempt"},
                .origin = 1.0,
                .panels = std::vector<Panel>(1)};
  figure.x.include(figure.origin);
  for (auto& [attempt, speeds] : attempts) {
    std::erase_if(speeds, [](double speed) { return !(speed > 0.0); });
    if (speeds.empty()) continue;
    const auto row = static_cast<double>(figure.rows.size());
    figure.rows.push_back("attempt " + std::to_string(attempt) + " of " +
                          std::to_string(speeds.size()) +
                          (speeds.size() == 1 ? " student" : " students"));
    const Spread spread = spread_of(speeds);
    const double fastest = *std::ranges::max_element(speeds);
    figure.x.include(spread.lower_quartile);
    figure.x.include(fastest);
    Panel& panel = figure.panels[0];
    series_of(panel, "median, middle half")
        .marks.push_back({row, spread.median, spread.lower_quartile, spread.upper_quartile});
    series_of(panel, "fastest").marks.push_back({row, fastest, fastest, fastest});
    panel.bars.push_back({row, spread.median, figure.origin, std::max(fastest, figure.origin),
                          three_digits(spread.median)});
  }
  return figure.rows.empty() ? std::nullopt : std::optional(figure);
}

// Days since 1970; 0 for what is no date.
double day_number(const std::string& date) {
  return static_cast<double>(time_of(date + "T00:00Z").value_or(0)) / kDay;
}

Figure day_figure(const std::string& name, const std::string& title, const std::string& caption,
                  const Axis& y) {
  return {.name = name,
          .form = Figure::Form::kLines,
          .title = title,
          .caption = caption,
          .x = {.title = "day", .log = false},
          .y = y,
          .panels = std::vector<Panel>(1)};
}

Figure over_the_days(const Timed& timed, const std::vector<SpeedRow>& rows) {
  Figure figure =
      day_figure(stem_of("best-so-far", timed), "Best speed so far, day by day: " + name_of(timed),
                 caption_of(rows), {.title = "times as fast as the reference (log scale)"});
  std::map<std::string, std::vector<const SpeedRow*>> days;
  for (const SpeedRow& row : rows) days[row.received.substr(0, kDate)].push_back(&row);
  std::map<std::string, double> best;
  for (const auto& [day, of_day] : days) {
    for (const SpeedRow* row : of_day) {
      best[row->student] = std::max(best[row->student], row->speed);
    }
    std::vector<double> values;
    for (const auto& [student, speed] : best) values.push_back(speed);
    add_group(figure, day_number(day), values);
  }
  return finished_days(std::move(figure));
}

// A line for each milestone and, where the table has a fourth column, what that says.
Figure count_by_day(Figure figure, const Table& table) {
  constexpr std::size_t kMost = 6;
  for (const auto& row : table.rows) {
    const std::string label = row[0] + (row.size() > 3 ? " " + row[3] : "");
    const auto& series = figure.panels[0].series;
    if (series.size() == kMost && series.back().label != label) break;
    add(figure, label, day_number(row[1]), std::stod(row[2]));
  }
  return finished_days(std::move(figure));
}

// Adds what the rules of the term make of it.
Table overview(Table table, const std::vector<SubmissionRow>& counting) {
  table.heading.insert(table.heading.end(), {"students", "passed", "median points", "most points"});
  for (auto& row : table.rows) {
    std::vector<double> points = {};
    int passed = 0;
    for (const SubmissionRow& each : counting) {
      if (each.milestone != row[0]) continue;
      points.push_back(each.earned);
      if (each.passed) ++passed;
    }
    const double most = points.empty() ? 0.0 : std::ranges::max(points);
    row.insert(row.end(), {std::to_string(points.size()), std::to_string(passed),
                           points_text(spread_of(points).median), points_text(most)});
  }
  return table;
}

// With the first of two columns, names and aliases, or with the second.
Table all_submissions(Table table, bool with_names) {
  table.rows.push_back(std::move(table.heading));
  for (auto& row : table.rows) row.erase(row.begin() + (with_names ? 1 : 0));
  table.heading = std::move(table.rows.back());
  table.rows.pop_back();
  return table;
}

// A row for each finding, with the students who had it and the attempts that it cost them. Rows
// have a logarithmic axis, on which there is no 0.
Figure findings_figure(const std::vector<SubmissionRow>& rows, const Table& findings) {
  Figure figure{.name = "findings",
                .title = "What the class gets wrong",
                .caption = caption_of(rows),
                .x = {.title = "attempts"},
                .y = {.title = "finding"},
                .panels = std::vector<Panel>(1)};
  figure.x.include(1.0);
  constexpr std::size_t kMost = 24;
  for (const auto& each : findings.rows) {
    if (figure.rows.size() == kMost) break;
    const auto row = static_cast<double>(figure.rows.size());
    const double students = std::stod(each[2]);
    const double cost = std::stod(each[3]);
    figure.rows.push_back(each[1] + " " + each[0]);
    figure.x.include(std::max(10.0, 1.05 * cost));  // a decade, for its tics
    Panel& panel = figure.panels[0];
    series_of(panel, "attempts").marks.push_back({row, cost, cost, cost});
    series_of(panel, "students").marks.push_back({row, students, students, students});
    panel.bars.push_back({row, cost, students, cost, each[4] + " each"});
  }
  return figure;
}

}  // namespace

Table leaderboard(const std::vector<SpeedRow>& rows, bool with_names) {
  Table table{.heading = {"who", "rank", "op time, ms", "times the reference", "attempts"}};
  std::map<std::string, int> attempts;
  for (const SpeedRow& row : rows) {
    attempts[row.student] = std::max(attempts[row.student], row.attempt);
  }
  const std::vector<SpeedRow> best = best_of_each(rows);
  for (const SpeedRow& row : best) {
    // Equal times share a rank.
    const auto rank = std::ranges::lower_bound(best, row.yours_ms, {}, &SpeedRow::yours_ms);
    table.rows.push_back({with_names ? row.student : row.alias,
                          std::to_string(rank - best.begin() + 1), three_digits(row.yours_ms),
                          three_digits(row.speed), std::to_string(attempts[row.student])});
  }
  return table;
}

Page leaderboard_page(const std::vector<SpeedRow>& speeds) {
  Page page{.title = "Leaderboard",
            .subtitle =
                "Aliases stand for names; they were drawn at random. The best attempt of "
                "each student counts."};
  std::map<std::string, std::vector<SpeedRow>> classes;
  for (const SpeedRow& row : speeds) classes[row.precision].push_back(row);
  for (const auto& [precision, rows] : classes) {
    for (const auto& [timed, group] : by_stage(rows)) {
      page.sections.push_back(
          {.title = name_of(timed) + (precision.empty() ? "" : ", " + precision),
           .blocks = {leaderboard(group, false), Chart{distribution(timed, group)}}});
    }
  }
  return page;
}

Page class_dashboard(const std::vector<SubmissionRow>& rows,
                     const std::vector<SubmissionRow>& counting,
                     const std::vector<SpeedRow>& speeds, const ClassTables& tables,
                     bool with_names) {
  Page page{.title = "The class",
            .subtitle = with_names ? "With names: for instructors only."
                                   : "Aliases stand for names; they were drawn at random."};
  const std::string caption = caption_of(rows);
  page.sections.push_back(
      {.title = "Overview",
       .blocks = {overview(tables.overview, counting),
                  Chart{count_by_day(
                      day_figure("progress", "Progress over the term", caption,
                                 {.title = "students whose submission passed", .log = false}),
                      tables.passed_by_day)}}});
  if (!tables.findings.rows.empty()) {
    page.sections.push_back(
        {.title = "What the class gets wrong",
         .blocks = {Chart{findings_figure(rows, tables.findings)}, tables.findings,
                    Chart{count_by_day(
                        day_figure("findings-by-day", "What the class gets wrong, day by day",
                                   caption, {.title = "attempts with the finding", .log = false}),
                        tables.findings_by_day)}}});
  }
  if (!tables.hints_read.rows.empty()) {
    page.sections.push_back(
        {.title = "Which hint helped",
         .blocks = {Paragraph{"A hint helped if the next check no longer found what it was about."},
                    tables.hints_read}});
  }
  if (!tables.predictions.rows.empty()) {
    page.sections.push_back(
        {.title = "What the class predicted",
         .blocks = {Paragraph{"Medians. Loads for each multiply-add; op times at 1000 images."},
                    tables.predictions}});
  }
  for (const auto& [timed, group] : by_stage(speeds)) {
    PageSection& section = page.sections.emplace_back(
        PageSection{.title = "Speed: " + name_of(timed),
                    .blocks = {leaderboard(group, with_names), Chart{distribution(timed, group)}}});
    if (auto attempts = by_attempt(timed, group)) section.blocks.push_back(Chart{*attempts});
    section.blocks.push_back(Chart{over_the_days(timed, group)});
  }
  page.sections.push_back(
      {.title = "All submissions", .blocks = {all_submissions(tables.submissions, with_names)}});
  return page;
}

}  // namespace convlab::grader
