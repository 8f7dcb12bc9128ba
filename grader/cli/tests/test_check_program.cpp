#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>

#include "common/base/address_sanitizer.hpp"
#include "common/base/printable.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "common/device/gpu_driver.hpp"
#include "grader/checks/result/check_result.hpp"
#include "grader/cli/tests/program.hpp"
#include "grader/cli/tests/small_course.hpp"

using namespace convlab;
using convlab::testing::contains;
using grader::ProgramRun;
using grader::run_program;
using grader::SmallCourse;
using testing::CommandResult;

namespace {

int longest_line(const std::string& text) {
  int longest = 0;
  for (const std::string& line : lines_of(text)) longest = std::max(longest, display_width(line));
  return longest;
}

/// A file of this build folder that a test may change: it is as before when the test ends.
class KeptFile {
 public:
  explicit KeptFile(std::filesystem::path file) : file_(std::move(file)) {
    if (std::filesystem::exists(file_)) before_ = read_text(file_);
    std::filesystem::remove(file_);
  }
  ~KeptFile() {
    std::error_code ignored;
    std::filesystem::remove(file_, ignored);
    if (before_) write_atomically(file_, *before_);
  }
  KeptFile(const KeptFile&) = delete;
  KeptFile& operator=(const KeptFile&) = delete;

 private:
  std::filesystem::path file_;
  std::optional<std::string> before_;
};

}  // namespace

TEST_CASE("grader check: no program, and a clock that was replaced and contradicts the grader's") {
  const auto [name, finding] =
      GENERATE(table<std::string, std::string>({{"there_is_no_such_file", "E-no-program"},
                                                {"replaces_the_clock", "E-clock"},
                                                {"slows_the_clock", "E-clock"}}));
  const testing::TemporaryFolder folder;
  const auto json = folder.path() / "result.json";
  const ProgramRun run =
      run_program("grader", "check m1 --program " SUBMISSIONS "/" + name +
                                " --no-speed --batches 300 --json " + json.string());
  INFO(run.output);
  CHECK(run.exit_code == 1);
  const auto findings = grader::read_check_result(json).findings;
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].id == finding);
}

TEST_CASE("grader check: points, with the speed beside the reference in the same run") {
  const auto program = std::string(CONVLAB_BINARY_DIR) + "/m1-reference";
  if (!std::filesystem::exists(program)) CONVLAB_SKIP("a hand-out has no reference solution");
  if (CONVLAB_ADDRESS_SANITIZER) {
    CONVLAB_SKIP("AddressSanitizer makes the reference so slow that its times take minutes");
  }
  const testing::TemporaryFolder folder;
  const auto json = folder.path() / "result.json";
  const ProgramRun run =
      run_program("grader", "check m1 --program " + std::string(SUBMISSIONS) +
                                "/plain_loops --batches 100 --json " + json.string());
  INFO(run.output);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.output, "  item                     points       yours   reference  why\n"));
  const auto begin = run.output.find('\n');
  CHECK(longest_line(run.output.substr(begin, run.output.find("PASSED") - begin)) <= 80);
  const grader::CheckResult check = grader::read_check_result(json);
  REQUIRE(check.score);
  CHECK(check.score->earned() > 60);
  const grader::ScoreItem& speed = check.score->items.back();
  CHECK(speed.credit != grader::Credit::kNotMeasured);
  REQUIRE(speed.speed);
  CHECK(speed.speed->yours_ms.size() == 2);
  CHECK(speed.speed->yours_ms[0].size() == speed.speed->reference_ms[0].size());
  CHECK(speed.speed->low <= speed.speed->speed);
  CHECK(speed.speed->speed <= speed.speed->high);
}

