#include "common/milestone/milestone_main.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "common/data/dataset.hpp"
#include "common/data/resize.hpp"
#include "common/error/error.hpp"
#include "common/milestone/arguments.hpp"
#include "common/milestone/crash_message.hpp"
#include "common/milestone/result.hpp"
#include "common/milestone/run_stage.hpp"
#include "common/milestone/serve.hpp"
#include "common/milestone/stage.hpp"
#include "common/network/network.hpp"
#include "common/timing/process_usage.hpp"
#include "common/timing/statistics.hpp"

namespace convlab {

namespace {

struct Options {
  std::string batch = std::to_string(kMaxBatch);
  std::string network = kDefaultPreset;
  std::string stage;
  std::string solution;
  std::string json;
  int repeats = 1;
  bool all = false;
  bool list = false;
  std::optional<int> serve_channel;
};

std::string examples(const std::string& id) {
  const std::string program = "build/bin/" + id;
  return "Examples:\n"
         "  " +
         program +
         " 100                 100 test images\n"
         "  " +
         program +
         " 1000 --repeats 10   ten samples of each op time\n"
         "  " +
         program +
         " --list              the stages of this milestone\n"
         "  " +
         program + " 1000 --all --json build/" + id +
         ".json\n\n"
         "Exit codes: 0 it ran, 1 the work falls short, 2 usage, 3 the environment is at fault.\n"
         "Whether the result is right, and not only fast, says: build/bin/grader check " +
         id;
}

void declare(CLI::App& app, Options& options) {
  app.add_option("BATCH", options.batch, "Images to classify, 1 to 10000")->capture_default_str();
  app.add_option("--network", options.network, "Network preset, or a preset file (.json)")
      ->capture_default_str();
  auto* stage = app.add_option("--stage", options.stage, "Run this stage (default: the first)");
  app.add_flag("--all", options.all, "Run every stage, one after the other")->excludes(stage);
  app.add_flag("--list", options.list, "List the stages and stop");
  app.add_option("--repeats", options.repeats, "Samples of each op time; the median is shown")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--json", options.json, "Also write all samples to this file");
  app.add_option("--solution", options.solution, "Whose stages to run: student or reference")
      ->check(CLI::IsMember({"student", "reference"}));
  app.add_option("--serve", options.serve_channel)->group("");  // the grader's end of a channel
}

// The other solution lives in an executable of its own, so that a student's program never links an
// answer: replaces this process by it. Does not return.
[[noreturn]] void become(const std::string& solution, const Milestone& milestone, char** argv) {
  const std::string name = milestone.id + (solution == "reference" ? "-reference" : "");
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  const std::filesystem::path sibling = self.parent_path() / name;
  execv(sibling.c_str(), argv);
  throw EnvironmentError("There is no " + sibling.string() + " to run the " + solution +
                         " solution with; a hand-out has no reference solutions, a full checkout "
                         "builds them (cmake --build --preset lab).");
}

void list_stages() {
  for (const Stage& stage : registered_stages()) {
    std::printf("%-16s %-5s %s\n", stage.id.c_str(), to_string(stage.precision),
                stage.title.c_str());
  }
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

RunResult run(const Milestone& milestone, const Stage& stage, const Network& network,
              const Dataset& dataset, const std::vector<float>& images, int batch, int repeats) {
  RunResult result{.network = network.preset().name,
                   .batch = batch,
                   .stage = info_of(stage),
                   .device = Device::kCpu,
                   .layers = {},
                   .total = {},
                   .accuracy = {},
                   .verdict = Verdict::kMeasured};
  std::string place;
  const ConvRunner convolve = [&](int index, const ConvShape& shape, const float* input,
                                  const float* weights, float* output) {
    std::printf("%s\n", milestone.on_gpu ? "Conv-GPU==" : "Conv-CPU==");
    std::fflush(stdout);
    place = "in stage '" + stage.id + "', convolution " + std::to_string(index + 1) + " (" +
            to_string(shape) + ")";
    set_crash_place(place.c_str());
    LayerResult& layer = result.layers.emplace_back();
    layer.shape = shape;
    for (int repeat = 0; repeat < repeats; ++repeat) {
      const PhaseTimes times = run_stage(stage, shape, input, weights, output);
      layer.op_ms.push_back(times.op_ms);
      layer.layer_ms.push_back(times.layer_ms);
    }
    set_crash_place("after the convolution");
    if (milestone.on_gpu) print_times("Layer Time", layer.layer_ms);
    print_times("Op Time", layer.op_ms);
  };
  const std::vector<int> classes =
      argmax(network.forward(images, batch, convolve), network.preset().classes);
  AccuracyResult accuracy{.correct = 0, .total = batch, .expected = {}, .undecided = 0};
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] == dataset.labels[i]) ++accuracy.correct;
  }
  std::printf("\nTest Accuracy: %g\n", static_cast<double>(accuracy.correct) / batch);
  result.accuracy = accuracy;
  const ProcessUsage usage = process_usage();
  result.total = TotalExecution{.user_s = usage.user_s,
                                .system_s = usage.system_s,
                                .elapsed_s = usage.elapsed_s,
                                .peak_memory_mib = usage.peak_memory_mib};
  return result;
}

