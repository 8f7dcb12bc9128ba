#include "grader/class/class_pages.hpp"

#include <algorithm>

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

// A section for each stage and batch that was timed.
// @param all  the view leaderboard, in which milestone and title stand before what a table shows
void add_leaderboards(Page& page, const Table& all) {
  constexpr std::ptrdiff_t kHidden = 2;
  for (const auto& row : all.rows) {
    if (page.sections.empty() || page.sections.back().title != row[1]) {
      const Table empty{.heading = {all.heading.begin() + kHidden, all.heading.end()}};
      page.sections.push_back({.title = row[1], .blocks = {empty}});
    }
    auto& board = std::get<Table>(page.sections.back().blocks[0]);
    board.rows.emplace_back(row.begin() + kHidden, row.end());
  }
}

}  // namespace

Page leaderboard_page(const ClassDatabase& database) {
  Page page{.title = "Leaderboard",
            .subtitle =
                "Aliases stand for names; they were drawn at random. The best attempt of "
                "each student counts."};
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
  add("Overview", {table("overview")});
  add("Students whose submission passed, day by day", {table("passed_by_day")});
  add("What the class gets wrong", {table("findings")});
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