TEST_CASE("grader check: a GPU that the isolated program does not reach gives no verdict") {
  const testing::TemporaryFolder folder;
  const auto json = folder.path() / "result.json";
  const auto run = [&](const std::string& program, const std::string& driver) {
    return run_program(
        "grader",
        "check m1 --batches 1 --program " WITHOUT_GPU "/" + program + " --json " + json.string(),
        "CUDA_VISIBLE_DEVICES=-1 LD_LIBRARY_PATH=" + driver);
  };
  const ProgramRun hidden = run("without_gpu", WITHOUT_GPU);
  CHECK(hidden.exit_code == 3);
  CHECK(contains(hidden.output,
                 "This machine has a GPU, but it does not answer the isolated program, which says: "
                 "No CUDA device answered: no CUDA-capable device is detected. So nothing was "
                 "checked."));
  CHECK_FALSE(std::filesystem::exists(json));
  // Without a GPU the emulated run counts as requested, so it is judged.
  CHECK(run("without_gpu", "").exit_code == 1);
  std::filesystem::remove(json);
  const ProgramRun lost = run("loses_gpu", "");
  CHECK(lost.exit_code == 3);
  CHECK(contains(lost.output, "The GPU stopped answering in the middle of the check"));
  CHECK_FALSE(std::filesystem::exists(json));
}

TEST_CASE("grader check: what cannot be asked is answered in one sentence") {
  const auto [arguments, code, text] = GENERATE(table<std::string, int, std::string>({
      {"check m9", 2, "grader: There is no milestone 'm9'; the milestones are: m1"},
      {"check cse160 --solution x.cu", 2, "for one file name its task: cse160-gpu."},
      {"check sp26 --solution x.cu", 2, "sp26 is an edition, which takes a whole tree"},
      {"check csc14120", 2, "name a milestone, m2 --rules csc14120."},
      {"check sp26-req-0", 2, "sp26-req-0 is a task of the course: name its file"},
      {"check fused_gemm", 2, "Did you mean the stage of m4: m4 --stage fused-gemm?"},
      {"check m1 --stage x", 2, "grader: There is no stage 'x' in m1; the stages are: baseline."},
      {"check m4 --stage halo", 2, "halo is not in m4: it is in m3, so name m3 --stage halo."},
      {"watch m4 --stage halo", 2, "name m3 --stage halo"},
      {"show m2 --stage fused-gemm", 2, "name m4 --stage fused-gemm"},
      {"show m1", 2, "This is for CUDA kernels, and m1 has none"},
      {"show m4", 2, "m4 has many stages; add --stage"},
      {"show m3 --block 1,x", 2, "--block takes X, X,Y or X,Y,Z"},
      {"show m3 --block 1,2,3,4", 2, "--block takes X, X,Y or X,Y,Z"},
      {"show m3 --case 1,2", 2, "--case takes B,M,C,H,W,K"},
      {"predict m4 --stage halo", 2, "name m3 --stage halo"},
      {"hint m4 --stage halo", 2, "name m3 --stage halo"},
      {"check m4 --stage half --cause a", 2, "--cause is of a broken kernel"},
      {"check m4 --stage detective --cause zoe-a", 2, "ann-a to cleo-d, not 'zoe-a'"},
      {"answer m4 five-taps \"It is 2.\"", 2, "You predicted nothing for five-taps"},
      {"check m1 --network x", 2, "fa23"},
      {"check m1 --time-limit -1", 2, "--time-limit: Value -1 is too small."},
      {"watch m1 --batches 100,ten", 2, "from 1 to 10000"},
      {"check m1 --batches 10001", 2, "from 1 to 10000"},
      {"check m1 --solution mine", 2, "reference"},
      {"check", 2, "Name a milestone, like m1"},
      {"check sp25-req-9 --solution x.cu", 2, "no task 'sp25-req-9'. Did you mean sp25-req-0?"},
      {"check m2 --rules sp99 --solution x.cu", 2, "There is no edition 'sp99'"},
      {"", 2, "subcommand"},
      {"chekc m1", 2, "There is no command 'chekc'. Did you mean check?"},
  }));
  CAPTURE(arguments);
  const ProgramRun run = run_program("grader", arguments);
  INFO(run.output);
  CHECK(run.exit_code == code);
  CHECK(contains(run.output, text));
  CHECK_FALSE(contains(run.output, "terminate"));
}

