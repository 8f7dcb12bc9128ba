
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/base/tests/support/message_of.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
#include "grader/report/pages/sweep.hpp"
#include "grader/report/plots/tests/plotted_result.hpp"

namespace {

using namespace convlab;
using namespace convlab::grader;
using convlab::testing::contains;

const SweepSpace kSpace{.stage = "tuned",
                        .variable = "POINT",
                        .maps = {1, 4, 8},
                        .pixels = {1, 4},
                        .block = {64, 128},
                        .most_sums = 16};

}  // namespace

TEST_CASE("sweep: points whose sums do not fit into registers are left out") {
  CHECK(points_of(kSpace).size() == 10);  // of 12: 8 maps of 4 pixels are 32 sums
}

TEST_CASE("sweep: counted loads include the threads without work") {
  const auto tables = counted_tables(kSpace, "fa23");
  REQUIRE(tables.size() == 2);
  // 80 · 80 pixels are 50 blocks of 128: nothing is wasted. 8 maps where there are 4: half of the
  // products do not count.
  CHECK(tables[0].cells.rows.at(0).at(1) == "2.00 (64)");
  CHECK(tables[0].cells.rows.at(2).at(1) == "2.25 (64)");
  CHECK(contains(tables[0].text, "convolution 1 of fa23, counted: loads for each multiply-add"));
}

TEST_CASE("sweep: the tables of what ran") {
  const testing::TemporaryFolder folder;
  const auto keep = [&](const char* point, double first, double second) {
    Result result = plotted_result({plotted_run("tuned", 1, 100, {first}, {second})}, "m4");
    result.machine.gpu = "Some GPU";
    write_result(folder.path() / "100" / (std::string(point) + ".json"), result);
  };
  keep("4,1,64", 1.5, 2.5);
  keep("4,4,64", 1.0, 2.0);
  keep("4,4,128", 1.25, 1.0);
  const auto tables = timed_tables(kSpace, folder.path());
  REQUIRE(tables.size() == 2);
  CHECK(contains(tables[0].text, "convolution 1 of fa23 on Some GPU, 100 images: op time, ms"));
  CHECK(contains(tables[0].text, "Best: 4,4,64 with 1.00; next: 4,4,128 with 1.25."));
  CHECK(tables[0].cells.heading == std::vector<std::string>{"maps \\ pixels", "1", "4"});
  CHECK(tables[0].cells.rows[1] == std::vector<std::string>{"4", "1.50 (64)", "1.00 (64)"});
  CHECK(tables[1].cells.rows[1] == std::vector<std::string>{"4", "2.50 (64)", "1.00 (128)"});
  CHECK(tables[0].cells.rows[0] == std::vector<std::string>{"1", "-", "-"});
  CHECK(found_numbers("1.25 ms", tables[0].scores) ==
        "1.25: op time, ms of 4,4,128 in convolution 1 of fa23 on Some GPU, 100 images.");
}

TEST_CASE("sweep: a file of spaces says what is wrong with it") {
  const testing::TemporaryFolder folder;
  CHECK(sweep_spaces(folder.path()).empty());
  write_atomically(folder.path() / "sweeps.json", "{");
  CHECK(contains(testing::message_of([&] { sweep_spaces(folder.path()); }),
                 "is no list of sweep spaces"));
}
