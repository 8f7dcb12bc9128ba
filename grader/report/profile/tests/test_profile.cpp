#include <fstream>
#include <sstream>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "grader/measure/counters.hpp"
#include "grader/report/profile/profile.hpp"

namespace convlab::grader {
namespace {

SourceText sources(const std::filesystem::path& folder) {
  const auto file = folder / "conv.cu";
  std::ofstream(file) << "__global__ void conv(const float* in, float* out) {\n"
                         "  __shared__ float tile[32][32];\n"
                         "  tile[threadIdx.x][0] = in[threadIdx.x];  // <b>\n"
                         "  atomicAdd(out, tile[0][threadIdx.x]);\n"
                         "}\n";
  return SourceText({file});
}

// 100 products; one warp.
StageCounts counts() {
  StageCounts counts{.shape = {1, 1, 1, 10, 10, 1, 1}};
  counts.launches = {{.kernel = "conv", .file = "conv.cu", .grid = {2, 1, 1}, .block = {32, 8, 1}}};
  const auto note = [](int line, const char* space, FaultMemory memory, bool writes,
                       std::int64_t parts, std::int64_t conflicts) {
    return AccessNote{.kernel = "conv",
                      .file = "conv.cu",
                      .line = line,
                      .space = space,
                      .memory = std::move(memory),
                      .writes = writes,
                      .bytes = 4,
                      .requests = 10,
                      .lanes = 200,
                      .parts = parts,
                      .conflicts = conflicts};
  };
  counts.counted.accesses = {note(3, "global", {.argument = 1, .bytes = 400}, false, 200, 0),
                             note(3, "shared", {.variable = "tile", .bytes = 4096}, true, 320, 310),
                             note(4, "shared", {.variable = "tile", .bytes = 4096}, false, 10, 0),
                             note(4, "global", {.argument = 2, .bytes = 400}, true, 10, 190)};
  counts.counted.accesses.back().atomic = true;
  counts.counted.products = {
      {.kernel = "conv", .file = "conv.cu", .line = 4, .kind = "tensor", .multiply_adds = 25},
      {.kernel = "conv", .file = "conv.cu", .line = 3, .kind = "half2", .multiply_adds = 8}};
  return counts;
}

double value_of(const char* id) {
  return find_counter(id)->value(counts());
}

TEST_CASE("profile: counters follow from the requests") {
  CHECK(value_of("loads-per-product") == 6.0);         // 400 global and 200 shared lanes
  CHECK(value_of("global-loads-per-product") == 4.0);  // the atomic operation loads, too
  CHECK(value_of("conflicts-per-request") == 15.5);
  CHECK(value_of("sectors-over-needed") == 5.25);  // 20 lanes need 3 sectors, or share one
  CHECK(value_of("active-lanes") == 0.625);
  CHECK(value_of("tensor-share") == 0.25);
  StageCounts others = counts();
  others.product_part = 0.1;  // the other products are for nothing
  CHECK(find_counter("tensor-share")->value(others) == 0.1);
  // Ten requests for a word that a warp shares, and ten for five words each.
  others.counted.accesses.resize(2);
  others.counted.accesses[0].space = others.counted.accesses[1].space = "constant";
  others.counted.accesses[0].parts = 10;
  others.counted.accesses[1].parts = 50;
  CHECK(find_counter("loads-per-product")->value(others) == 0.4);
  // 100 inputs, 1 weight and 100 outputs.
  CHECK(value_of("bytes-over-least") == 210 * 32.0 / (201 * 4.0));
  CHECK(find_counter("speed") == nullptr);
}

TEST_CASE("profile: what limits the blocks of a multiprocessor") {
  const testing::TemporaryFolder folder;
  const KernelCounts kernel = kernels_of(counts(), sources(folder.path())).front();
  CHECK(shared_bytes_of(kernel) == 4096);
  const MultiprocessorLimits& t4 = published_gpus().front().multiprocessor;
  const ResidentBlocks medium = resident_blocks(t4, 8, 4096);
  CHECK(medium.blocks == 4);
  CHECK(medium.share == 1.0);
  CHECK(medium.limited_by == "threads");
  const ResidentBlocks small = resident_blocks(t4, 2, 4096);
  CHECK(small.blocks == 16);
  CHECK(small.share == 1.0);
  const ResidentBlocks large = resident_blocks(t4, 2, 40'000);
  CHECK(large.blocks == 1);
  CHECK(large.limited_by == "shared memory");
}

// Without line ends and indents.
std::string words_of(const Page& page) {
  std::istringstream words(terminal_text(page));
  std::string text;
  for (std::string word; words >> word;) text += word + " ";
  return text;
}

TEST_CASE("profile: barriers are counted over all launches of a kernel") {
  const testing::TemporaryFolder folder;
  StageCounts twice = counts();
  twice.launches.push_back(twice.launches.front());
  twice.counted.barriers = {{.kernel = "conv", .file = "conv.cu", .line = 4, .times = 12}};
  const std::string text = words_of(profile_page(twice, sources(folder.path()), "m3", "where"));
  CHECK(text.find("12 times in barriers, 3 for each block") != std::string::npos);  // four blocks
  CHECK(text.find("4.00") != std::string::npos);
}

TEST_CASE("explain: what each line, each barrier and each thread does") {
  const testing::TemporaryFolder folder;
  StageCounts walked = counts();
  const auto barrier = [](int line, std::int64_t times) {
    return BarrierNote{.kernel = "conv", .file = "conv.cu", .line = line, .times = times};
  };
  walked.counted.barriers = {barrier(4, 2), barrier(4, 0), barrier(5, 200)};
  walked.counted.barriers[1].variable = "tile";
  walked.counted.barriers[1].before = 3;
  walked.counted.barriers[1].behind = 4;
  const auto has = [&](const std::string& words) {
    const std::string text = walk_text(walked, sources(folder.path()));
    return text.find(words) != std::string::npos;
  };
  CHECK(has("2 blocks, 512 threads."));
  CHECK(has("20 sectors each (3 suffice)"));
  CHECK(has("Not coalesced"));
  CHECK(has("Line 3 reads `tile`"));
  CHECK(has("does not need it"));
  walked.counted.barriers.back().times = 1;
  CHECK(has("Each block meets it once in this run"));
}

TEST_CASE("profile: the page shows the source with counts beside its lines, as text") {
  const testing::TemporaryFolder folder;
  const Page page = profile_page(counts(), sources(folder.path()), "m3, tiled", "where");
  const std::string text = markdown_of(page);
  CHECK(text.find("| 3 | tile | store | 10 | 20 | 32 | 1 | 97 % |\n| 4 | tile | load |") !=
        std::string::npos);
  CHECK(text.find("25 multiply-adds on tensor cores.") != std::string::npos);
  CHECK(text.find("8 multiply-adds of half2.") != std::string::npos);
  const auto& listing = std::get<SourceListing>(page.sections.back().blocks.front());
  REQUIRE(listing.lines.size() == 5);
  CHECK(listing.lines[2].weight > 0.9);
  CHECK(listing.lines[2].note.find("store of `tile`: 10 requests, 32 passes each (1 suffices)") !=
        std::string::npos);
  CHECK(listing.lines[3].note.find("1 sector each, 19 lanes wait for the same address") !=
        std::string::npos);
  CHECK(listing.lines[1].note.empty());
}

TEST_CASE("profile: an estimate is a range, says its error and marks what was never measured") {
  const EstimateModel model{.error = "Off by that much.", .tested = {"H200"}};
  const std::vector<Estimate> estimates = {
      {.gpu = "T4",
       .seconds = 0.1,
       .low = 0.0619,
       .high = 0.1583,
       .limits = {{"issue and FP32", 0.07}, {"shared memory", 0.06}, {"memory", 0.01}}},
      {.gpu = "H200",
       .is_tested = true,
       .seconds = 0.001,
       .low = 0.000628,
       .high = 0.0016,
       .limits = {{"memory", 0.0009}, {"cache", 0.0001}}}};
  const Page page{.sections = {estimate_section(estimates, model, 10'000)}};
  const auto& table = std::get<Table>(page.sections[0].blocks[0]);
  CHECK(table.rows[0] ==
        std::vector<std::string>{"T4 *", "62 to 160", "issue and FP32, shared memory", "70 %"});
  CHECK(table.rows[1] == std::vector<std::string>{"H200", "0.63 to 1.6", "memory", "90 %"});
  const std::string text = words_of(page);
  CHECK(text.find("nothing was measured") != std::string::npos);
  CHECK(text.find("Off by that much. On a GPU with a star nothing was") != std::string::npos);
  CHECK(text.find("Estimates give no points.") != std::string::npos);
  const Page tested{.sections = {estimate_section({estimates[1]}, model, 10'000)}};
  CHECK(terminal_text(tested).find("star") == std::string::npos);
}

}  // namespace
}  // namespace convlab::grader
