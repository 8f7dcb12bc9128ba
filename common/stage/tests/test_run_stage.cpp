#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/stage/run_stage.hpp"

using namespace convlab;

namespace {

// The calls, in order.
using Log = std::vector<std::string>;

class LoggingConvolution final : public Convolution {
 public:
  explicit LoggingConvolution(Log& log) : log_(log) {}
  void prolog(const ConvShape& /*shape*/, const float* /*input*/, const float* /*weights*/,
              float* /*output*/) override {
    log_.push_back("prolog");
  }
  void convolve() override { log_.push_back("convolve"); }
  void epilog() override { log_.push_back("epilog"); }

 private:
  Log& log_;
};

// A device whose clock shows 10 ms for its first op, 20 for the second, and so on.
class FakeDevice final : public DeviceSession {
 public:
  FakeDevice(Device device, Log& log) : log_(log) {
    info_.device = device;
    info_.name = "fake";
    info_.capability = {8, 0};
  }
  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  void start_profile() override {}
  Profile stop_profile() override { return {}; }
  std::vector<MemoryContent> memory() override { return {content}; }
  void overwrite(std::byte* place, const float* numbers, std::int64_t count) override {
    log_.push_back("overwrite " + std::to_string(place - content.begin) + " with " +
                   std::to_string(count) + " from " + std::to_string(numbers[0]).substr(0, 1));
  }
  std::optional<std::vector<MemoryRange>> allocations() override {
    if (!keeps_record) return std::nullopt;
    return std::vector<MemoryRange>{
        {content.begin, static_cast<std::int64_t>(content.words.size() * sizeof(float)), true}};
  }
  bool read_rows(const std::byte* from, std::int64_t pitch, std::int64_t width, int rows,
                 std::byte* to) override {
    const auto* memory = reinterpret_cast<const std::byte*>(content.words.data());
    for (int row = 0; row < rows; ++row, to += width) {
      std::copy_n(memory + (from - content.begin) + row * pitch, width, to);
    }
    return true;
  }
  void fence(const char* phase) override { log_.push_back(std::string("fence ") + phase); }
  void empty_cache() override { log_.push_back("empty"); }
  int clock_mhz() override {
    log_.push_back("clock");
    return 1000;
  }
  OpSample time_now(const std::function<void()>& op) override {
    log_.push_back("time");
    op();
    OpSample sample;
    sample.event_ms = 10.0 * ++calls_;
    return sample;
  }

  MemoryContent content{};   ///< all that its memory holds
  bool keeps_record = true;  ///< of what is allocated

 private:
  Log& log_;
  DeviceInfo info_;
  int calls_ = 0;
};

Stage logging_stage(Log& log) {
  return {.id = "logging", .make = [&log] { return std::make_unique<LoggingConvolution>(log); }};
}

PhaseTimes run(const Stage& stage, const RunPlan& plan) {
  float element = 0.0f;
  return run_stage(stage, {}, &element, &element, &element, plan);
}

}  // namespace

TEST_CASE("stage: one that was left out says why, an unknown one which there are") {
  const convlab::StageLeftOut left_out("library", "it needs a GPU");
  CHECK_THROWS_WITH(convlab::find_stage("library"),
                    "There is no stage 'library' here: it needs a GPU.");
}

TEST_CASE("run stage: on a GPU each phase is fenced, warm-ups count apart") {
  Log log;
  FakeDevice gpu(Device::kGpu, log);
  const PhaseTimes times =
      run(logging_stage(log),
          {.device = &gpu, .warm_ups = 1, .samples = 2, .tell = [&] { log.push_back("tell"); }});
  // Emptying the cache and the last question about the clock are no part of what the grader times.
  CHECK(log == Log{"prolog", "fence prolog", "tell", "empty", "tell", "time", "convolve", "clock",
                   "empty", "time", "convolve", "clock", "empty", "time", "convolve", "epilog",
                   "fence epilog", "tell", "clock"});
  REQUIRE(times.samples.size() == 2);
  CHECK(times.samples[0].event_ms == 20.0);
  CHECK(times.op_ms == 25.0);
  CHECK(times.layer_ms >= 25.0);

  log.clear();
  Stage stage = logging_stage(log);
  stage.needs = {9, 0};
  CHECK_THROWS_AS(run(stage, {.device = &gpu}), EnvironmentError);
  CHECK(log.empty());  // it is not started on a GPU that is too old for it
}

