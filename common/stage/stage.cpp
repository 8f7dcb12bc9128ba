#include "common/stage/stage.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <tuple>
#include <utility>

#include "common/base/error.hpp"
#include "common/base/unknown_name.hpp"
#include "common/stage/cpu_stage.hpp"

namespace convlab {

namespace {

// A function-local static: registrations run before main, in no particular order of files.
std::vector<Stage>& registry() {
  static std::vector<Stage> stages;
  return stages;
}

class CpuConvolution final : public Convolution {
 public:
  explicit CpuConvolution(ConvForward conv_forward) : conv_forward_(conv_forward) {}

  void prolog(const ConvShape& shape, const float* input, const float* weights,
              float* output) override {
    call_ = [=, function = conv_forward_] { function(shape, input, weights, output); };
  }
  void convolve() override { call_(); }
  void epilog() override {}

 private:
  ConvForward conv_forward_;
  std::function<void()> call_{};
};

}  // namespace

std::map<std::string, std::string>& stages_left_out() {
  static std::map<std::string, std::string> reasons;
  return reasons;
}

std::vector<Stage> registered_stages() {
  std::vector<Stage> stages = registry();
  std::ranges::sort(stages, [](const Stage& a, const Stage& b) {
    return std::tie(a.order, a.id) < std::tie(b.order, b.id);
  });
  return stages;
}

Stage find_stage(const std::string& id) {
  std::vector<std::string> known;
  for (const Stage& stage : registered_stages()) {
    if (stage.id == id) return stage;
    known.push_back(stage.id);
  }
  if (stages_left_out().contains(id)) {
    throw EnvironmentError("There is no stage '" + id + "' here: " + stages_left_out()[id] + ".");
  }
  throw UsageError(unknown_name("stage", id, known, " here"));
}

StageRegistration::StageRegistration(Stage stage) {
  registry().push_back(std::move(stage));
}

StageLeftOut::StageLeftOut(const std::string& id, const std::string& reason) {
  stages_left_out().emplace(id, reason);
}

CpuStage::CpuStage(Stage stage, ConvForward conv_forward) {
  stage.make = [conv_forward] { return std::make_unique<CpuConvolution>(conv_forward); };
  registry().push_back(std::move(stage));
}

void not_implemented(const std::string& file) {
  std::string text = file +
                     " still calls convlab::not_implemented, which ends the program: write your "
                     "code in the place of that line, build, and run this again.";
  // A check compiles the file, not this program.
  std::error_code failed;
  const auto written = std::filesystem::last_write_time(file, failed);
  if (!failed && written > std::filesystem::last_write_time("/proc/self/exe", failed) && !failed) {
    text += " It has changed since this program was built: cmake --build --preset lab";
  }
  throw UntouchedExercise(text, file);
}

}  // namespace convlab
