#include <filesystem>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/base/tests/support/message_of.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
#include "grader/report/pages/sweep.hpp"

namespace {

using namespace convlab;
using namespace convlab::grader;
using convlab::testing::contains;

const SweepSpace kSpace{
    .stage = "tuned",
    .variable = "POINT",
    .parameters = {{"maps", {1, 4, 8}}, {"pixels", {1, 4}}, {"block", {64, 128}}},
    .most_sums = 16};

constexpr ConvShape kFirst{1, 4, 1, 86, 86, 7, 1};  // B M C H W K S

}  // namespace

TEST_CASE("A sweep leaves out points whose sums do not fit into registers") {
  CHECK(points_of(kSpace).size() == 10);  // of 12: 8 maps of 4 pixels are 32 sums
}

TEST_CASE("Counted loads include the threads without work") {
  // 80 · 80 pixels are 50 blocks of 128 and 25 tiles of 256: nothing is wasted.
  CHECK(counted_loads(kSpace, {1, 1, 128}, kFirst) == Approx(2.0));
  CHECK(counted_loads(kSpace, {4, 2, 128}, kFirst) == Approx(0.75));
  // 8 maps where there are 4: half of the products do not count.
  CHECK(counted_loads(kSpace, {8, 1, 128}, kFirst) == Approx(2 * 9.0 / 8));
}

TEST_CASE("A sweep's point runs over the channel of a program that nobody has asked before") {
  TriedPoint point{.batch = 2, .point = {4, 2, 64}};
  time_point(CONVLAB_BINARY_DIR "/m4-reference-emulated",
             {.stage = "sweep-tuned", .variable = "CONVLAB_SWEEP_POINT"}, {{1, 4, 1, 12, 12, 5, 1}},
             point);
  CHECK(point.failure == "");
  CHECK(point.op_ms.size() == 1);  // an emulated device's is 0
}

TEST_CASE("The record of a sweep is read again; one without times is counted") {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "tuned.sweep.json";
  write_sweep_record(
      file, {.stage = "tuned", .network = "fa23", .tried = {{100, {1, 1, 64}, {}, "it broke"}}});
  const SweepRecord record = read_sweep_record(file);
  CHECK(record.tried.at(0).failure == "it broke");
  const auto tables = tables_of(kSpace, record);
  REQUIRE(tables.size() == 2);
  CHECK(contains(tables[0].text, "convolution 1 of fa23, counted: loads for each multiply-add"));
  CHECK(tables[0].scores.size() == 10);
  CHECK(tables[0].scores.front().value <= tables[0].scores.back().value);
}

TEST_CASE("A file of sweep spaces says what is wrong with it") {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "sweeps.json";
  const auto message = [&](const std::string& text) {
    write_atomically(file, text);
    return testing::message_of([&] { read_sweep_spaces(file); });
  };
  CHECK(contains(message("{"), "is no list of sweep spaces"));
  CHECK(contains(message(R"([{"stage": "a", "variable": "V", "parameters": [], "most_sums": 0}])"),
                 "two parameters or more"));
}
