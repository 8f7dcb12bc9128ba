#include <cstdlib>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "grader/report/plots/figure.hpp"

using namespace convlab::grader;

TEST_CASE("gnuplot: labels keep their distance and their order, and stay in the picture") {
  const auto heights = [](const std::vector<double>& shares) {
    Figure figure{.y = {.low = 1.0, .high = 10.0}};
    std::vector<Label> column;
    for (const double share : shares) column.push_back({.y = figure.y.at(share)});
    column.resize(24, {.y = 1.0});  // as many as have room in full size
    figure.add_labels(column);
    std::vector<double> found;
    for (const Label& label : figure.labels) found.push_back(figure.y.share(label.text_y));
    return found;
  };
  for (const auto& column : {heights({0.5, 0.49, 0.48, 0.1}), heights({0.99, 0.99, 0.99})}) {
    for (std::size_t i = 0; i + 1 < column.size(); ++i) {
      CHECK(column[i] - column[i + 1] >= Approx(1.0 / 24).epsilon(1e-6));
    }
    CHECK(column.front() < 1.0);
    CHECK(column.back() > 0.0);
  }
}

namespace {

// Commands that make a file if gnuplot executes a name; on lines of their own, and ending blocks,
// strings and comments.
std::vector<std::string> hostile_names(const std::filesystem::path& file) {
  const std::string make = "system 'touch " + file.string() + "'";
  return {"end_of_data",
          make,
          "MARK",
          "EOD",
          "'\n" + make,
          "\"; " + make + " #",
          "`touch " + file.string() + "`",
          "@x {/Symbol a} %d \\",
          "# comment",
          "\t1\t2",
          "",
          "e\n" + make,
          "'.system('touch " + file.string() + "').'"};
}

Figure hostile(const std::vector<std::string>& names) {
  Figure figure{.name = "a/b",
                .title = names[1],
                .caption = names[6],
                .x = {.title = names[4]},
                .y = {.title = names[5]},
                .panels = std::vector<Panel>(1)};
  figure.panels[0].title = names[0];
  figure.rows = names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double value = 1.0 + static_cast<double>(i);
    figure.x.include(value);
    figure.y.include(value);
    figure.panels[0].series.push_back({names[i],
                                       static_cast<int>(i),
                                       static_cast<int>(i),
                                       Series::Line::kThick,
                                       {{static_cast<double>(i), value, value, value, names[i]}}});
    figure.panels[0].rules.push_back({names[i], value});
    figure.panels[0].bars.push_back({static_cast<double>(i), value, value, value, names[i]});
    figure.labels.push_back({value, value, value, value, i % 2 == 0, 0, names[i]});
  }
  return figure;
}

}  // namespace

TEST_CASE("gnuplot: no name, title or label becomes a command") {
  if (std::system("command -v gnuplot >/dev/null") != 0) CONVLAB_SKIP("there is no gnuplot");
  const convlab::testing::TemporaryFolder folder;
  const auto made = folder.path() / "made";
  for (const bool has_rows : {true, false}) {
    Figure figure = hostile(hostile_names(made));
    if (!has_rows) figure.rows.clear();
    for (const auto& file : draw({figure}, folder.path())) {
      CHECK(std::filesystem::file_size(file) > 1000);
      CHECK(file.stem() == "a-b");
    }
    CHECK_FALSE(std::filesystem::exists(made));
  }
}
