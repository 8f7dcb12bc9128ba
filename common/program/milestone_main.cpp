#include "common/program/milestone_main.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/error.hpp"
#include "common/base/process_usage.hpp"
#include "common/base/run_program.hpp"
#include "common/base/whole_file.hpp"
#include "common/custom_submission/build_custom_submission.hpp"
#include "common/data/dataset.hpp"
#include "common/device/device_session.hpp"
#include "common/network/network.hpp"
#include "common/program/arguments.hpp"
#include "common/result/result.hpp"
#include "common/serve/serve.hpp"
#include "common/stage/run_stage.hpp"
#include "common/stage/stage.hpp"
#include "common/timing/statistics.hpp"
#include "common/timing/three_digits.hpp"

namespace convlab {

namespace {

namespace fs = std::filesystem;

struct Options {
  int batch = 0;  // 0: as many as the device can bear
  std::string network = kDefaultPreset;
  std::string stage{};
  std::string solution{};
  std::string json{};
  std::string device = "auto";
  std::string launcher = "local";
  int repeats = 1;
  bool profile = false;
  bool all = false;
  bool list = false;
  std::optional<int> serve_channel{};
};

void declare(CLI::App& app, const Milestone& milestone, Options& options) {
  const bool on_device = milestone.device != Device::kCpu;
  const std::string program = "  build/bin/" + milestone.id;
  app.footer("Examples:\n" + program + " 100                 100 test images\n" + program +
             " 1000 --repeats 10   ten samples of each op time\n" + program +
             " 1000 --all --json build/" + milestone.id + ".json\n" +
             (on_device ? program + " 100 --device emulated\n" + program +
                              " 1000 --profile      where the time goes, for your report\n"
                        : "") +
             "\nExit codes: 0 it ran, 1 the work falls short, 2 usage, 3 the environment is at "
             "fault.\nTo check that the result is right: build/bin/grader check " +
             milestone.id);
  app.add_option("BATCH", options.batch, "Images to classify (default: 10000; emulated 100)")
      ->check(CLI::Range(1, kMaxBatch));
  app.add_option("--network", options.network, "Network preset, or a preset file (.json)")
      ->capture_default_str();
  auto* stage = app.add_option("--stage", options.stage, "Run this stage (default: the first)");
  app.add_flag("--all", options.all, "Run every stage, one after the other")->excludes(stage);
  app.add_flag("--list", options.list, "List the stages and stop");
  options.repeats = on_device ? 10 : 1;
  app.add_option("--repeats", options.repeats, "Samples of each op time; the median is shown")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  if (on_device) {
    app.add_option("--device", options.device,
                   "gpu, emulated (on the CPU), or auto: a GPU if one answers")
        ->check(CLI::IsMember({"auto", "gpu", "emulated"}))
        ->capture_default_str();
    app.add_flag("--profile", options.profile,
                 "Also show kernels, CUDA calls and copies by their share of the time");
  }
  app.add_option("--json", options.json, "Also write all samples to this file");
  app.add_option("--launcher", options.launcher,
                 "local, or slurm: as a job on a machine of the cluster with a GPU")
      ->check(CLI::IsMember({"local", "slurm"}))
      ->capture_default_str();
  app.add_option("--solution", options.solution,
                 std::string("Stages to run: student, reference, or a file with the course's ") +
                     (on_device ? "GPUInterface" : "conv_forward_cpu"));
  app.add_option("--serve", options.serve_channel)->group("");  // the grader's end of a channel
}

const fs::path kSelf = "/proc/self/exe";

/// An executable beside the running one: "m2", "m2-emulated", "m2-reference", … Each solution has
/// its own, so that a student's program never links an answer.
fs::path program_of(const Milestone& milestone, const std::string& solution, Device device) {
  return fs::read_symlink(kSelf).parent_path() /
         (milestone.id + (solution == "reference" ? "-reference" : "") +
          (device == Device::kEmulated ? "-emulated" : ""));
}

/// Replaces this process. @throws EnvironmentError if there is no such program
[[noreturn]] void become(const fs::path& program, char** argv) {
  execv(program.c_str(), argv);
  throw EnvironmentError("There is no program " + program.string() +
                         "; to build it: cmake --build --preset lab --target " +
                         program.filename().string() +
                         ". A hand-out has no reference solutions, only a full checkout has them.");
}

/// Arguments for execv, without an option and its value.
std::vector<char*> arguments_without(char** argv, const std::string& option) {
  std::vector<char*> arguments;
  for (; *argv != nullptr; ++argv) {
    if (*argv == option && argv[1] != nullptr) {
      ++argv;  // and its value
    } else if (!std::string(*argv).starts_with(option + "=")) {
      arguments.push_back(*argv);
    }
  }
  arguments.push_back(nullptr);
  return arguments;
}

/// Replaces this process by `grader job`, which runs this program with the same arguments as a
/// Slurm job.
[[noreturn]] void become_slurm_job(const Milestone& milestone, char** argv) {
  // Not this executable: the job's machine may have the GPU that this one lacks.
  const Device device = milestone.device == Device::kCpu ? Device::kCpu : Device::kGpu;
  std::string program = program_of(milestone, milestone.solution, device).string();
  std::string grader = "grader";
  std::string job = "job";
  std::vector<char*> words = arguments_without(argv, "--launcher");
  words.front() = program.data();
  words.insert(words.begin(), {grader.data(), job.data()});
  become(fs::path(program).replace_filename(grader), words.data());
}

void list_stages() {
  std::printf("%-25s  %-14s  title\n", "stage", "as exact as");
  for (const Stage& stage : registered_stages()) {
    std::printf("%-25s  %-14s  %s\n", stage.id.c_str(), to_string(stage.precision),
                stage.title.c_str());
  }
  for (const auto& [id, reason] : stages_left_out()) {
    std::printf("%-25s  left out: %s\n", id.c_str(), reason.c_str());
  }
}

// The device that --device asks for; null for stages on the CPU. If it needs another executable,
// that one replaces this process.
std::unique_ptr<DeviceSession> open_device(const Milestone& milestone, const Options& options,
                                           char** argv) {
  if (milestone.device == Device::kCpu) return nullptr;
  const auto program = [&](Device device) {
    return program_of(milestone, milestone.solution, device);
  };
  if (milestone.device == Device::kEmulated) {
    if (options.device != "gpu") return milestone.open_device();
    // Without a CUDA Toolkit "m2" is a link to "m2-emulated".
    const fs::path for_gpu = program(Device::kGpu);
    if (fs::exists(for_gpu) && !fs::equivalent(for_gpu, kSelf)) become(for_gpu, argv);
    throw EnvironmentError(
        "No GPU answers on this machine; leave the option out, or say --device emulated. If there "
        "is one, install a CUDA Toolkit and configure again (cmake --preset lab).");
  }
  try {
    if (options.device != "emulated") return milestone.open_device();
  } catch (const DeviceError& error) {
    if (options.device == "gpu") throw;
    if (options.serve_channel) {
      setenv(kNoGpuVariable, error.what(), 1);
    } else {
      std::cerr << error.what() << " Emulating on the CPU.\n";
    }
  }
  become(program(Device::kEmulated), argv);
}

// Compiles the file of --solution and replaces this process by the program, with the other
// arguments.
[[noreturn]] void run_custom_submission(const Milestone& milestone, const Options& options,
                                        char** argv) {
  const std::unique_ptr<DeviceSession> device = open_device(milestone, options, argv);
  const fs::path program = build_custom_submission(
      {.build = fs::read_symlink(kSelf).parent_path().parent_path(),
       .device = milestone.device,
       .capability = device ? device->info().capability : ComputeCapability{}},
      options.solution);
  become(program, arguments_without(argv, "--solution").data());
}

void print_times(const char* label, const std::vector<double>& samples) {
  const Spread spread = spread_of(samples);
  std::printf("%s: %g ms", label, spread.median);
  if (samples.size() > 1) {
    std::printf(" (median of %zu, middle half %g to %g)", samples.size(), spread.lower_quartile,
                spread.upper_quartile);
  }
  std::printf("\n");
}

// Runs one convolution and prints its times.
LayerResult run_layer(const Stage& stage, DeviceSession* device, const Options& options,
                      const ConvShape& shape, const float* input, const float* weights,
                      float* output) {
  std::printf("%s\n", device == nullptr ? "Conv-CPU==" : "Conv-GPU==");
  std::fflush(stdout);
  const bool on_gpu = device != nullptr && device->info().device == Device::kGpu;
  const PhaseTimes times = run_stage(stage, shape, input, weights, output,
                                     {.device = device,
                                      .warm_ups = on_gpu && !options.profile ? 1 : 0,
                                      .samples = options.profile ? 1 : options.repeats});
  LayerResult layer{.shape = shape};
  if (times.samples.empty()) {
    std::printf("Layer Time: not measured (emulated)\nOp Time: not measured (emulated)\n");
    return layer;
  }
  for (const OpSample& sample : times.samples) layer.op_ms.push_back(sample.score_ms());
  if (on_gpu) layer.samples = times.samples;
  layer.layer_ms = {times.layer_ms};
  if (device != nullptr) print_times("Layer Time", layer.layer_ms);
  print_times("Op Time", layer.op_ms);
  return layer;
}

RunResult run(const Stage& stage, DeviceSession* device, const Options& options,
              const Network& network, const std::vector<float>& pixels,
              const std::vector<std::uint8_t>& labels) {
  RunResult result{.network = network.preset().name,
                   .batch = options.batch,
                   .stage = info_of(stage),
                   .device = device == nullptr ? Device::kCpu : device->info().device};
  const std::vector<float> logits = network.forward(
      pixels, options.batch,
      [&](int /*index*/, const ConvShape& shape, const float* input, const float* weights,
          float* output) {
        result.layers.push_back(run_layer(stage, device, options, shape, input, weights, output));
      });
  const std::vector<int> classes = argmax(logits, network.preset().classes);
  AccuracyResult accuracy{.total = options.batch};
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] == labels[i]) ++accuracy.correct;
  }
  std::printf("\nTest Accuracy: %g\n", static_cast<double>(accuracy.correct) / options.batch);
  result.accuracy = accuracy;
  result.total = process_usage();
  return result;
}

