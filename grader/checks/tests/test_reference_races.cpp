#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
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

// Of all processes that this one has started, and that still run.
double processor_seconds() {
  std::map<int, std::pair<int, double>> running;  // by number: the parent, and clock ticks
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const int process = std::atoi(entry.path().filename().c_str());
    std::ifstream file(entry.path() / "stat");
    std::string line;
    if (process == 0 || !std::getline(file, line)) continue;
    std::istringstream fields(line.substr(line.rfind(')') + 1));
    std::vector<std::string> words(std::istream_iterator<std::string>(fields), {});
    double all = 0.0;  // in user and system code, of the process and of its ended children
    for (std::size_t i = 11; i < 15; ++i) all += std::stod(words.at(i));
    running[process] = {std::stoi(words.at(1)), all};
  }
  double ticks = 0.0;
  for (const auto& [process, own] : running) {
    int above = own.first;
    while (above != 0 && above != ::getpid()) above = running[above].first;
    if (above != 0) ticks += own.second;
  }
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
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
      FAIL_CHECK(built.problem->message);
      continue;
    }
    Submission submission(built.program);
    submission.set_sources(SourceText({file}));
    submission.set_environment({"CONVLAB_EMU_TRACE=races"});
    std::vector<StageInfo> stages;
    REQUIRE_FALSE(submission.list_stages(stages));
    if (stages.empty()) continue;  // only on a GPU
    for (const ConvShape& layer : layers) {
      fill_random({.shape = layer}, 1, submission.prepare(layer, Placement::kAligned));
      const Call call = submission.run(stages.front().id);
      CHECK_FALSE(call.failure);
      if (call.race) FAIL_CHECK(message_of(*call.race, layer, submission.sources()).seen);
    }
    // What the detector took in both convolutions, without compiling.
    if (std::getenv("CONVLAB_TIMES") != nullptr) {
      std::cout << "| `" << stages.front().id << "` | " << processor_seconds() << " |" << std::endl;
    }
  }
}
