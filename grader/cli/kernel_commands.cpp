#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <future>
#include <iostream>
#include <nlohmann/json.hpp>

#include "common/base/json_text.hpp"
#include "common/base/printable.hpp"
#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "common/network/preset.hpp"
#include "common/program/arguments.hpp"
#include "common/result/result.hpp"
#include "common/serve/finding_texts.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/checks/custom_submission.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/counted_stage.hpp"
#include "grader/course/course.hpp"
#include "grader/course/progress.hpp"
#include "grader/course/puzzles.hpp"
#include "grader/course/slurm_job.hpp"
#include "grader/measure/counters.hpp"
#include "grader/measure/estimate.hpp"
#include "grader/measure/stage_steps.hpp"
#include "grader/report/check_report.hpp"
#include "grader/report/profile/profile.hpp"
#include "grader/report/show/show.hpp"
#include "grader/report/terminal.hpp"
#include "grader/submission/build_submission.hpp"

namespace convlab::grader::kernel_commands {

namespace {

namespace fs = std::filesystem;

// A stage, its file, and how it was looked at.
void print_head(const std::string& stage, const CountedWork& work, const std::string& where) {
  std::cout << coloured(stage, Colour::kStrong) << "  "
            << display_path(work.submitted.sources.front()) << "\n"
            << paragraph("", where);
}

// A count on paper is often for each multiply-add that a thread makes.
std::string idle_text(const StageCounts& counts, const SourceText& sources, double loads) {
  constexpr double kRounding = 1.005;
  const double made = products_made(counts);
  if (made < kRounding) return {};
  std::string who = "The kernels make ";
  for (const KernelCounts& kernel : kernels_of(counts, sources)) {
    if (kernel.storing > 0 && kernel.storing < kernel.threads) {
      who = "Threads without an output compute, too: the kernels make ";
    }
  }
  return paragraph("        ", who + three_digits(made) +
                                   " times the multiply-adds that the convolution needs. For each "
                                   "that they make it is " +
                                   three_digits(loads / made) + " loads.");
}

std::string told(Finding finding, const CourseMilestone& milestone, const CountedWork& work) {
  address(finding, milestone.id, SourceText(work.submitted.sources));
  return finding_text(finding);
}

ExitCode run_explain(const CountedOptions& options) {
  const CourseMilestone milestone = find_milestone(options.milestone);
  const bool is_students = options.solution == "student";
  CountedOptions asked = options;
  if (is_students && milestone.id != "m1") asked.stage = passed_stage(options, milestone);
  const CountedWork work = counted_work(milestone, asked);
  const CountedStage stage = counted_stage(work);
  if (stage.finding) {
    std::cout << told(*stage.finding, milestone, work);
    return ExitCode::kFallsShort;
  }
  const std::string& id = stage.counts.stage.id;
  const Counted counted{.loads = loads_per_product(stage.counts),
                        .inputs = loads_per_input(stage.counts, stage.sources)};
  print_head(id, work, counted_where(stage.counts, options.network, stage.layer));
  std::cout << walk_text(stage.counts, stage.sources) << "\n"
            << paragraph("In all: ", three_digits(counted.loads) +
                                         " loads for each multiply-add, from global and shared "
                                         "memory; each input is loaded " +
                                         count_of(three_digits(counted.inputs), "time") +
                                         " from global memory.")
            << idle_text(stage.counts, stage.sources, counted.loads);
  Notebook notebook = read_notebook(milestone);
  if (const auto slip = notebook.predictions.find(id); slip != notebook.predictions.end()) {
    const std::string answer = grader_command("answer", milestone.id) + " " + id + " \"…\"";
    std::cout << paragraph("        ", prediction_text(slip->second, counted, answer));
  }
  // Predictions are of the last convolution.
  if (is_students && options.layer == 0) {
    notebook.explained[id] = counted;
    note_numbers(notebook, {{counted.loads, "loads for each multiply-add of " + id},
                            {counted.inputs, "loads of each input of " + id}});
    write_notebook(milestone, notebook);
  }
  return ExitCode::kPassed;
}

constexpr int kEstimatedBatch = 10'000;  // the course's

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

std::vector<Estimate> estimates_of(const std::vector<KernelWork>& work, Precision precision) {
  std::vector<Estimate> estimates;
  for (const Gpu& each : published_gpus()) {
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

ExitCode run_profile(const ProfileOptions& options) {
  if (options.launcher == "slurm") return run_as_slurm_job(own_words_without_launcher());
  const CourseMilestone milestone = find_milestone(options.milestone);
  const CountedWork wanted = counted_work(milestone, options);
  if (!options.output.empty()) require_writable(options.output);
  // nvcc takes longer than counting.
  auto registers =
      std::async(std::launch::async, [&] { return kernel_registers(wanted.submitted); });
  CountedStage stage = counted_stage(wanted);
  std::vector<std::string> launched;
  for (const DeviceLaunch& launch : stage.counts.launches) launched.push_back(launch.kernel);
  stage.counts.registers = registers_of(registers.get(), launched);
  const bool is_counted = !stage.counts.launches.empty();
  const std::vector<KernelWork> work = work_of(stage.counts, stage.sources);
  const auto estimates = estimates_of(work, stage.counts.stage.precision);
  if (is_counted && options.prints_json) {
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
    print_head(info.id, wanted, where);
    std::cout << terminal_text(page);
    if (!options.output.empty()) {
      write_atomically(options.output, html_of(page, course_folder() / "grader/report/pages"));
      std::cout << "\nThe page with your source: " << display_path(options.output) << "\n";
    }
  }
  // JSON stays JSON.
  if (stage.finding)
    (options.prints_json ? std::cerr : std::cout) << "\n"
                                                  << told(*stage.finding, milestone, wanted);
  return stage.finding ? ExitCode::kFallsShort : ExitCode::kPassed;
}

// "2", "2,1" or "2,1,0".
std::array<unsigned, 3> parse_block(const std::string& text) {
  const std::vector<int> numbers = parse_numbers(text);
  std::array<unsigned, 3> block{};
  if (numbers.empty() || numbers.size() > block.size()) {
    throw UsageError("--block takes X, X,Y or X,Y,Z, for example 2,0,1; this is " +
                     printable_line(text) + ".");
  }
  std::ranges::copy(numbers, block.begin());
  return block;
}

ExitCode run_show(const ShowOptions& options) {
  const CourseMilestone milestone = find_milestone(options.milestone);
  WantedBlock wanted{.kernel = options.kernel};
  if (!options.block.empty()) wanted.block = parse_block(options.block);
  std::optional<ConvShape> one_case;
  if (!options.only_case.empty()) one_case = parse_case(options.only_case);
  const CountedWork work = counted_work(milestone, options);
  if (!options.output.empty()) require_writable(options.output);
  ProgressLine progress;
  const TracedStage traced = traced_stage(work, progress);
  StageSteps steps{.finding = traced.finding};
  if (!traced.finding) {
    progress.show("recording one block");
    steps = record_stage(*traced.submission, traced.stage, one_case.value_or(traced.shape), wanted);
  }
  progress.clear();
  if (!steps.notes.steps.empty()) {
    std::set<std::string> files = {steps.notes.file};
    for (const StepPlace& place : steps.notes.places) files.insert(place.file);
    const SourceText sources = used_sources(traced, files);
    const std::string id = steps.stage.id;
    const std::string where =
        "Recorded on the emulated device, in " +
        (one_case || work.shape
             ? "one convolution"
             : "convolution " + std::to_string(traced.layer) + " of " + options.network) +
        ": " + to_string(steps.shape) + ".";
    const fs::path page = options.output.empty()
                              ? build_folder() / "show" / (milestone.id + "-" + id + ".html")
                              : fs::path(options.output);
    write_atomically(page, steps_page(steps, sources, milestone.id + ", " + id, where,
                                      course_folder() / "grader/report/show"));
    print_head(id, work, where);
    std::cout << steps_text(steps, sources)
              << "\nOpen this page in a browser: " << display_path(page) << "\n";
  } else if (!steps.finding) {
    throw Error(
        ExitCode::kFallsShort,
        "There is nothing to see: the stage launches no such kernel or block, or it touches "
        "no memory. Name another one with --kernel or --block.");
  }
  if (steps.finding) {
    std::cout << "\n" << told(*steps.finding, milestone, work);
    return ExitCode::kFallsShort;
  }
  if (steps.wrong.empty() && steps.unwritten.empty()) return ExitCode::kPassed;
  std::cout << "Next: " << grader_command("check", milestone.id, options.stage)
            << (options.solution == "student" ? "" : " --solution " + options.solution)
            << " says why.\n";
  return ExitCode::kFallsShort;
}

}  // namespace

void set(Views& views) {
  views.explain = run_explain;
  views.profile = run_profile;
  views.show = run_show;
}

}  // namespace convlab::grader::kernel_commands