TEST_CASE("run stage: emulated nothing is measured, on the CPU the samples are the host's") {
  Log log;
  FakeDevice emulated(Device::kEmulated, log);
  const PhaseTimes none =
      run(logging_stage(log), {.device = &emulated, .warm_ups = 1, .samples = 3});
  CHECK(log ==
        Log{"prolog", "fence prolog", "convolve", "fence convolve", "epilog", "fence epilog"});
  CHECK(none.samples.empty());
  CHECK(none.layer_ms == 0.0);
  log.clear();
  const PhaseTimes times = run(logging_stage(log), {.samples = 2});
  CHECK(log == Log{"prolog", "convolve", "convolve", "epilog"});
  REQUIRE(times.samples.size() == 2);
  CHECK(times.samples[0].event_ms == 0.0);
  CHECK(times.layer_ms >= times.op_ms);
}

TEST_CASE("run in steps: empty calls, another input and convolve, as they are asked for") {
  Log log;
  FakeDevice gpu(Device::kGpu, log);
  const ConvShape shape{.batch = 2, .height = 1, .width = 2};
  const auto bits = [](float number) { return std::bit_cast<std::uint32_t>(number); };
  // The second image lies before the first.
  gpu.content.words = {bits(3), bits(4), bits(9), bits(1), bits(2), bits(5)};
  std::array<std::byte, 6 * sizeof(float)> place{};
  gpu.content.begin = place.data();
  std::array<float, 4> input = {1, 2, 3, 4};
  const std::array<float, 1> weights = {1};
  std::array<float, 4> output{};
  std::vector<int> told;
  const auto run_again = [&](DeviceSession* device) {
    input = {1, 2, 3, 4};
    log.clear();
    told.clear();
    return run_in_steps(logging_stage(log), shape, input.data(), weights.data(), output.data(),
                        device, [&](int copies) {
                          told.push_back(copies);
                          log.push_back("pause");
                          if (told.size() == 1) return Step::kEmptyCall;
                          input = {6, 7, 8, 9};
                          return told.size() == 2 ? Step::kNewInput : Step::kConvolve;
                        });
  };
  SECTION("the parts of the input are found and changed") {
    const PhaseTimes times = run_again(&gpu);
    // The grader's clock runs from pause to pause: the GPU's cache and clock are no part of it.
    CHECK(log == Log{"prolog", "fence prolog", "empty", "pause", "time", "pause",
                     "overwrite 0 with 2 from 8", "overwrite 12 with 2 from 6", "empty", "pause",
                     "time", "convolve", "pause", "epilog", "fence epilog", "clock"});
    CHECK(told == std::vector<int>{2, 2, 2, 2});
    CHECK(times.op_ms == 20.0);
  }
  SECTION("an image that is not there leaves the others as they are") {
    gpu.content.words[0] = bits(5);
    run_again(&gpu);
    CHECK(told.front() == 0);
    CHECK(std::ranges::count(log, "overwrite 12 with 2 from 6") == 0);
  }
  SECTION("nobody keeps a record") {
    gpu.keeps_record = false;
    run_again(&gpu);
    CHECK(told.front() == -1);
  }
  SECTION("on the CPU nothing is asked after convolve, and epilog counts") {
    const PhaseTimes times = run_again(nullptr);
    CHECK(log == Log{"prolog", "pause", "pause", "pause", "convolve", "epilog"});
    CHECK(told.size() == 3);
    CHECK(times.samples.size() == 1);
  }
}

TEST_CASE("ladder: a listed stage gets its place, another one goes to the end") {
  const Stage half = ladder_stage("half", "Your halves");
  CHECK(half.title == "Your halves");
  CHECK(half.baseline == "restrict-unroll");
  CHECK(half.precision == Precision::kFp16Sums);
  CHECK(half.needs.major == 7);
  const Stage own = ladder_stage("my-idea", "Mine");
  CHECK(own.baseline.empty());
  CHECK(own.precision == Precision::kFp32);
  CHECK(own.order > ladder_stage("cudnn", "the last").order);
}
