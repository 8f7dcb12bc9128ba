#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "common/base/tests/support/catch.hpp"
#include "common/network/preset.hpp"
#include "grader/checks/custom_submission.hpp"
#include "grader/checks/element_cases.hpp"
#include "grader/submission/submission.hpp"

using namespace convlab;
using namespace convlab::grader;

namespace {

std::vector<std::filesystem::path> stages_of_reference() {
  std::vector<std::filesystem::path> files;
  const std::filesystem::path root = CONVLAB_SOURCE_DIR "/reference/solutions";
  for (const char* folder :
       {"m2_gpu_baseline", "m3_memory", "m4_optimizations/stages", "typical"}) {
    for (const auto& entry : std::filesystem::directory_iterator(root / folder)) {
      if (entry.path().extension() == ".cu") files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  return files;
}

// Of the processes that this one has started and that have ended.
double processor_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_CHILDREN, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace

TEST_CASE("no stage of the reference solutions has a race") {
  // They call a library of the GPU.
  const std::set<std::string> only_on_gpu = {"cublas", "cudnn"};
  const auto layers = load_preset(kDefaultPreset).conv_shapes(1);
  std::filesystem::path build = std::filesystem::path(CONVLAB_BINARY_DIR).parent_path();
  for (const auto& file : stages_of_reference()) {
    INFO(file.filename().string());
    if (only_on_gpu.contains(file.stem().string())) continue;
    const BuiltSubmission built = build_submission(
        reference_file(file), {.build = build, .device = Device::kEmulated, .traced = true});
    if (built.problem) {
      FAIL_CHECK(built.problem->error.said());
      continue;
    }
    const double before = processor_seconds();
    std::vector<StageInfo> stages;
    {
      Submission submission(built.program);
      submission.set_sources(SourceText({file}));
      submission.set_environment({"CONVLAB_EMU_TRACE=races"});
      REQUIRE_FALSE(submission.list_stages(stages));
      for (const ConvShape& layer : stages.empty() ? std::vector<ConvShape>() : layers) {
        fill_random({.shape = layer}, 1, submission.prepare(layer, Placement::kAligned));
        const Call call = submission.run(stages.front().id);
        CHECK_FALSE(call.failure);
        if (call.race) FAIL_CHECK(message_of(*call.race, layer, submission.sources()).seen.text());
      }
    }
    // What the detector took in both convolutions, without compiling.
    if (std::getenv("CONVLAB_TIMES") != nullptr && !stages.empty()) {
      std::cout << "| `" << stages.front().id << "` | " << processor_seconds() - before << " |\n";
    }
  }
}
