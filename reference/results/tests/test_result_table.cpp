#include <string>

#include "common/base/error.hpp"
#include "common/base/testing/catch.hpp"
#include "reference/results/result_table.hpp"

using convlab::EnvironmentError;
using convlab::Result;
using convlab::RunResult;

namespace {

RunResult run(const std::string& stage, int order, int batch, std::vector<double> op1,
              std::vector<double> op2) {
  RunResult result;
  result.network = "fa23";
  result.batch = batch;
  result.stage.id = stage;
  result.stage.title = "Stage " + stage;
  result.stage.order = order;
  result.layers.resize(2);
  result.layers[0].op_ms = std::move(op1);
  result.layers[1].op_ms = std::move(op2);
  return result;
}

Result measured() {
  Result result;
  result.created = "2026-11-20T23:40:00Z";
  result.machine.cpu = "A processor";
  result.machine.cores = 2;
  result.machine.compiler = "GCC 12.2";
  result.machine.commit = "0123456";
  result.runs.push_back(run("fast", 2, 10000, {90, 110, 100}, {100, 100, 100}));
  result.runs.push_back(run("slow", 1, 100, {2.5}, {3.75}));
  result.runs.push_back(run("slow", 1, 10000, {250, 240, 260}, {380, 370, 375}));
  return result;
}

}  // namespace

TEST_CASE("result table: the ladder's order, sums, medians and speed-ups") {
  Result result = measured();
  result.references.push_back(
      {.label = "oneDNN", .kind = "library", .network = "fa23", .batch = 10000, .op_ms = {50, 70}});
  result.references.push_back(
      {.label = "bound", .kind = "bound", .network = "fa23", .batch = 10000, .op_ms = {1, 1}});

  // slow: 250 + 375; fast: 100 + 100.
  CHECK(convlab::result_table(result) ==
        "| stage | 100 images | 10 000 images | times faster |\n"
        "|---|--:|--:|--:|\n"
        "| Stage slow | 6.25 | 625 | 1.00 |\n"
        "| Stage fast | | 200 | 3.12 |\n"
        "| *oneDNN* | | 120 | 5.21 |\n"
        "\nOp time in milliseconds, all convolutions of the network `fa23` together, median\n"
        "of 1 to 3 samples. A processor, 2 threads, GCC 12.2, commit 0123456, 2026-11-20.\n");
}

TEST_CASE("stage table: both convolutions and the layer time of some stages") {
  Result result = measured();
  result.machine.gpu = "A GPU";
  for (RunResult& timed : result.runs) {
    for (convlab::LayerResult& layer : timed.layers) layer.layer_ms = {400};
  }
  const std::string page =
      "<!-- results: a.json b.json stages: slow fast -->\n"
      "<!-- end of results -->\n";
  const auto read = [&](const std::string& file) { return file == "a.json" ? result : Result{}; };
  CHECK(convlab::with_tables(page, read) ==
        "<!-- results: a.json b.json stages: slow fast -->\n\n"
        "| stage | 100 images | 10 000 images | convolution 1 | convolution 2 | layer time |\n"
        "|---|--:|--:|--:|--:|--:|\n"
        "| `slow` | 6.25 | 625 | 250 | 375 | 800 |\n"
        "| `fast` | | 200 | 100 | 100 | 800 |\n"
        "\nMilliseconds, medians; the convolutions and the layer time at 10 000 images. A\n"
        "GPU, commit 0123456, 2026-11-20.\n\n<!-- end of results -->\n");
  CHECK(convlab::stage_table({result}, {"other"}) == "Nothing was measured yet.\n");
  for (RunResult& emulated : result.runs) emulated.device = convlab::Device::kEmulated;
  CHECK(convlab::stage_table({result}, {"slow"}) == "Nothing was measured yet.\n");
  CHECK_THROWS_AS(
      convlab::with_tables("<!-- results: a.json b.json -->\n<!-- end of results -->", read),
      EnvironmentError);
}

TEST_CASE("result table: emulated runs have no op time") {
  Result result = measured();
  for (RunResult& emulated : result.runs) emulated.device = convlab::Device::kEmulated;
  CHECK_THROWS_AS(convlab::result_table(result), EnvironmentError);
}