TEST_CASE("grader check: a tree of the course, in which not every file is clear, is one sentence") {
  const ScratchFolder folder;
  const auto write = [&](const std::string& path) {
    write_atomically(folder.path() / path, "void GPUInterface::conv_forward_gpu(int B) {}");
  };
  const auto said = [&](const std::string& words) {
    const ProgramRun run =
        run_program("grader", "check " + words + " --solution " + folder.path().string());
    CHECK(run.exit_code == 2);
    return run.output;
  };
  CHECK(contains(said("sp26"), "holds no file of sp26, which asks for custom/cpu-new-forward.cc"));
  write("a/custom/new-forward.cu");
  CHECK(contains(said("sp26-req-0"), "holds no file for sp26-req-0 of sp26."));
  write("b/custom/new-forward.cu");
  CHECK(contains(said("sp26"), "There are two files for the task sp26-m1-gpu, a/custom/"));
  std::filesystem::remove_all(folder.path() / "b");
  const std::string all = "check sp26 --batches 1 --json " + folder.path().string();
  const ProgramRun run = run_program("grader", all + " --solution " + folder.path().string());
  CHECK(run.exit_code == 1);
  CHECK(contains(run.output, "No file for m1-cpu, m2-unroll, m2-fused, req-0, req-1, final."));
}

TEST_CASE("grader check: a stage that calls a library of the GPU is not blamed where none is") {
  if (answering_gpu()) return;
  const testing::TemporaryFolder folder;
  const ProgramRun run = run_program("grader", "check m4 --stage cudnn --batches 1 --json " +
                                                   (folder.path() / "result.json").string());
  INFO(run.output);
  CHECK(run.exit_code == 1);
  CHECK(contains(run.output, "E-no-stage  this stage needs a GPU"));
}

TEST_CASE(
    "grader check: a broken kernel, and the slow one of three, are named before they are mended") {
  const auto folder = std::filesystem::path(CONVLAB_BINARY_DIR).parent_path() / "notebook";
  const KeptFile notebook(folder / "m4.json");
  const auto check_m4 = [](const std::string& stage) {
    return run_program("grader", "check m4 --stage " + stage);
  };
  const ProgramRun broken = check_m4("left-alone");
  CHECK(broken.exit_code == 1);
  CHECK(contains(broken.output, "Which is the cause?"));
  CHECK(contains(check_m4("left-alone --cause e").output, "a to d"));
  CHECK(contains(check_m4("left-alone --cause a").output, "  You named \""));
  // Of the causes offered only one is true.
  CHECK_FALSE(contains(check_m4("once-more").output, ")  the result is computed from memory"));
  // The choice is among causes, not among what a check may see of them.
  const std::string other = check_m4("weighted-sum").output;
  CHECK(contains(other, ")  only the last channel is summed up"));
  CHECK_FALSE(contains(other, ")  the output is wrong"));
  CHECK_FALSE(contains(other, "The smallest case"));

  if (CONVLAB_ADDRESS_SANITIZER) return;  // such a build counts nothing
  const ProgramRun asked = check_m4("detective");
  CHECK(asked.exit_code == 1);
  CHECK(longest_line(asked.output) <= 80);
  CHECK(contains(asked.output, "Which kernel is slow, and why?"));
  CHECK(check_m4("detective --cause ben").exit_code == 2);
  // The best hit rate, and the fewest loads.
  const std::string named = check_m4("detective --cause ben-c").output;
  CHECK(contains(named, "You named ben-c, and that is right."));
  CHECK(contains(named, "sectors moved, times those needed"));
  CHECK(contains(named, "    mend   Change milestones/m4_optimizations/detective/2_ben.cu"));
  CHECK(contains(check_m4("detective --cause ann-a").output, "You named ben-c"));
}

TEST_CASE("grader check: missing data is the environment's fault, and is told with the mend") {
  const ProgramRun run =
      run_program("grader",
                  "check m1 --batches 100 --program " + std::string(SUBMISSIONS) +
                      "/plain_loops --json /tmp/grader-test-no-data.json",
                  "CONVLAB_DATA=/nonexistent");
  CHECK(run.exit_code == 3);
  CHECK(contains(run.output, "/nonexistent"));
}

