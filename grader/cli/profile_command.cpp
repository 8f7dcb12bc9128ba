#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <future>
#include <iostream>
#include <nlohmann/json.hpp>

#include "common/base/json_text.hpp"
#include "common/base/printable.hpp"
#include "common/base/whole_file.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/counted_stage.hpp"
#include "grader/course/course.hpp"
#include "grader/course/slurm_job.hpp"
#include "grader/measure/counters.hpp"
#include "grader/measure/estimate.hpp"
#include "grader/report/check_report.hpp"
#include "grader/report/profile/profile.hpp"
#include "grader/report/terminal.hpp"
#include "grader/submission/kernel_registers.hpp"

namespace convlab::grader::profile_command {

namespace {

namespace fs = std::filesystem;

constexpr int kEstimatedBatch = 10'000;  // the course's

struct Options : CountedOptions {
  std::string gpu;
  int registers = 0;
  fs::path output;
  bool json = false;
  std::string launcher = "local";
};

// The sums over one kernel's requests of each kind: {"global-load": {"requests": 16, …}, …}
Json requests_json(const KernelCounts& kernel) {
  Json json;
  for (const AccessNote& note : kernel.accesses) {
    Json& sum = json[note.space + "-" + access_name(note)];
    if (sum.is_null()) sum = Json::object();
    const auto add = [&](const std::string& name, std::int64_t value) {
      sum[name] = sum.value(name, std::int64_t{0}) + value;
    };
    add("requests", note.requests);
    add("lanes", note.lanes);
    add(parts_name(note.space), note.parts);
    add("conflicts", note.conflicts);
  }
  return json;
}

std::vector<Estimate> estimates_of(const std::vector<KernelWork>& work, Precision precision,
                                   const std::string& gpu) {
  std::vector<Estimate> estimates;
  for (const Gpu& each : gpu.empty() ? published_gpus() : std::vector{find_gpu(gpu)}) {
    estimates.push_back(estimate(work, precision, each, estimate_model(), kEstimatedBatch));
  }
  return estimates;
}

nlohmann::ordered_json products_json(const KernelCounts& kernel) {
  nlohmann::ordered_json json = nlohmann::json::object();
  for (const ProductNote& note : kernel.products) {
    json[note.kind] = json.value(note.kind, std::int64_t{0}) + note.multiply_adds;
  }
  return json;
}

void print_json(const StageCounts& counts, const SourceText& sources,
                const std::vector<KernelWork>& work, const std::vector<Estimate>& estimates) {
  Json json = {{"stage", counts.stage.id},
               {"precision", to_string(counts.stage.precision)},
               {"shape", to_string(counts.shape)}};
  for (const Counter& counter : counters()) {
    const double value = counter.value(counts);
    json[std::string(counter.id)] = std::isnan(value) ? Json() : Json(value);
  }
  for (const KernelCounts& kernel : kernels_of(counts, sources)) {
    json["kernels"].push_back({{"kernel", kernel.launch.kernel},
                               {"launches", kernel.launches},
                               {"grid", kernel.launch.grid},
                               {"block", kernel.launch.block},
                               {"multiply_adds", products_json(kernel)},
                               {"requests", requests_json(kernel)},
                               {"work", work[json["kernels"].size()]}});
  }
  json["estimated_batch"] = kEstimatedBatch;
  json["estimates"] = estimates;
  json["estimate_error"] = estimate_model().error;
  std::cout << json_text(json, 2) << "\n";
}

ExitCode run(const Options& options) {
  if (options.launcher == "slurm") return run_as_slurm_job(own_words_without_launcher());
  const CourseMilestone milestone = find_milestone(options.milestone);
  const CountedWork wanted = counted_work(milestone, options);
  if (!options.output.empty()) require_writable(options.output);
  if (!options.gpu.empty()) find_gpu(options.gpu);  // refused before anything is built
  // nvcc takes longer than counting.
  auto registers = std::async(std::launch::async, [&] {
    return options.registers == 0 ? kernel_registers(wanted.submitted, build_folder() / "registers")
                                  : std::map<std::string, int>{};
  });
  CountedStage stage = counted_stage(wanted);
  std::vector<std::string> launched;
  for (const DeviceLaunch& launch : stage.counts.launches) launched.push_back(launch.kernel);
  stage.counts.registers = registers_of(registers.get(), launched);
  const bool is_counted = !stage.counts.launches.empty();
  std::vector<KernelWork> work = work_of(stage.counts, stage.sources);
  for (KernelWork& kernel : work) {
    if (options.registers > 0) kernel.registers = options.registers;
  }
  const auto estimates = estimates_of(work, stage.counts.stage.precision, options.gpu);
  if (is_counted && options.json) {
    print_json(stage.counts, stage.sources, work, estimates);
  } else if (is_counted) {
    const StageInfo& info = stage.counts.stage;
    const std::string where = counted_where(stage.counts, options.network, stage.layer);
    Page page = profile_page(stage.counts, stage.sources, milestone.id + ", " + info.id, where);
    // Before the source. A puzzle's few hundred numbers say nothing of 10 000 images.
    if (!wanted.shape) {
      page.sections.insert(page.sections.end() - 1,
                           estimate_section(estimates, estimate_model(), kEstimatedBatch));
    }
    std::cout << coloured(info.id, Colour::kStrong) << "  "
              << display_path(wanted.submitted.sources.front()) << "\n"
              << paragraph("", where) << terminal_text(page);
    if (!options.output.empty()) {
      write_atomically(options.output, html_of(page, course_folder() / "grader/report/pages"));
      std::cout << "\nThe page with your source: " << display_path(options.output) << "\n";
    }
  }
  // JSON stays JSON.
  if (stage.finding) (options.json ? std::cerr : std::cout) << "\n" << finding_text(*stage.finding);
  return stage.finding ? ExitCode::kFallsShort : ExitCode::kPassed;
}

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  auto [command, options] = add_view(app, exit_code, "profile", run);
  add_counted_options(command, options);
  command.add_option("--gpu", options.gpu,
                     "Estimate the op time on this GPU alone, such as T4 (default: on all known)");
  command
      .add_option(
          "--registers", options.registers,
          "Of a thread, on a machine without nvcc: as nvcc -Xptxas -v says elsewhere. Tells "
          "whether too few warps run")
      ->check(CLI::Range(1, 255));
  command.add_option("--output", options.output, "Also write a page (HTML) with your source");
  command.add_flag("--json", options.json, "Print the counters as JSON instead of text");
  add_launcher(command, options.launcher);
  command.footer(
      "Builds the file so that the emulated device counts, and runs one image. The file\n"
      "need not be right. docs/profile.md says what each number means.\n\n"
      "Examples:\n"
      "  build/bin/grader profile m3\n"
      "  build/bin/grader profile m4 --stage fused-gemm --output profile.html");
}

}  // namespace convlab::grader::profile_command
