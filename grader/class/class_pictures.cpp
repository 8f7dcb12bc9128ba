#include "grader/class/class_pictures.hpp"

#include <algorithm>
#include <map>

#include "common/timing/statistics.hpp"
#include "grader/class/term.hpp"
#include "grader/report/check_report.hpp"

namespace convlab::grader {

namespace {

using Rows = std::vector<std::vector<std::string>>;  // of a table

// Columns of the view leaderboard; before its tables stand milestone and title.
constexpr std::ptrdiff_t kHidden = 2;
constexpr std::size_t kOpTime = 5;
constexpr std::size_t kReference = 8;
constexpr std::size_t kBound = 9;

double median(const Rows& rows, std::size_t column) {
  std::vector<double> values;
  for (const auto& row : rows) values.push_back(std::stod(row[column]));
  return spread_of(std::move(values)).median;
}

// Without the column of names, or without that of aliases.
Table for_readers(Table table, bool with_names) {
  const auto other = std::ranges::find(table.heading, with_names ? "alias" : "name");
  const auto column = other - table.heading.begin();
  table.heading.erase(other);
  for (auto& row : table.rows) row.erase(row.begin() + column);
  return table;
}

// Only what is known stands on a log scale.
void add(Figure& figure, const std::string& label, double at, double value,
         Series::Line line = Series::Line::kSolid) {
  if (figure.y.log && !(value > 0.0)) return;
  Series& series = series_of(figure.panels[0], label);
  series.line = line;
  series.marks.push_back({at, value, value, value});
  figure.x.include(at);
  figure.y.include(value);
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

// The op times of a leaderboard by share of the class, with reference and bound.
// @param rows  of the view leaderboard, of one stage and batch
Figure distribution(const Rows& rows) {
  const std::string& what = rows.front()[1];
  Figure figure{.name = "op-time-" + what,
                .form = Figure::Form::kLines,
                .title = "Op time of the class: " + what,
                .caption = std::to_string(rows.size()) +
                           " students, one machine, in turns with the reference solution",
                .x = {.title = "share of the class that is at least as fast, %", .log = false},
                .y = {.title = "op time, ms (log scale)"},
                .panels = std::vector<Panel>(1)};
  std::erase(figure.name, ',');
  std::ranges::replace(figure.name, ' ', '-');
  constexpr double kPercent = 100.0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    add(figure, "best attempt of each",
        kPercent * static_cast<double>(i + 1) / static_cast<double>(rows.size()),
        std::stod(rows[i][kOpTime]));
  }
  const auto add_limit = [&](const std::string& label, int colour, std::size_t column) {
    for (const double at : {0.0, kPercent}) {
      add(figure, label, at, median(rows, column), Series::Line::kDashed);
    }
    Series& series = figure.panels[0].series.back();
    if (series.label != label) return;
    series.colour = colour;
    series.symbol = -1;
  };
  add_limit("reference (median)", kLibraryColour, kReference);
  add_limit("bound", kBoundColour, kBound);
  return finished(std::move(figure));
}

// A section for each stage and batch that was timed.
void add_leaderboards(Page& page, const Table& table, bool with_names) {
  for (auto row = table.rows.begin(); row != table.rows.end();) {
    const auto end = std::find_if(row, table.rows.end(),
                                  [&](const auto& each) { return each[1] != row->at(1); });
    const Rows rows(row, end);
    Table board{.heading = {table.heading.begin() + kHidden, table.heading.end()}};
    for (const auto& each : rows) board.rows.emplace_back(each.begin() + kHidden, each.end());
    page.sections.push_back(
        {.title = rows.front()[1],
         .blocks = {for_readers(std::move(board), with_names), Chart{distribution(rows)}}});
    row = end;
  }
}

// Over the days a line for each milestone and, where the table has a fourth column, what that says.
// At most seven days have a tic, because more would touch on a slide.
Figure count_by_day(const std::string& name, const std::string& title, const std::string& caption,
                    const std::string& counted, const Table& table) {
  Figure figure{.name = name,
                .form = Figure::Form::kLines,
                .title = title,
                .caption = caption,
                .x = {.title = "day", .log = false},
                .y = {.title = counted, .log = false},
                .panels = std::vector<Panel>(1)};
  constexpr double kDay = 86'400;
  constexpr std::size_t kMost = 6;
  std::map<std::string, double> days;  // since 1970; 0 for what is no date
  for (const auto& row : table.rows) {
    const std::string label = row[0] + (row.size() > 3 ? " " + row[3] : "");
    const auto& series = figure.panels[0].series;
    if (series.size() == kMost && series.back().label != label) break;
    const double day = static_cast<double>(time_of(row[1] + "T00:00Z").value_or(0)) / kDay;
    days[row[1]] = day;
    add(figure, label, day, std::stod(row[2]));
  }
  constexpr std::size_t kMostTics = 7;
  const std::size_t step = (days.size() + kMostTics - 1) / kMostTics;
  std::size_t i = 0;
  for (const auto& [date, day] : days) {
    if (i++ % step == 0) figure.x.tics.emplace_back(day, date);
  }
  return finished(std::move(figure));
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

// A row for each finding, with the students who had it and the attempts that it cost them. Rows
// have a logarithmic axis, on which there is no 0.
Figure findings_figure(const std::string& caption, const Table& findings) {
  Figure figure{.name = "findings",
                .title = "What the class gets wrong",
                .caption = caption,
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

Page leaderboard_page(const ClassDatabase& database) {
  Page page{.title = "Leaderboard",
            .subtitle =
                "Aliases stand for names; they were drawn at random. The best attempt of "
                "each student counts."};
  add_leaderboards(page, database.table("leaderboard"), false);
  return page;
}

Page class_dashboard(const ClassDatabase& database, const std::string& milestone, bool with_names) {
  Page page{.title = "The class",
            .subtitle = with_names ? "With names: for instructors only."
                                   : "Aliases stand for names; they were drawn at random."};
  const auto table = [&](const char* view) { return database.table(view, milestone); };
  const Table submissions = table("submissions");
  const std::string caption = std::to_string(submissions.rows.size()) + " submissions";
  page.sections.push_back(
      {.title = "Overview",
       .blocks = {
           overview(table("overview"), counting(database.submissions(), term_in_force(database))),
           Chart{count_by_day("progress", "Progress over the term", caption,
                              "students whose submission passed", table("passed_by_day"))}}});
  if (const Table findings = table("findings"); !findings.rows.empty()) {
    page.sections.push_back(
        {.title = "What the class gets wrong",
         .blocks = {
             Chart{findings_figure(caption, findings)}, findings,
             Chart{count_by_day("findings-by-day", "What the class gets wrong, day by day", caption,
                                "attempts with the finding", table("findings_by_day"))}}});
  }
  if (const Table hints = table("hints_read"); !hints.rows.empty()) {
    page.sections.push_back(
        {.title = "Which hint helped",
         .blocks = {Paragraph{"A hint helped if the next check no longer found what it was about."},
                    hints}});
  }
  if (const Table predictions = table("predictions"); !predictions.rows.empty()) {
    page.sections.push_back(
        {.title = "What the class predicted",
         .blocks = {Paragraph{"Medians. Loads for each multiply-add; op times at 1000 images."},
                    predictions}});
  }
  add_leaderboards(page, table("leaderboard"), with_names);
  page.sections.push_back(
      {.title = "All submissions", .blocks = {for_readers(submissions, with_names)}});
  return page;
}

}  // namespace convlab::grader
