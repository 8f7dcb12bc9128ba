#include "grader/class/class_pages.hpp"

#include <algorithm>

#include "common/timing/statistics.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/class/term.hpp"
#include "grader/report/check_report.hpp"

namespace convlab::grader {

namespace {

// Without the column of names, or without that of aliases.
Table for_readers(Table table, bool with_names) {
  const auto other = std::ranges::find(table.heading, with_names ? "alias" : "name");
  const auto column = other - table.heading.begin();
  table.heading.erase(other);
  for (auto& row : table.rows) row.erase(row.begin() + column);
  return table;
}

// The op times of a leaderboard, the fastest first, with reference and bound.
// @param board  of one stage and batch, without names
Figure op_times_of(const std::string& what, const Table& board) {
  Figure figure{.name = "op-time-" + what,
                .title = "Op time of the class: " + what,
                .caption = std::to_string(board.rows.size()) +
                           " students, one machine, in turns with the reference solution",
                .x = {.title = "students who are at least as fast (log scale)"},
                .y = {.title = "op time, ms (log scale)"},
                .panels = std::vector<Panel>(1)};
  std::erase(figure.name, ',');
  std::ranges::replace(figure.name, ' ', '-');
  const auto column = [&](const char* heading) {
    const auto at = std::ranges::find(board.heading, heading) - board.heading.begin();
    std::vector<double> values;
    for (const auto& row : board.rows)
      values.push_back(std::stod(row[static_cast<std::size_t>(at)]));
    return values;
  };
  Series best{.label = "best attempt of each", .line = Series::Line::kThick};
  for (const double ms : column("op time, ms")) {
    if (!(ms > 0.0)) continue;
    const auto at = static_cast<double>(best.marks.size() + 1);
    best.marks.push_back({at, ms, ms, ms});
    figure.x.include(at);
    figure.y.include(ms);
  }
  figure.x.low /= 1.2;
  figure.x.high *= 1.2;
  std::vector<Label> names;
  const auto add_limit = [&](const std::string& label, int colour, double ms) {
    if (!(ms > 0.0)) return;
    figure.y.include(ms);
    figure.panels[0].series.push_back({label,
                                       colour,
                                       -1,
                                       Series::Line::kDotted,
                                       {{figure.x.low, ms, ms, ms}, {figure.x.high, ms, ms, ms}}});
    names.push_back(
        {figure.x.high, ms, figure.x.at(1.01), ms, false, colour, label + " " + three_digits(ms)});
  };
  add_limit("reference (median)", kLibraryColour, spread_of(column("reference, ms")).median);
  add_limit("bound", kBoundColour, spread_of(column("bound, ms")).median);
  figure.y.low /= 1.5;
  figure.y.high *= 1.5;
  figure.add_labels(std::move(names));
  figure.panels[0].series.push_back(std::move(best));
  return figure;
}

// A row for each finding: the students who had it, and the attempts that it cost them.
Figure findings_figure(const Table& findings) {
  Figure figure{
      .name = "findings",
      .title = "What the class gets wrong",
      .caption =
          "attempts with the finding, and students who had it; \"each\": attempts of each student",
      .x = {.title = "number (log scale)"},
      .y = {.title = "finding"},
      .panels = std::vector<Panel>(1)};
  Panel& panel = figure.panels[0];
  panel.series = {{.label = "attempts"}, {.label = "students", .colour = 1, .symbol = 1}};
  figure.x.include(1.0);
  constexpr std::size_t kMost = 24;
  for (const auto& each : findings.rows) {
    if (figure.rows.size() == kMost) break;
    const auto row = static_cast<double>(figure.rows.size());
    const double students = std::stod(each[2]);
    const double cost = std::stod(each[3]);
    figure.rows.push_back(each[1] + " " + each[0]);
    figure.x.include(std::max(10.0, cost));  // a decade, for its tics
    panel.series[0].marks.push_back({row, cost, cost, cost});
    panel.series[1].marks.push_back({row, students, students, students});
    panel.bars.push_back({row, cost, students, cost, each[4] + " each"});
  }
  return figure;
}

// Adds what the rules of the term make of it.
Table with_medians(Table overview, const std::vector<SubmissionRow>& counting) {
  overview.heading.emplace_back("median points");
  for (auto& row : overview.rows) {
    std::vector<double> points;
    for (const SubmissionRow& each : counting) {
      // What nobody could measure is no zero.
      if (each.milestone == row[0] && each.counted > 0.0) points.push_back(each.earned);
    }
    if (points.empty()) row.back() = "-";  // the most points
    row.push_back(points.empty() ? "-" : points_text(spread_of(points).median));
  }
  return overview;
}

// A section for each stage and batch that was timed.
// @param all  the view leaderboard, in which milestone and title stand before what a table shows
void add_leaderboards(Page& page, const Table& all) {
  constexpr std::ptrdiff_t kHidden = 2;
  const std::size_t before = page.sections.size();
  for (const auto& row : all.rows) {
    if (page.sections.empty() || page.sections.back().title != row[1]) {
      const Table empty{.heading = {all.heading.begin() + kHidden, all.heading.end()}};
      page.sections.push_back({.title = row[1], .blocks = {empty}});
    }
    auto& board = std::get<Table>(page.sections.back().blocks[0]);
    board.rows.emplace_back(row.begin() + kHidden, row.end());
  }
  for (std::size_t i = before; i < page.sections.size(); ++i) {
    PageSection& section = page.sections[i];
    section.blocks.emplace_back(
        Chart{op_times_of(section.title, std::get<Table>(section.blocks[0]))});
  }
}

}  // namespace

Page leaderboard_page(const ClassDatabase& database) {
  Page page{.title = "Leaderboard",
            .subtitle =
                "Aliases stand for names; they were drawn at random. The best attempt of "
                "each student counts. Op times by the grader's clock, with new images in each "
                "call: not those of the course's ranked run."};
  add_leaderboards(page, for_readers(database.table("leaderboard"), false));
  return page;
}

Page class_dashboard(const ClassDatabase& database, const std::string& milestone, bool with_names) {
  Page page{.title = "The class",
            .subtitle = with_names ? "With names: for instructors only."
                                   : "Aliases stand for names; they were drawn at random."};
  const auto add = [&](const char* title, std::vector<PageBlock> blocks) {
    if (std::get<Table>(blocks.back()).rows.empty()) return;
    page.sections.push_back({.title = title, .blocks = std::move(blocks)});
  };
  const auto table = [&](const char* view) { return database.table(view, milestone); };
  add("Overview",
      {with_medians(table("overview"), counting(database.submissions(), term_in_force(database)))});
  add("Students whose submission passed, day by day", {table("passed_by_day")});
  const Table findings = table("findings");
  add("What the class gets wrong", {Chart{findings_figure(findings)}, findings});
  add("What the class gets wrong, day by day", {table("findings_by_day")});
  add("Which hint helped",
      {Paragraph{"A hint helped if the next check no longer found what it was about."},
       table("hints_read")});
  add("What the class predicted",
      {Paragraph{"Medians. Loads for each multiply-add; op times at 1000 images."},
       table("predictions")});
  add_leaderboards(page, for_readers(table("leaderboard"), with_names));
  add("All submissions", {for_readers(table("submissions"), with_names)});
  return page;
}

}  // namespace convlab::grader