TEST_CASE("grader check: a kernel that is too slow shows it with a tenth of the images") {
  constexpr const char* kSource = R"(
#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

__global__ void conv(const float* x) {
  while (x[0] < 1e30f) __syncthreads();
}

struct Slow : convlab::DeviceConvolution {
  void launch(float*, const float* x, const float*, const convlab::ConvShape&) override {
    conv<<<1, 64>>>(x);
  }
};

const convlab::ConvolutionStage<Slow> stage({.id = "slow", .title = "Slow", .order = 1});
)";
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "slow.cu";
  write_atomically(file, kSource);
  const ProgramRun run = run_program("grader",
                                     "check m4 --solution " + file.string() +
                                         " --rules course --batches 100 --time-limit 1 --json " +
                                         (folder.path() / "result.json").string(),
                                     "CUDA_VISIBLE_DEVICES=-1");
  INFO(run.output);
  CHECK(run.exit_code == 1);
  CHECK(contains(run.output, "(B=10 "));
  CHECK_FALSE(contains(run.output, "(B=100 "));
}

// Where this build has programs for a GPU, they look for one and are replaced.
TEST_CASE(
    "grader check: without a GPU the workbook's own program is emulated, and accused of nothing") {
  const ProgramRun run = run_program(
      "grader", "check m2 --solution reference --batches 1 --no-speed", "CUDA_VISIBLE_DEVICES=-1");
  INFO(run.output);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.output, "emulated"));
}

TEST_CASE("grader check: Ctrl-C skips a long batch, and what was found before it counts") {
  const testing::TemporaryFolder folder;
  const std::string json = (folder.path() / "result.json").string();
  const std::string out = (folder.path() / "out").string();
  // A second Ctrl-C would end the grader.
  const auto run =
      testing::run_command("cd '" CONVLAB_SOURCE_DIR "' && { '" CONVLAB_BINARY_DIR
                           "/grader' check m1 --no-speed --batches 1,5000 --program " SUBMISSIONS
                           "/plain_loops --json " +
                           json + " > " + out + " 2>&1 & }; until grep -q ' 1/1 ' " + out +
                           "; do sleep 0.1; done; sleep 3; kill -INT $!; wait $!");
  const std::string printed = read_text(out);
  INFO(printed);
  CHECK(run.exit_code == 0);
  CHECK(contains(printed, "Batch 5000 was stopped. What was found before it counts."));
  CHECK(contains(printed, "PASSED SO FAR"));
  const grader::CheckResult check = grader::read_check_result(json);
  REQUIRE(check.result.runs.size() == 1);
  CHECK(check.result.runs.front().batch == 1);
}

TEST_CASE("grader check: stages that are checked at the same time are told in their order") {
  constexpr const char* kSource = R"(
#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

using convlab::ConvShape;

__global__ void conv(float* y, const float* x, const float* w, ConvShape s, float factor) {
  const int m = blockIdx.x, b = blockIdx.y;
  const int width = s.out_width(), pixels = s.out_height() * width;
  for (int pixel = threadIdx.x; pixel < pixels; pixel += blockDim.x) {
    float sum = 0.0f;
    for (int c = 0; c < s.in_channels; ++c)
      for (int p = 0; p < s.kernel; ++p)
        for (int q = 0; q < s.kernel; ++q)
          sum += x[((b * s.in_channels + c) * s.height + pixel / width * s.stride + p) * s.width +
                   pixel % width * s.stride + q] *
                 w[((m * s.in_channels + c) * s.kernel + p) * s.kernel + q];
    y[(b * s.out_channels + m) * pixels + pixel] = factor * sum;
  }
}

template <int Factor>
struct Times : convlab::DeviceConvolution {
  void launch(float* y, const float* x, const float* w, const ConvShape& s) override {
    conv<<<dim3(s.out_channels, s.batch), 256>>>(y, x, w, s, Factor);
  }
};

const convlab::ConvolutionStage<Times<1>> first({.id = "first", .title = "Right", .order = 1});
const convlab::ConvolutionStage<Times<2>> second({.id = "second", .title = "Double", .order = 2});
const convlab::ConvolutionStage<Times<1>> third({.id = "third", .title = "Right", .order = 3});
)";
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "three.cu";
  write_atomically(file, kSource);
  for (const char* threads : {"OMP_NUM_THREADS=1", "OMP_NUM_THREADS=3"}) {
    CAPTURE(threads);
    const auto json = folder.path() / "result.json";
    const ProgramRun run = run_program(
        "grader", "check m4 --solution " + file.string() + " --batches 2 --json " + json.string(),
        std::string("CUDA_VISIBLE_DEVICES=-1 ") + threads);
    INFO(run.output);
    CHECK(run.exit_code == 1);
    const auto place = [&](const char* text) { return run.output.find(text); };
    CHECK(place("first  Right") < place("second  Double"));
    CHECK(place("second  Double") < place("third  Right"));
    CHECK(place("third  Right") < place("NOT PASSED"));
    CHECK(place("NOT PASSED") != std::string::npos);
    const grader::CheckResult check = grader::read_check_result(json);
    REQUIRE(check.findings.size() == 1);
    CHECK(check.findings.front().stage == "second");
    REQUIRE(check.result.runs.size() == 2);
    CHECK(check.result.runs.front().stage.id == "first");
    CHECK(check.result.runs.back().stage.id == "third");
    CHECK(check.result.verdict == Verdict::kFailed);
  }
}

