#include "common/program/milestone_main.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/error.hpp"
#include "common/base/fault_record.hpp"
#include "common/base/process_usage.hpp"
#include "common/base/run_program.hpp"
#include "common/base/whole_file.hpp"
#include "common/custom_submission/build_custom_submission.hpp"
#include "common/data/dataset.hpp"
#include "common/device/device_session.hpp"
#include "common/device/gpu_driver.hpp"
#include "common/network/network.hpp"
#include "common/program/arguments.hpp"
#include "common/program/this_process.hpp"
#include "common/result/result.hpp"
#include "common/serve/fault_messages.hpp"
#include "common/serve/finding_texts.hpp"
#include "common/serve/serve.hpp"
#include "common/stage/run_stage.hpp"
#include "common/stage/stage.hpp"
#include "common/timing/statistics.hpp"
#include "common/timing/three_digits.hpp"

namespace convlab {

namespace {

struct Options {
  int batch = 0;  // 0: as many as the device can bear
  std::string network = kDefaultPreset;
  std::string stage;
  std::string solution;
  std::string json;
  std::string device = "auto";
  std::string launcher = "local";
  int repeats = 0;
  bool profile = false;
  bool competition = false;
  bool all = false;
  bool list = false;
  std::optional<int> serve_channel;
  std::string no_gpu;
};

std::string examples(const Milestone& milestone) {
  const std::string program = "  build/bin/" + milestone.id;
  std::string text = "Examples:\n" + program + " 100                 100 test images\n" + program +
                     " 1000 --repeats 10   ten samples of each op time\n" + program +
                     " --list              the stages of this milestone\n";
  if (milestone.device != Device::kCpu) {
    text += program + " 100 --device emulated\n" +
            "                                   on the CPU, even if there is a GPU\n" + program +
            " 1000 --profile      where the time goes, for your report\n";
  }
  return text + program + " 1000 --all --json build/" + milestone.id +
         ".json\n\n"
         "Exit codes: 0 it ran, 1 the work falls short, 2 usage, 3 the environment is at fault.\n"
         "To check that the result is right: build/bin/grader check " +
         milestone.id;
}

void declare(CLI::App& app, const Milestone& milestone, Options& options) {
  const bool on_device = milestone.device != Device::kCpu;
  options.repeats = on_device ? 10 : 1;
  app.add_option("BATCH", options.batch,
                 on_device ? "Images to classify (default: 10000; emulated 100)"
                           : "Images to classify (default: 10000)")
      ->check(CLI::Range(1, kMaxBatch));
  app.add_option("--network", options.network, "Network preset, or a preset file (.json)")
      ->capture_default_str();
  auto* stage = app.add_option("--stage", options.stage, "Run this stage (default: the first)");
  app.add_flag("--all", options.all, "Run every stage, one after the other")->excludes(stage);
  app.add_flag("--list", options.list, "List the stages and stop");
  app.add_option("--repeats", options.repeats, "Samples of each op time; the median is shown")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  if (on_device) {
    app.add_option("--device", options.device,
                   "gpu, emulated (on the CPU), or auto: a GPU if one answers")
        ->check(CLI::IsMember({"auto", "gpu", "emulated"}))
        ->capture_default_str();
    app.add_flag("--competition", options.competition,
                 "Time as the course ranks files: 10 calls on the same buffers after 5, by the "
                 "host's clock; docs/timing.md says what that leaves open");
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
  // Not in the environment, which a submission may not change.
  app.add_option("--no-gpu", options.no_gpu, "Why this program replaces one for a GPU")->group("");
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
  const auto become = [&](Device device) {
    become_program(program_name(milestone.id, milestone.solution, device), argv);
  };
  if (milestone.device == Device::kEmulated) {
    if (options.device == "gpu") {
      if (has_program(program_name(milestone.id, milestone.solution, Device::kGpu))) {
        become(Device::kGpu);
      }
      const auto gpu = answering_gpu();
      if (!gpu) {
        throw EnvironmentError(
            "No GPU answers on this machine; leave the option out, or say --device emulated.");
      }
      throw EnvironmentError(*gpu +
                             " answers, but this build has no programs for a GPU; install a CUDA "
                             "Toolkit and configure again (cmake --preset lab), or say --device "
                             "emulated.");
    }
    return milestone.open_device();
  }
  if (options.device == "emulated") become(Device::kEmulated);
  try {
    return milestone.open_device();
  } catch (const DeviceError& error) {
    if (options.device == "gpu") throw;
    if (options.serve_channel) {
      std::string reason = std::string("--no-gpu=") + error.what();
      std::vector<char*> arguments = arguments_without(argv, "--no-gpu");
      arguments.insert(arguments.end() - 1, reason.data());
      become_program(program_name(milestone.id, milestone.solution, Device::kEmulated),
                     arguments.data());
    }
    std::cerr << error.what() << " Emulating on the CPU.\n";
  }
  become(Device::kEmulated);
  return nullptr;
}

bool is_file(const std::string& solution) {
  return solution != "student" && solution != "reference";
}

// Compiles the file of --solution and replaces this process by the program, with the other
// arguments.
[[noreturn]] void run_custom_submission(const Milestone& milestone, const Options& options,
                                        char** argv) {
  const std::unique_ptr<DeviceSession> device = open_device(milestone, options, argv);
  const auto build = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
  const std::filesystem::path program = build_custom_submission(
      {.build = build,
       .device = milestone.device,
       .capability = device ? device->info().capability : ComputeCapability{}},
      options.solution);
  std::vector<char*> arguments = arguments_without(argv, "--solution");
  execv(program.c_str(), arguments.data());
  throw EnvironmentError("The program " + program.string() + " cannot be run.");
}

void print_times(const char* label, const std::vector<double>& samples) {
  const Spread spread = spread_of(samples);
  if (samples.size() == 1) {
    std::printf("%s: %g ms\n", label, spread.median);
  } else {
    std::printf("%s: %g ms (median of %zu, middle half %g to %g)\n", label, spread.median,
                samples.size(), spread.lower_quartile, spread.upper_quartile);
  }
}

// Runs one convolution and prints its times.
LayerResult run_layer(const Stage& stage, DeviceSession* device, const Options& options,
                      const ConvShape& shape, const float* input, const float* weights,
                      float* output) {
  std::printf("%s\n", device == nullptr ? "Conv-CPU==" : "Conv-GPU==");
  std::fflush(stdout);
  const bool on_gpu = device != nullptr && device->info().device == Device::kGpu;
  RunPlan plan{.device = device,
               .warm_ups = on_gpu && !options.profile ? 1 : 0,
               .samples = options.profile ? 1 : options.repeats};
  if (constexpr RankedRun kRanked; options.competition) {
    plan.warm_ups = kRanked.warm_ups, plan.samples = kRanked.calls, plan.most_ms = kRanked.most_ms;
  }
  const PhaseTimes times = run_stage(stage, shape, input, weights, output, plan);

  LayerResult layer{.shape = shape};
  for (const OpSample& sample : times.samples) layer.op_ms.push_back(sample.score_ms());
  if (on_gpu) layer.samples = times.samples;
  if (times.samples.empty()) {
    std::printf("Layer Time: not measured (emulated)\nOp Time: not measured (emulated)\n");
    return layer;
  }
  layer.layer_ms = {times.layer_ms};
  if (device != nullptr) print_times("Layer Time", layer.layer_ms);
  if (options.competition) {
    std::printf("Op Time: %g ms (ranked run)\n", times.op_ms);
    layer.op_ms = {times.op_ms};
    return layer;
  }
  print_times("Op Time", layer.op_ms);
  return layer;
}

// An emulated device's fault, in the words of the grader; empty on a GPU. Only the milestone's own
// files are searched for the line: m2 and m3 have a conv_forward.cu each.
std::string words_for(const ConvShape& shape, const Milestone& milestone) {
  const auto noted = take_noted_fault();
  if (!noted) return {};
  std::vector<std::filesystem::path> sources;
  std::error_code none;
  const auto root = network_folder().parent_path().parent_path() /
                    (milestone.solution == "reference" ? "reference/solutions" : "milestones");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root, none)) {
    const std::string place = entry.path().lexically_relative(root).string();
    const bool is_own = place.starts_with(milestone.id + "_");
    if (is_own && entry.path().extension() == ".cu") sources.push_back(entry.path());
  }
  Finding message = message_of(*noted, shape, SourceText(sources));
  if (message.id.empty()) return {};
  address(message, milestone.id, SourceText(sources));
  return message.id + "\n" + message.seen.text() +
         (message.cause.empty() ? "" : "\n" + message.cause) +
         (message.next.empty() ? "" : "\n" + message.next);
}

RunResult run(const Milestone& milestone, const Stage& stage, DeviceSession* device,
              const Options& options, const Network& network, const Dataset& dataset,
              const Buffer& images, int batch) {
  RunResult result{.network = network.preset().name,
                   .batch = batch,
                   .stage = info_of(stage),
                   .device = device == nullptr ? Device::kCpu : device->info().device};
  std::string place;
  const ConvRunner convolve = [&](int index, const ConvShape& shape, const float* input,
                                  const float* weights, float* output) {
    place = "in stage '" + stage.id + "', convolution " + std::to_string(index + 1) + " (" +
            to_string(shape) + ")";
    set_crash_place(place.c_str());
    try {
      result.layers.push_back(run_layer(stage, device, options, shape, input, weights, output));
    } catch (const DeviceError& error) {
      if (const std::string words = words_for(shape, milestone); !words.empty()) {
        throw Error(error.exit_code(), "Convolution " + std::to_string(index + 1) + " (" +
                                           to_string(shape) + "): " + words);
      }
      throw;
    }
    set_crash_place("after the convolution");
  };
  const std::vector<int> classes =
      argmax(network.forward(images, batch, convolve), network.preset().classes);
  AccuracyResult accuracy{.total = batch};
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] == dataset.labels[i]) ++accuracy.correct;
  }
  std::printf("\nTest Accuracy: %g\n", static_cast<double>(accuracy.correct) / batch);
  result.accuracy = accuracy;
  result.total = process_usage();
  return result;
}