// Prints the context of the times: the GPU, and what the times leave out.
void describe_gpu(DeviceSession& device, Result& result) {
  const MeasuredDevice measured = device.measure();
  add_device(result, measured);
  const DeviceInfo& info = measured.info;
  std::printf("\n%s, compute capability %s, up to %d MHz, driver for CUDA %s, built with CUDA %s\n",
              info.name.c_str(), to_string(info.capability).c_str(), info.clock_mhz,
              info.driver.c_str(), info.runtime.c_str());
  std::printf(
      "Not in these times: %g ms to start the GPU.\n"
      "An empty kernel takes %g ms by the same clock.\n",
      measured.start_up_ms, measured.empty_launch_ms);
  for (const ReferenceLine& line : result.references) {
    std::string sum;
    for (const double ms : line.op_ms) sum += (sum.empty() ? "" : " + ") + three_digits(ms);
    std::printf("The %s is %s ms.\n", line.label.c_str(), sum.c_str());
  }
}

// Prints "What...Done", or "What...failed" before the error.
template <class Work>
auto announced(const char* what, Work work) {
  std::printf("%s...", what);
  std::fflush(stdout);
  try {
    auto result = work();
    std::printf("Done\n");
    return result;
  } catch (...) {
    std::printf("failed\n");
    throw;
  }
}

