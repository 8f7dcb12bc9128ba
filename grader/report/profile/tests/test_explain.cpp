#include <fstream>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "grader/report/profile/profile.hpp"
#include "grader/report/table.hpp"

namespace convlab::grader {
namespace {

// One kernel as a student may write it; the facts below are its counts.
SourceText sources(const std::filesystem::path& folder) {
  const auto file = folder / "conv.cu";
  std::ofstream(file) << "__global__ void conv(const float* in, float* out) {\n"
                         "  __shared__ float tile[484];\n"
                         "  tile[threadIdx.x] = in[threadIdx.x];\n"
                         "  __syncthreads();\n"
                         "  out[threadIdx.x] = tile[0];\n"
                         "  __syncthreads();\n"
                         "}\n"
                         "void go() { conv<<<grid, block>>>(in, out); }\n";
  return SourceText({file});
}

StageCounts facts() {
  StageCounts facts{.shape = {1, 2, 1, 20, 20, 5, 1}};  // 400 inputs, 512 outputs
  facts.launches = {
      {.kernel = "conv", .file = "conv.cu", .line = 8, .grid = {1, 2, 1}, .block = {16, 16, 2}}};
  const FaultMemory input{.argument = 1, .bytes = 1600};
  const FaultMemory output{.argument = 2, .bytes = 2048};
  facts.counted.accesses = {{.kernel = "conv",
                             .file = "conv.cu",
                             .line = 3,
                             .space = "global",
                             .memory = input,
                             .bytes = 4,
                             .requests = 100,
                             .lanes = 3200,
                             .parts = 520,
                             .threads = 1024},
                            {.kernel = "conv",
                             .file = "conv.cu",
                             .line = 5,
                             .space = "global",
                             .memory = output,
                             .writes = true,
                             .bytes = 4,
                             .requests = 16,
                             .lanes = 512,
                             .parts = 512,
                             .threads = 512}};
  facts.counted.barriers = {{.kernel = "conv", .file = "conv.cu", .line = 4, .times = 2},
                            {.kernel = "conv",
                             .file = "conv.cu",
                             .line = 4,
                             .variable = "tile",
                             .before = 3,
                             .before_writes = true,
                             .behind = 5,
                             .elements = 9},
                            {.kernel = "conv", .file = "conv.cu", .line = 6, .times = 200}};
  return facts;
}

bool has(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

TEST_CASE("explain: the walk says what each line, each barrier and each thread does") {
  const testing::TemporaryFolder folder;
  const std::string text = walk_text(facts(), sources(folder.path()));
  CHECK(has(text, "5.2 sectors"));
  CHECK(has(text, "(4 suffice)"));
  CHECK(has(text, "Not coalesced"));
  CHECK(has(text, "Line 3 writes `tile`"));
  CHECK(has(text, "does not need it"));
  StageCounts once = facts();
  once.counted.barriers.back().times = 1;
  CHECK(has(walk_text(once, sources(folder.path())), "Each block meets it once in this run"));
  once.counted.barriers[1].variable = "dynamic";  // of a kernel that the sources do not show
  CHECK(has(walk_text(once, SourceText{}), "Line 3 writes `shared memory`"));
  CHECK(has(text, "512 of " + grouped(1024) + " threads store"));
}

}  // namespace
}  // namespace convlab::grader