// "0.308 + 0.232"
std::string sum_text(const std::vector<double>& summands) {
  std::string text;
  for (const double summand : summands) text += (text.empty() ? "" : " + ") + three_digits(summand);
  return text;
}

// Prints the context of the times: the GPU, and what the times leave out.
void describe_gpu(DeviceSession& device, Result& result) {
  const MeasuredDevice measured = device.measure();
  add_device(result, measured);
  const DeviceInfo& info = measured.info;
  int slowed = 0;
  int samples = 0;
  for (const RunResult& run : result.runs) {
    for (const LayerResult& layer : run.layers) {
      for (const OpSample& sample : layer.samples) slowed += sample.slowed ? 1 : 0;
      samples += static_cast<int>(layer.samples.size());
    }
  }
  std::printf("\n%s, compute capability %s, up to %d MHz, driver for CUDA %s, built with CUDA %s\n",
              info.name.c_str(), to_string(info.capability).c_str(), info.clock_mhz,
              info.driver.c_str(), info.runtime.c_str());
  std::printf("Not in these times: %g ms to start the GPU.\n", measured.start_up_ms);
  std::printf("An empty kernel takes %g ms by the same clock.\n", measured.empty_launch_ms);
  for (const ReferenceLine& line : result.references) {
    std::printf("The %s is %s ms.\n", line.label.c_str(), sum_text(line.op_ms).c_str());
  }
  if (slowed > 0) {
    std::printf("%d of %d samples ran at a lower clock than the others: the GPU was hot or busy.\n",
                slowed, samples);
  }
}

