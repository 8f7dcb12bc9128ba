#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>

#include "common/base/address_sanitizer.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
#include "common/result/result.hpp"
#include "grader/cli/tests/program.hpp"

using namespace convlab;
using convlab::testing::contains;
using grader::ProgramRun;
using grader::run_program;
using TestFolder = testing::TemporaryFolder;

namespace {

// Without line ends and indents.
std::string words(const std::string& text) {
  return std::regex_replace(text, std::regex("\\s+"), " ");
}

}  // namespace

TEST_CASE("grader doctor: examines everything and agrees with its exit code") {
  const ProgramRun run = run_program("grader", "doctor");
  INFO(run.output);
  for (const char* item : {"compiler", "CMake", "gnuplot", "data", "memory", "disk", "CUDA"}) {
    CHECK(contains(run.output, item));
  }
  CHECK(run.exit_code == (contains(run.output, "FAIL") ? 3 : 0));
  const ProgramRun no_data = run_program("grader", "doctor", "CONVLAB_DATA=/nonexistent");
  CHECK(no_data.exit_code == 3);
  CHECK(contains(no_data.output, "FAIL  data"));
}

TEST_CASE("grader plot: draws, whatever a result is called, refuses what is no result") {
  const TestFolder folder;
  const auto file = folder.path() / "result.json";
  const ConvShape shape{.batch = 100, .height = 8, .width = 8, .kernel = 3};
  Result result{.program = "m1",
                .milestone = "m1",
                .solution = "student",
                .created = utc_now(),
                .machine = describe_machine()};
  RunResult& drawn = result.runs.emplace_back();
  drawn.network = "fa23";
  drawn.batch = 100;
  drawn.stage.id = "baseline";
  drawn.stage.title = "It's \"quoted\" {and} _odd_";
  drawn.layers = {{.shape = shape, .op_ms = {1, 2, 3}, .layer_ms = {1, 2, 3}},
                  {.shape = shape, .op_ms = {5}, .layer_ms = {5}}};
  RunResult next = drawn;  // `drawn` ends with the next emplace_back
  next.stage = {.id = "next",
                .title = "x'\nsystem 'touch " + (folder.path() / "ran").string(),
                .baseline = "baseline",
                .order = 1};
  result.runs.push_back(next);
  next.batch = 1000;
  result.runs.push_back(next);
  next.network = "fa18";
  result.runs.push_back(next);
  write_result(file, result);
  const auto plots = folder.path() / "plots";
  const ProgramRun run =
      run_program("grader", "plot " + file.string() + " --output " + plots.string());
  INFO(run.output);
  if (std::system("command -v gnuplot >/dev/null") != 0) {  // then the message must say so
    CHECK(run.exit_code == 3);
    CHECK(contains(run.output, "gnuplot"));
    return;
  }
  CHECK(run.exit_code == 0);
  for (const char* stem : {"op-time-fa23", "speed-up-fa23", "op-time-fa18"}) {
    for (const char* extension : {".svg", ".pdf", ".png"}) {
      const auto plot = plots / (std::string(stem) + extension);
      INFO(plot);
      REQUIRE(std::filesystem::exists(plot));
      CHECK(std::filesystem::file_size(plot) > 2000);
    }
  }
  CHECK_FALSE(std::filesystem::exists(plots / "roofline-fa23.svg"));  // no GPU
  CHECK_FALSE(std::filesystem::exists(folder.path() / "ran"));
  CHECK(contains(read_text(plots / "speed-up-fa23.svg"), " over m1 baseline"));
  CHECK(contains(read_text(plots / "op-time-fa23.svg"), "It's \"quoted\" {and} _odd_"));

  result.runs[0].device = Device::kEmulated;
  result.runs.resize(1);
  write_result(file, result);
  const ProgramRun emulated = run_program("grader", "plot " + file.string());
  CHECK(emulated.exit_code == 1);
  CHECK(contains(emulated.output, "nothing to plot"));

  write_atomically(file, "{\"schema\": \"other\"}");
  CHECK(run_program("grader", "plot " + file.string()).exit_code == 3);
  CHECK(run_program("grader", "plot").exit_code == 2);
}

