#include "common/testing/catch.hpp"
#include "grader/plots/gnuplot.hpp"

using namespace convlab::grader;

TEST_CASE("gnuplot: texts of others stay one string in one line") {
  CHECK(quoted("it's") == "'it''s'");
  CHECK(quoted("x'\nsystem 'rm'\t\x1b") == "'x'' system ''rm''  '");
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
  const std::vector<double> heights = spread_labels({100, 99, 98, 0}, 10, 0, 1000);
  for (std::size_t i = 0; i + 1 < heights.size(); ++i) {
    CHECK(heights[i] - heights[i + 1] >= 9.99);
  }
  CHECK(heights[3] == 0);
  CHECK(spread_labels({3, 2, 1}, 10, 5, 25) == std::vector<double>{25, 15, 5});
  CHECK(spread_labels({99, 98, 97}, 10, 5, 25) == std::vector<double>{25, 15, 5});
}