std::vector<Stage> chosen_stages(const Options& options) {
  std::vector<Stage> stages = registered_stages();
  if (!options.stage.empty()) return {find_stage(options.stage)};
  if (!options.all) stages.resize(1);
  return stages;
}

// "What...Done", or "What...failed" before the error itself is told.
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

void run_all(const Milestone& milestone, const Options& options) {
  const int batch = parse_batch(options.batch);
  const std::vector<Stage> stages = chosen_stages(options);
  const Preset preset = load_preset(options.network);

  std::printf("Test batch size: %d\n", batch);
  const auto [dataset, images] = announced("Loading fashion-mnist data", [&] {
    Dataset loaded = load_dataset(Split::kTest);
    std::vector<float> resized = resize_images(loaded, batch, preset.image_size);
    return std::pair(std::move(loaded), std::move(resized));
  });
  const Network network = announced("Loading model", [&] { return load_network(options.network); });

  Result result{.program = milestone.id,
                .milestone = milestone.id,
                .solution = milestone.solution,
                .created = utc_now(),
                .machine = describe_machine(),
                .cases = {},
                .runs = {},
                .findings = {},
                .references = {},
                .verdict = Verdict::kMeasured};
  for (const Stage& stage : stages) {
    if (options.all) std::printf("\nStage %s: %s\n", stage.id.c_str(), stage.title.c_str());
    result.runs.push_back(run(milestone, stage, network, dataset, images, batch, options.repeats));
  }
  if (!options.json.empty()) write_result(options.json, result);
}

}  // namespace

int milestone_main(const Milestone& milestone, int argc, char** argv) {
  Options options;
  CLI::App app("ConvLab milestone " + milestone.id +
                   ": classifies Fashion-MNIST images with your convolution and times it.",
               milestone.id);
  app.footer(examples(milestone.id));
  declare(app, options);
  try {
    // CLI11 would take a negative batch for an option.
    for (int i = 1; i < argc; ++i) {
      if (argv[i][0] == '-' && argv[i][1] >= '0' && argv[i][1] <= '9') parse_batch(argv[i]);
    }
    app.parse(argc, argv);
    if (!options.solution.empty() && options.solution != milestone.solution) {
      become(options.solution, milestone, argv);
    }
    if (options.serve_channel) return serve(*options.serve_channel);
    explain_crashes();
    if (options.list) {
      list_stages();
    } else {
      run_all(milestone, options);
    }
    return static_cast<int>(ExitCode::kPassed);
  } catch (const CLI::CallForHelp& help) {
    std::cout << app.help() << "\n";
    return static_cast<int>(ExitCode::kPassed);
  } catch (const CLI::ParseError& error) {
    std::cerr << milestone.id << ": " << error.what() << "\nSee " << milestone.id << " --help.\n";
    return static_cast<int>(ExitCode::kUsage);
  } catch (const Error& error) {
    std::fflush(stdout);
    std::cerr << milestone.id << ": " << error.what() << "\n";
    return static_cast<int>(error.exit_code());
  } catch (const std::bad_alloc&) {
    std::cerr << milestone.id << ": There is not enough memory for a batch of " << options.batch
              << "; take a smaller one.\n";
    return static_cast<int>(ExitCode::kEnvironment);
  }
}

}  // namespace convlab