TEST_CASE("grader check: the line of a wrong kernel is proven after the finding is told") {
  if (CONVLAB_ADDRESS_SANITIZER) return;  // it ends the program at the first access outside
  const testing::TemporaryFolder folder;
  std::string text = read_text(CONVLAB_SOURCE_DIR "/reference/solutions/typical/m2.cu");
  const std::string right = "w * shape.stride + q;";
  const auto at = text.find(right);
  REQUIRE(at != std::string::npos);
  const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  write_atomically(folder.path() / "no_stride.cu", text.replace(at, right.size(), "w + q;"));
  const std::string json = (folder.path() / "result.json").string();
  const ProgramRun run =
      run_program("grader", "check m2 --batches 1 --no-speed --solution " +
                                (folder.path() / "no_stride.cu").string() + " --json " + json);
  INFO(run.output);
  const std::string where = "A small change in no_stride.cu:" + std::to_string(line + 1);
  const auto told = run.output.find(where);
  CHECK(told != std::string::npos);
  CHECK(run.output.find("    more   docs/diagnoses.md") < told);
  const auto found = grader::read_check_result(json).findings;
  REQUIRE(found.size() == 1);
  REQUIRE_FALSE(found.front().mends.empty());
  CHECK(found.front().mends.front().lines ==
        std::vector<std::size_t>{static_cast<std::size_t>(line) + 1});
}

TEST_CASE(
    "grader check: of two mistakes the line of one is proven, and a case that stays wrong told") {
  if (CONVLAB_ADDRESS_SANITIZER) return;
  const testing::TemporaryFolder folder;
  std::string text = read_text(CONVLAB_SOURCE_DIR "/reference/solutions/typical/m1.cpp");
  const std::string bound = "h < H_out";
  const std::string channel = "(b * C + c)";
  const auto at = text.find(bound);
  REQUIRE(at != std::string::npos);
  REQUIRE(text.find(channel) != std::string::npos);
  const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  text.replace(text.find(channel), channel.size(), "(b * C + c / 2 * 2)");
  write_atomically(folder.path() / "two.cpp", text.replace(at, bound.size(), "h + 1 < H_out"));
  const ProgramRun run = run_program("grader", "check m1 --batches 1 --no-speed --solution " +
                                                   (folder.path() / "two.cpp").string());
  INFO(run.output);
  CHECK(run.output.find("A small change in two.cpp:" + std::to_string(line + 1) +
                        " makes this case right. Case 'several\n") != std::string::npos);
  CHECK(run.output.find("is still wrong then.") != std::string::npos);
}

