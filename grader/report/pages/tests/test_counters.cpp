#include "common/base/error.hpp"
#include "common/base/testing/catch.hpp"
#include "common/base/testing/message_of.hpp"
#include "common/base/testing/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
#include "grader/report/pages/counters.hpp"

using namespace convlab;
using namespace convlab::grader;

namespace {

// Two launches of 300 and 100 microseconds, with the program's own lines around.
const std::string kProfile =
    "==PROF== Connected to process 7\nbatch 100\n"
    R"("ID","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value"
"0","conv, first","GPU Speed Of Light Throughput","Compute (SM) Throughput","%","80.0"
"0","conv, first","GPU Speed Of Light Throughput","Memory Throughput","%","20.0"
"0","conv, first","GPU Speed Of Light Throughput","L1/TEX Cache Throughput","%","40.0"
"0","conv, first","GPU Speed Of Light Throughput","Duration","us","300"
"0","conv, first","Memory Workload Analysis","Memory Throughput","Gbyte/s","1,234.5"
"0","conv, first","Occupancy","Achieved Occupancy","%","50.0"
batch 100 again
"1","conv","GPU Speed Of Light Throughput","Compute (SM) Throughput","%","40.0"
"1","conv","GPU Speed Of Light Throughput","Duration","nsecond","100,000"
"1","conv","Occupancy","Achieved Occupancy","%","90.0"
"1","conv","Occupancy","","",""
)";

}  // namespace

TEST_CASE("counters: means over the kernels by how long each ran") {
  const Counters counters = parse_counters(kProfile, "x.csv");
  CHECK(*counters.compute == Approx(70.0));
  CHECK(*counters.memory == Approx(20.0));  // only the first launch says
  CHECK(*counters.l1 == Approx(40.0));
  CHECK(*counters.occupancy == Approx(60.0));
}

TEST_CASE("counters: what is no profile is told with what to type") {
  const auto complaint = [](const std::string& text) {
    return convlab::testing::message_of([&] { parse_counters(text, "x.csv"); });
  };
  CHECK(complaint("").find("x.csv holds no table of Nsight Compute; write it with: ncu") == 0);
  CHECK(complaint("\"ID\",\"Metric Name\"\n").find("no column 'Metric Unit'") != std::string::npos);
  // The page "raw" has a column for each counter.
  CHECK(complaint("\"ID\",\"Kernel Name\"\n").find("no column 'Metric Name'") != std::string::npos);
  CHECK(complaint(
            "\"ID\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\"0\",\"a\",\"%\",\"1\"\n")
            .find("no throughput") != std::string::npos);
  CHECK(complaint("\"ID\",\"open\n").find("quotation mark") != std::string::npos);
}

TEST_CASE("counters: which stage, which batch, which file") {
  const convlab::testing::TemporaryFolder folder;
  const std::string file = (folder.path() / "a=b.csv").string();
  write_atomically(file, kProfile);
  const StageCounters read = read_counters("tiled-shared@10000=" + file);
  CHECK(read.stage == "tiled-shared");
  CHECK(read.batch == 10'000);
  CHECK(*read.counters.l1 == Approx(40.0));
  for (const std::string& wrong :
       {"tiled-shared=" + file, "@100=" + file, "a@=" + file, std::string("a@100")}) {
    CHECK_THROWS_AS(read_counters(wrong), UsageError);
  }
}
