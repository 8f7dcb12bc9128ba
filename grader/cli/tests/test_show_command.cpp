#include <filesystem>

#include "common/base/address_sanitizer.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
#include "grader/cli/tests/program.hpp"

using namespace convlab;
using convlab::testing::contains;
using grader::ProgramRun;
using grader::run_program;

namespace {

// A tile of 8 × 8 inputs for a kernel of one element; BARRIER stands between load and use.
std::string source(const std::string& barrier) {
  return R"(#include <cuda_runtime.h>
#include "common/stage/device_convolution.cuh"
namespace {
using convlab::ConvShape;
__global__ void conv(float* output, const float* input, const float* weights, int size) {
  __shared__ float tile[8][8];
  const int y = threadIdx.y;
  const int x = threadIdx.x;
  tile[y][x] = input[y * size + x];
)" + barrier +
         R"(
  output[y * size + x] = tile[y][x] * weights[0] + 0.0f * tile[7 - y][x];
}
class Tiled final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    conv<<<1, dim3(8, 8)>>>(output, input, weights, shape.width);
    CONVLAB_CUDA_CHECK_LAUNCH(1, dim3(8, 8), 0);
  }
};
const convlab::ConvolutionStage<Tiled> stage({.id = "tiled", .title = "Tiled"});
}  // namespace
)";
}

constexpr const char* kSmall = " --case 1,1,1,8,8,1 ";

}  // namespace

TEST_CASE("grader show: a page and JSON from a right file, a race in a wrong one") {
  if (CONVLAB_ADDRESS_SANITIZER) {
    WARN("skipped: a build with sanitizers draws nothing");
    return;
  }
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "tiled.cu";
  const auto page = folder.path() / "page.html";
  const std::string command = "show m3" + std::string(kSmall) + "--solution " + file.string();
  write_atomically(file, source("  __syncthreads();"));
  const ProgramRun right = run_program("grader", command + " --output " + page.string());
  INFO(right.output);
  CHECK(right.exit_code == 0);
  CHECK(contains(right.output, "Block (0, 0, 0) of conv"));
  CHECK(contains(read_text(page), "tile[y][x] = input[y * size + x];"));

  const ProgramRun missing = run_program("grader", command + " --block 0,1");
  CHECK(missing.exit_code == 2);
  CHECK(contains(missing.output,
                 "There is no block 0,1,0: conv is launched with blocks from 0,0,0 "
                 "to 0,0,0 here."));

  write_atomically(file, source(""));
  const ProgramRun race = run_program("grader", command + " --output " + page.string());
  CHECK(race.exit_code == 1);
  CHECK(contains(race.output, "E-race"));
  CHECK(contains(read_text(page), "\"kind\":\"race\""));

  write_atomically(file, source("  __syncthreads();\n  if (x == 3) return;"));
  const ProgramRun unwritten = run_program("grader", command + " --output " + page.string());
  CHECK(unwritten.exit_code == 1);
  CHECK(
      contains(unwritten.output, "  unwritten: 8 elements of the whole output are written by no"));
  CHECK(contains(unwritten.output, "Next: build/bin/grader check m3"));
  CHECK(contains(read_text(page), "\"unwritten\":[[3,3],[11,11]"));

  write_atomically(file, "__global__ void conv( {\n");
  const ProgramRun broken = run_program("grader", command);
  CHECK(broken.exit_code == 1);
  CHECK(contains(broken.output, "E-build"));
}