TEST_CASE("grader check: a stage with another name than the points' is told to take it back") {
  const SmallCourse course("plain_loops");
  write_atomically(course.source(), "// my work\n");
  CommandResult run = course.grader("check m1 --batches 3");
  INFO(run.out);
  CHECK_FALSE(contains(run.out, "gives no points"));
  const std::filesystem::path rules = course.source().parent_path() / "scores.json";
  std::string text = read_text(rules);
  for (std::size_t at = 0; (at = text.find("\"stage\": \"baseline\"", at)) != std::string::npos;) {
    text.replace(at, 19, "\"stage\": \"loops\"");
  }
  write_atomically(rules, text);
  run = course.grader("check m1 --batches 3");
  INFO(run.out);
  CHECK(contains(run.out, "Your stage is called baseline, so it gives no points"));
  CHECK(contains(run.out, ".id = \"loops\""));
  // One of several stages may be the student's own: it is right or wrong, and passes nothing.
  text.replace(text.find("\"loops\""), 7, "\"more\"");
  write_atomically(rules, text);
  write_atomically(course.source(), "// .id = \"baseline\"\n");
  run = course.grader("check m1 --stage baseline --batches 3");
  INFO(run.out);
  CHECK(run.exit_code == 1);
  CHECK(contains(run.out, "NO POINTS"));
  CHECK_FALSE(contains(run.out, "PASSED"));
  CHECK(contains(run.out, "A stage of your own, such as baseline, gives no points."));
  text.insert(text.find("{\"stage\""), R"({"stage": "more", "item": "cases", "points": 1}, )");
  for (std::size_t at = 0; (at = text.find("\"loops\"", at)) != std::string::npos;)
    text.replace(at, 7, "\"baseline\"");
  write_atomically(rules, text);
  CHECK(contains(course.grader("check m1 --batches 3").out, "It lacks more, which m1 asks for."));
  run = course.grader("predict m1 --stage baseline");
  INFO(run.out);
  CHECK(contains(run.out, "baseline was measured already on 20"));
  CHECK(contains(course.grader("predict m1 --stage base").out, "There is no stage 'base'"));
}

TEST_CASE("grader check: of a choice of stages only those that were begun are compiled") {
  const SmallCourse course("plain_loops");
  const char* const m4 = "milestones/m4_optimizations";
  course.add_milestone("m4_optimizations");
  std::filesystem::create_directories(course.build() / "custom_submission");  // the parts are built
  std::filesystem::remove_all(course.course() / m4 / "puzzles");  // they would come first
  CommandResult run = course.grader("check m4 --batches 1");
  INFO(run.out);
  CHECK(run.exit_code == 1);
  CHECK(contains(run.out, "No stage of m4 is begun. Next: build/bin/grader next"));
  // Then it goes on to compile, which this build cannot.
  const std::filesystem::path half = course.course() / m4 / "stages" / "half.cu";
  const std::string untouched = read_text(half);
  write_atomically(half, untouched + "int begun = ;\n");
  run = course.grader("check m4 --batches 1");
  INFO(run.out);
  CHECK_FALSE(contains(run.out, "is begun"));
  CHECK(run.exit_code == 3);
  CHECK(contains(run.out, "has not recorded how it compiles"));
  write_atomically(half, untouched);
  run = course.grader("check m4 --batches 1");
  INFO(run.out);
  CHECK(contains(run.out, "No stage of m4 is begun"));
}

TEST_CASE("grader check: the lines for editors fit the tasks of a hand-out, of puzzles too") {
  namespace fs = std::filesystem;
  const SmallCourse course("wrong_borders");
  course.add_milestone("m2_gpu_baseline");
  // No text, as an editor saves it in UTF-16: that needs no compiler.
  const std::string index = "milestones/m2_gpu_baseline/puzzles/1_index.cu";
  write_atomically(course.course() / index, std::string("i\0n\0t\0", 6));
  write_atomically(course.build() / "custom_submission" / "emulated.link", "");
  const auto tasks = nlohmann::json::parse(
      read_text(fs::path(CONVLAB_SOURCE_DIR) / "milestones/handout_files/.vscode/tasks.json"));
  const auto lines_for_editor = [&](const std::string& command) {
    const CommandResult run = course.shell("./grader " + command + " --format=gcc 2>/dev/null");
    INFO(run.out);
    CHECK(run.exit_code == 1);
    for (const auto& task : tasks["tasks"]) {
      if (!task["problemMatcher"].contains("pattern")) continue;  // that of GCC
      const std::regex pattern(task["problemMatcher"]["pattern"]["regexp"].get<std::string>());
      for (const std::string& line : lines_of(run.out)) CHECK(std::regex_match(line, pattern));
    }
    return run.out;
  };
  CHECK(lines_for_editor("check m2").starts_with(index + ":1:1: error: "));
  fs::remove_all(course.build() / "custom_submission");
  CHECK(lines_for_editor("check m1 --batches 1")
            .starts_with("milestones/m1_cpu_baseline/conv_forward.cpp:"));
}