TEST_CASE("grader check: a main of its own is refused, a result that cannot be kept is no work") {
  const TestFolder folder;
  const auto file = folder.path() / "mine.cpp";
  write_atomically(file, "#include \"cpu-new-forward.h\"\nint main() {}\n");
  const ProgramRun run = run_program("grader", "check m1 --batches 1 --solution " + file.string() +
                                                   " --json " + (folder.path() / "r").string());
  CHECK(run.exit_code == 1);
  CHECK(contains(run.output, "mine.cpp:2: error: the file has a main of its own"));
  CHECK_FALSE(contains(run.output, "no accident"));
  const ProgramRun unwritable = run_program("grader", "check m1 --json /proc/nonesuch/r.json");
  CHECK(unwritable.exit_code == 3);
  CHECK_FALSE(contains(unwritable.output, "Checking"));
}

TEST_CASE("grader check: links that lead out, large files and ids that repeat are refused") {
  const TestFolder folder;
  const auto check = [&](const std::string& solution) {
    return run_program("grader", "check m1 --batches 1 --solution " +
                                     (folder.path() / solution).string() + " --json " +
                                     (folder.path() / "r").string());
  };
  std::filesystem::create_directory(folder.path() / "linked");
  std::filesystem::create_symlink(CONVLAB_BINARY_DIR "/../tests/cases/plain_loops.cpp",
                                  folder.path() / "linked" / "link.cpp");
  CHECK(check("linked/link.cpp").exit_code == 2);
  const ProgramRun link = check("linked");
  CHECK(link.exit_code == 1);
  CHECK(contains(words(link.output),
                 "link.cpp is a link to a file that is not part of the submission"));

  std::filesystem::create_directory(folder.path() / "large");
  write_atomically(folder.path() / "large" / "a.cpp", "");
  std::filesystem::resize_file(folder.path() / "large" / "a.cpp", std::uintmax_t{1} << 30);
  CHECK(check("large/a.cpp").exit_code == 2);
  const ProgramRun large = check("large");
  CHECK(large.exit_code == 1);
  CHECK(contains(words(large.output), "larger than 4 MB"));
  CHECK(contains(words(large.output), "Name the file that you mean"));

  const auto stage = [](const std::string& id) {
    return "#include \"stage.hpp\"\nstatic void f(const convlab::ConvShape&, const float*, const "
           "float*, float*) {}\nint same_name_in_both() { return 0; }\n"
           "static const convlab::CpuStage s({.id = \"" +
           id + "\", .title = \"A\"}, f);\n";
  };
  std::filesystem::create_directory(folder.path() / "all");
  write_atomically(folder.path() / "all" / "stage.hpp",
                   "#include \"common/stage/cpu_stage.hpp\"\n");
  write_atomically(folder.path() / "all" / "a.cpp", stage("one"));
  write_atomically(folder.path() / "all" / "b.cpp", stage("two"));
  const ProgramRun two = check("all");
  CHECK(two.exit_code == 1);
  CHECK(contains(two.output, "\none  A\n"));
  CHECK(contains(two.output, "\ntwo  A\n"));
  write_atomically(folder.path() / "all" / "b.cpp", stage("one"));
  const ProgramRun twice = check("all");
  CHECK(twice.exit_code == 1);
  CHECK(contains(twice.output, "Two stages are called 'one'."));
}

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
  const TestFolder folder;
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

TEST_CASE("grader check: a file whose place names its task gets the points, and a report of it") {
  const TestFolder folder;
  const std::string file = (folder.path() / "new-forward.cu").string();
  std::filesystem::copy_file(
      CONVLAB_SOURCE_DIR "/common/custom_submission/tests/sources/one_function.cu", file);
  const std::string result = (folder.path() / "result.json").string();
  const ProgramRun run = run_program("grader", "check m2 --rules cse160 --batches 1 --no-speed" +
                                                   (" --json " + result) + " --solution " + file);
  INFO(run.output);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.output, "gpu  The convolution on the GPU"));
  CHECK(contains(run.output, "50/50"));
  CHECK(contains(run.output, "PASSED SO FAR"));
  CHECK_FALSE(contains(run.output, "NO POINTS"));
  const std::string words = " " + result + " --output " + folder.path().string();
  for (const auto& [id, title] : std::map<std::string, std::string>{
           {"cse160-gpu", "The convolution on the GPU"}, {"sp26", "Spring 2026"}}) {
    const ProgramRun report = run_program("grader", "report " + id + words);
    CHECK(report.exit_code == 0);
    CHECK_FALSE(contains(report.output, "grader answer"));
    const std::string page = read_text(folder.path() / "report.md");
    CHECK(page.starts_with("# Report on " + id + ": " + title));
    CHECK_FALSE(contains(page, "Questions of the chapter"));
  }
}