void run_all(const Milestone& milestone, DeviceSession* device, const Options& options) {
  std::vector<Stage> stages = registered_stages();
  if (!options.all) stages = {options.stage.empty() ? stages.front() : find_stage(options.stage)};
  if (!options.json.empty()) require_writable(options.json);

  const Preset preset = load_preset(options.network);
  std::printf("Test batch size: %d\n", options.batch);
  const Dataset dataset =
      announced("Loading fashion-mnist data", [] { return load_dataset(Split::kTest); });
  const std::vector<float> pixels = resize_images(dataset, options.batch, preset.image_size);
  const Network network = announced("Loading model", [&] { return load_network(options.network); });

  Result result{.program = milestone.id,
                .milestone = milestone.id,
                .solution = milestone.solution,
                .created = utc_now(),
                .machine = describe_machine(),
                .runs = {},
                .references = {},
                .verdict = Verdict::kMeasured};
  for (const Stage& stage : stages) {
    if (options.all) std::printf("\nStage %s: %s\n", stage.id.c_str(), stage.title.c_str());
    if (!stage.only_for.empty() && stage.only_for != preset.name) {
      const std::string why = "it supports the layers of network " + stage.only_for + " only";
      if (!options.all) {
        throw UsageError("Stage '" + stage.id + "' cannot run: " + why + ".");
      }
      std::printf("Left out: %s.\n", why.c_str());
      continue;
    }
    if (options.profile) device->start_profile();
    result.runs.push_back(run(stage, device, options, network, pixels, dataset.labels));
    if (options.profile) std::printf("\n%s", profile_text(device->stop_profile()).c_str());
  }
  if (device != nullptr && device->info().device == Device::kGpu) describe_gpu(*device, result);
  if (!options.json.empty()) write_result(options.json, result);
}

ExitCode run(const Milestone& milestone, Options options, char** argv) {
  const std::string& solution = options.solution;
  if (options.launcher == "slurm") become_slurm_job(milestone, argv);
  if (!solution.empty() && solution != milestone.solution) {
    if (solution != "student" && solution != "reference") {
      run_custom_submission(milestone, options, argv);
    }
    become(program_of(milestone, solution, milestone.device), argv);
  }
  if (options.list) {
    list_stages();
    return ExitCode::kPassed;
  }
  if (options.serve_channel) {
    return serve(*options.serve_channel, open_device(milestone, options, argv).get());
  }
  if (options.batch == 0 && milestone.device == Device::kEmulated) {
    options.batch = 100;
    std::printf("No batch was named, so this emulates 100 images; 10000 take minutes.\n");
  }
  if (options.batch == 0) options.batch = kMaxBatch;
  run_all(milestone, open_device(milestone, options, argv).get(), options);
  return ExitCode::kPassed;
}

}  // namespace

int milestone_main(const Milestone& milestone, int argc, char** argv) {
  Options options;
  CLI::App app("ConvLab milestone " + milestone.id +
                   ": classifies Fashion-MNIST images with your convolution and times it.",
               milestone.id);
  declare(app, milestone, options);
  return run_program(app, argc, argv, [&] { return run(milestone, options, argv); });
}

}  // namespace convlab
