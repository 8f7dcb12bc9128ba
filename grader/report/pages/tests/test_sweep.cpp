#include <csignal>
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

SweepPlan plan_in(const std::filesystem::path& folder) {
  const auto program = folder / "m9";
  write_atomically(program, "");
  return {.space = kSpace,
          .program = program,
          .network = "fa23",
          .gpu = "NVIDIA Test",
          .batches = {100},
          .shapes = {kFirst},
          .repeats = 2};
}

}  // namespace

TEST_CASE("A sweep leaves out points that cannot be good, and says why") {
  CHECK_FALSE(reason_against(kSpace, {4, 4, 128}, kFirst));
  CHECK(contains(reason_against(kSpace, {8, 1, 64}, kFirst).value(), "the convolution has, 4"));
  CHECK(contains(reason_against(kSpace, {4, 8, 64}, kFirst).value(), "too many registers"));
  CHECK(contains(reason_against(kSpace, {1, 1, 2048}, kFirst).value(), "too many threads"));
  CHECK(contains(reason_against(kSpace, {1, 1, 100}, kFirst).value(), "multiple of 32"));
}

TEST_CASE("Counted loads include the threads without work") {
  // 80 · 80 pixels are 50 blocks of 128 and 25 tiles of 256: nothing is wasted.
  CHECK(counted_loads(kSpace, {1, 1, 128}, kFirst) == Approx(2.0));
  CHECK(counted_loads(kSpace, {4, 2, 128}, kFirst) == Approx(0.75));
  // 8 maps where there are 4: half of the products do not count.
  CHECK(counted_loads(kSpace, {8, 1, 128}, kFirst) == Approx(2 * 9.0 / 8));
}

TEST_CASE("A sweep's point runs over the channel of a program that nobody has asked before") {
  const SweepPlan plan{.space = {.stage = "sweep-tuned", .variable = "CONVLAB_SWEEP_POINT"},
                       .program = CONVLAB_BINARY_DIR "/m4-reference-emulated",
                       .shapes = {{1, 4, 1, 12, 12, 5, 1}},
                       .repeats = 2};
  TriedPoint point{.batch = 2, .point = {4, 2, 64}};
  time_point(plan, point);
  CHECK(point.failure == "");
  REQUIRE(point.op_ms.size() == 1);
  CHECK(point.op_ms[0].size() == 2);  // an emulated device's are 0
}

TEST_CASE("A sweep measures, goes on where it stopped, and begins anew with a new program") {
  const testing::TemporaryFolder folder;
  const SweepPlan plan = plan_in(folder.path());
  const auto file = folder.path() / "tuned.sweep.json";
  SweepRecord record = continued_record(file, plan);
  std::size_t calls = 0;
  // The times follow from the point.
  const auto sweep = [&] {
    run_sweep(
        plan, file, record, [](const std::string&) {},
        [&](const SweepPlan&, TriedPoint& tried) {
          ++calls;
          if (tried.point[0] == 1 && tried.point[1] == 1) {
            tried.failure = "it broke";
          } else {
            const double time = tried.point == SweepPoint{4, 4, 128} ? 1.5 : 2.5;
            tried.op_ms.push_back({time, time});
          }
        });
  };
  sweep();
  const std::size_t all = work_of(plan).size();
  CHECK(all == 8);
  CHECK(calls == all);

  record = continued_record(file, plan);
  CHECK(record.tried.size() == all);
  record.tried.pop_back();
  sweep();
  CHECK(calls == all + 1);

  const SweepTables sweep_tables = tables_of(plan, read_sweep_record(file));
  CHECK(sweep_tables.caption == "NVIDIA Test, network fa23");
  const auto& tables = sweep_tables.tables;
  REQUIRE(tables.size() == 1);
  CHECK(tables[0].scored.at(0).point == SweepPoint{4, 4, 128});
  CHECK(tables[0].scored.at(0).score == Approx(1.5));
  CHECK(tables[0].best() == "4,4,128 with 1.50; next: 1,4,64 with 2.50");
  CHECK(tables[0].left_out.at(0) == "2 points: failed: it broke");

  std::filesystem::last_write_time(
      plan.program, std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  CHECK(continued_record(file, plan).tried.empty());
}

TEST_CASE("A file of sweep spaces says what is wrong with it") {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "sweeps.json";
  const auto message = [&](const std::string& text) {
    write_atomically(file, text);
    return testing::message_of([&] { read_sweep_spaces(file); });
  };
  CHECK(contains(message("{"), "is no list of sweep spaces"));
  CHECK(contains(message(R"([{"stage": "a", "variable": "V", "parameters": []}])"),
                 "two parameters or more"));
  CHECK(contains(message(R"([{"stage": "a", "variable": "V",
                            "parameters": [{"name": "maps", "values": [1]},
                                           {"name": "pixels", "values": [0]}]}])"),
                 "with values above 0"));
}