std::vector<Stage> chosen_stages(const Options& options) {
  std::vector<Stage> stages = registered_stages();
  if (!options.stage.empty()) return {find_stage(options.stage)};
  if (!options.all) stages.resize(1);
  return stages;
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

using Images = std::pair<Dataset, Buffer>;

Images load_images(int batch, const Preset& preset) {
  Dataset loaded = load_dataset(Split::kTest);
  Buffer resized = resize_images(loaded, batch, preset.image_size);
  return {std::move(loaded), std::move(resized)};
}

void run_all(const Milestone& milestone, DeviceSession* device, const Options& options,
             const Preset& preset, int batch, std::future<Images> loading) {
  const std::vector<Stage> stages = chosen_stages(options);
  if (!options.json.empty()) require_writable(options.json);

  std::printf("Test batch size: %d\n", batch);
  const auto [dataset, images] =
      announced("Loading fashion-mnist data", [&] { return loading.get(); });
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
      if (!options.all) {
        throw UsageError("Stage '" + stage.id + "' supports the layers of network " +
                         stage.only_for + " only; run it with --network " + stage.only_for + ".");
      }
      std::printf("Left out: it supports the layers of network %s only.\n", stage.only_for.c_str());
      continue;
    }
    if (device != nullptr && options.profile) device->start_profile();
    result.runs.push_back(run(milestone, stage, device, options, network, dataset, images, batch));
    if (device != nullptr && options.profile) {
      std::printf("\n%s", profile_text(device->stop_profile()).c_str());
    }
  }
  if (device != nullptr && device->info().device == Device::kGpu) {
    describe_gpu(*device, result);
  }
  if (!options.json.empty()) write_result(options.json, result);
}