TEST_CASE("result table: several networks do not fit one table") {
  Result result = measured();
  result.runs.front().network = "fa16";
  CHECK_THROWS_AS(convlab::result_table(result), EnvironmentError);
}

TEST_CASE("layer table: a row for each stage and batch, op times, then layer times") {
  Result result = measured();
  for (RunResult& run : result.runs) {
    for (auto& layer : run.layers) {
      for (const double op : layer.op_ms) layer.layer_ms.push_back(op + 1000);
    }
  }
  CHECK(convlab::layer_table(result) ==
        "| stage | images | op time 1 | op time 2 | layer time 1 | layer time 2 |\n"
        "|---|--:|--:|--:|--:|--:|\n"
        "| `slow` | 100 | 2.50 | 3.75 | 1002 | 1004 |\n"
        "| `slow` | 10 000 | 250 | 375 | 1250 | 1375 |\n"
        "| `fast` | 10 000 | 100 | 100 | 1100 | 1100 |\n"
        "\nMilliseconds for each convolution of the network `fa23`, median of 1 to 3\n"
        "samples. A processor, 2 threads, GCC 12.2, commit 0123456, 2026-11-20.\n");
}

TEST_CASE("tables: a marker names the kind of table") {
  const std::string page =
      "<!-- layers: a.json -->\n<!-- end of results -->\n<!-- results: a.json -->\n<!-- end of "
      "results -->\n";
  const std::string made =
      convlab::with_tables(page, [](const std::string&) { return measured(); });
  const std::size_t layers = made.find("| op time 1 |");
  const std::size_t sums = made.find("| times faster |");
  CHECK(layers < sums);
  CHECK(sums != std::string::npos);
}

TEST_CASE("tables: a page keeps its text, twice is the same as once") {
  const std::string page =
      "# Title\n<!-- results: a.json -->\nold\n<!-- end of results -->\nbetween\n"
      "<!-- results: b.json -->\n<!-- end of results -->\nend\n";
  std::string asked;
  const auto read = [&](const std::string& file) {
    asked += file + " ";
    return measured();
  };
  const std::string once = convlab::with_tables(page, read);
  CHECK(asked == "a.json b.json ");
  CHECK(once.find("old") == std::string::npos);
  CHECK(once.find("# Title\n<!-- results: a.json -->\n\n| stage |") == 0);
  CHECK(once.find("2026-11-20.\n\n<!-- end of results -->\nbetween\n") != std::string::npos);
  CHECK(once.find("<!-- end of results -->\nend\n") == once.size() - 28);
  CHECK(convlab::with_tables(once, read) == once);
}

TEST_CASE("tables: a marker without its end is refused, a page without markers is kept") {
  const auto read = [](const std::string&) { return measured(); };
  CHECK_THROWS_AS(convlab::with_tables("<!-- results: a.json -->\ntext\n", read), EnvironmentError);
  CHECK_THROWS_AS(convlab::with_tables("<!-- end of results -->\n<!-- results: a\n", read),
                  EnvironmentError);
  CHECK(convlab::with_tables("nothing here\n", read) == "nothing here\n");
}

TEST_CASE("limits table: the part of the op time that the limit is, by GPU") {
  Result one = measured();
  one.machine.gpu = "One";
  for (const char* label : {"memory bound", "fp32 bound"}) {
    one.references.push_back({.label = label,
                              .kind = "bound",
                              .network = "fa23",
                              .batch = 10000,
                              .op_ms = {label[0] == 'm' ? 30.0 : 10.0, 70.0}});
  }
  Result other = one;
  other.machine.gpu = "Other";
  other.runs.erase(other.runs.begin());
  // fast: 200 ms, the limit is 30 + 70.
  const std::string table = convlab::limits_table({one, other}, {});
  CHECK(
      table.starts_with("| stage | One, ms | % of the limit | Other, ms | % of the limit |\n"
                        "|---|--:|--:|--:|--:|\n"
                        "| `slow` | 625 | 16 | 625 | 16 |\n"
                        "| `fast` | 200 | 50 | | |\n"));
  CHECK_FALSE(convlab::limits_table({one, other}, {"fast"}).find("slow") != std::string::npos);
}
