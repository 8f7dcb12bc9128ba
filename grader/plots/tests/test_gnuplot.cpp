#include "common/testing/catch.hpp"
#include "common/testing/temporary_folder.hpp"
#include "grader/plots/gnuplot.hpp"

using namespace convlab::grader;

TEST_CASE("gnuplot: texts of others stay one string in one line") {
  CHECK(quoted("it's") == "'it’s'");
  CHECK(quoted("x'\nsystem 'rm'\t\x1b") == "'x’ system ’rm’  '");
  CHECK(quoted("`a` \\ 4×4") == "'`a` \\ 4×4'");
}

TEST_CASE("gnuplot: numbers and names fit their places") {
  CHECK(grouped(100) == "100");
  CHECK(grouped(1000) == "1000");
  CHECK(grouped(10'000) == "10 000");
  CHECK(shortened("4×4", 3) == "4×4");
  CHECK(shortened("4×4 outputs", 3) == "4×…");
}

TEST_CASE("gnuplot: labels keep their distance and their order, and stay in the picture") {
  const std::vector<double> heights = spread_labels({0.5, 0.49, 0.48, 0.1}, 0.1);
  for (std::size_t i = 0; i + 1 < heights.size(); ++i) {
    CHECK(heights[i] - heights[i + 1] >= 0.0999);
  }
  CHECK(heights[1] == Approx(0.49));  // those around it make way
  CHECK(heights[3] == Approx(0.1));
  for (const double centre : {0.01, 0.99}) {
    const auto at_the_end = spread_labels({centre, centre, centre}, 0.2);
    CHECK(at_the_end[0] <= Approx(0.9));
    CHECK(at_the_end[2] >= Approx(0.1));
    CHECK(at_the_end[0] - at_the_end[1] == Approx(0.2));
    CHECK(at_the_end[1] - at_the_end[2] == Approx(0.2));
  }
}

TEST_CASE("gnuplot: a text in a data block stays one cell") {
  PlotData data({"rows", "empty"});
  data.add("rows", 1, 2.5, std::string("\"a\t\"b\"\nend_of_data\\n"));
  CHECK(data.text() ==
        "$empty << end_of_data\nend_of_data\n"
        "$rows << end_of_data\n1\t2.5\t'a \"b\" end_of_data n\nend_of_data\n");
}

TEST_CASE("gnuplot: every template draws what strangers called their stages") {
  const convlab::testing::TemporaryFolder folder;
  PlotData data({"labels", "places", "values"});
  for (const char* variable : {"log_x", "log_y"}) data.set(variable, 0);
  for (const char* variable : {"key_width", "name_width", "points"}) data.set(variable, 9);
  data.add("labels", "it's `id` \"quoted\" %d {/Symbol a}");
  data.add("places", "50 %, 100 %d\nsystem 'rm'");
  data.add("values", 0, 1.0);
  for (const auto& file :
       draw({.name = "a/b", .form = "chart", .title = "'; exit", .data = data}, folder.path())) {
    CHECK(std::filesystem::file_size(file) > 1000);
    CHECK(file.stem() == "a-b");
  }
}