ExitCode run(const Milestone& milestone, const Options& options, char** argv) {
  if (options.launcher == "slurm") {
    // Not this executable: the job's machine may have the GPU that this one lacks.
    const Device device = milestone.device == Device::kCpu ? Device::kCpu : Device::kGpu;
    become_slurm_job(program_name(milestone.id, milestone.solution, device), argv);
  }
  if (!options.solution.empty() && is_file(options.solution)) {
    run_custom_submission(milestone, options, argv);
  }
  if (!options.solution.empty() && options.solution != milestone.solution) {
    become_program(program_name(milestone.id, options.solution, milestone.device), argv);
  }
  if (options.list) {
    list_stages();
    return ExitCode::kPassed;
  }
  if (options.serve_channel) {
    return serve(*options.serve_channel, open_device(milestone, options, argv).get(),
                 options.no_gpu);
  }
  int batch = options.batch;
  if (batch == 0) {
    const bool emulated = milestone.device == Device::kEmulated;
    batch = emulated ? 100 : kMaxBatch;
    if (emulated) {
      std::printf("No batch was named, so this emulates %d images; 10000 take minutes.\n", batch);
    }
  }
  const Preset preset = load_preset(options.network);
  // A GPU needs as long to start as the images to load, so both happen at the same time.
  const auto when = milestone.device == Device::kGpu ? std::launch::async : std::launch::deferred;
  std::future<Images> loading = std::async(when, [&] { return load_images(batch, preset); });
  const std::unique_ptr<DeviceSession> device = open_device(milestone, options, argv);
  explain_crashes();
  run_all(milestone, device.get(), options, preset, batch, std::move(loading));
  return ExitCode::kPassed;
}

}  // namespace

int milestone_main(const Milestone& milestone, int argc, char** argv) {
  Options options;
  CLI::App app("ConvLab milestone " + milestone.id +
                   ": classifies Fashion-MNIST images with your convolution and times it.",
               milestone.id);
  app.footer(examples(milestone));
  declare(app, milestone, options);
  return run_program(app, argc, argv, [&] { return run(milestone, options, argv); });
}

}  // namespace convlab
