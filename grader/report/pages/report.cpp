#include "grader/report/pages/report.hpp"

#include <algorithm>
#include <cmath>

#include "grader/report/pages/comparison.hpp"
#include "grader/report/plots/result_figures.hpp"

namespace convlab::grader {

namespace {

PageSection machine_section(const ReportSource& source) {
  Table table{.heading = {"file", "processor", "cores", "memory", "GPU", "driver", "CUDA",
                          "compiler", "commit", "date"}};
  for (std::size_t i = 0; i < source.results.size(); ++i) {
    const MachineInfo& machine = source.results[i].machine;
    table.rows.push_back({source.names.at(i), machine.cpu, std::to_string(machine.cores),
                          std::to_string((machine.memory_mib + 512) / 1024) + " GiB",
                          machine.gpu.empty() ? "none" : machine.gpu, machine.driver, machine.cuda,
                          machine.compiler, machine.commit, date_of(source.results[i].created)});
  }
  drop_empty_columns(table);  // without a GPU there is neither a driver nor CUDA
  return {"Machine",
          {table,
           OpenQuestion{"What else ran on this machine while you measured, and how do you know?"}}};
}

PageSection method_section(const ReportSource& source) {
  PageSection section{
      .title = "Method",
      .blocks = {Paragraph{
          "Op time is the convolution alone, layer time includes allocation and copies; below each "
          "batch stand its samples. Intervals hold 95 % of bootstrap draws. Before and after every "
          "sample the whole GPU is idle; of event time and host time the larger one counts. "
          "Emulated runs are checked and not timed."}}};
  if (source.milestone > "m2") {
    section.blocks.push_back(
        OpenQuestion{"How did you choose which stages to try, and in which order?"});
  }
  return section;
}

// One row for each stage and batch: is it right?
PageSection correctness_section(const ReportSource& source) {
  Table table{.heading = {"stage", "batch", "device", "accuracy", "expected", "worst error",
                          "may reach", "verdict"}};
  for (const Result& result : source.results) {
    for (const RunResult& run : result.runs) {
      ErrorMeasure worst;
      for (const LayerResult& layer : run.layers) {
        if (!layer.error) continue;
        worst.worst_ratio = std::max(worst.worst_ratio, layer.error->worst_ratio);
        worst.bound = std::max(worst.bound, layer.error->bound);
      }
      const auto number = [](double value) {
        return value > 0.0 ? std::to_string(std::lround(value)) : "";
      };
      const auto accuracy = run.accuracy.value_or(AccuracyResult{});
      table.rows.push_back(
          {run.stage.id, std::to_string(run.batch), to_string(run.device),
           run.accuracy ? std::to_string(accuracy.correct) + "/" + std::to_string(accuracy.total)
                        : "",
           accuracy.expected ? std::to_string(*accuracy.expected) : "", number(worst.worst_ratio),
           number(worst.bound), to_string(run.verdict)});
    }
  }
  return {"Correctness",
          {Paragraph{"Errors are in units of 2^-24 · Σ|a||b| of the worst element."}, table}};
}

PageSection times_section(const ReportSource& source, const std::string& network,
                          const std::vector<Comparison>& comparisons) {
  PageSection section{.title = "Times, network " + network};
  for (const Figure& figure : figures_of(source.results, network)) {
    section.blocks.push_back(Chart{figure, "plots/" + figure.name + ".png"});
  }
  for (const Comparison& each : comparisons) {
    if (each.network != network) continue;
    section.blocks.push_back(
        Paragraph{"Batch " + std::to_string(each.batch) + ". " + each.caption});
    section.blocks.push_back(each.table);
  }
  section.blocks.push_back(OpenQuestion{
      source.milestone > "m2"
          ? "Which stage gained most over its baseline, which was not worth it, and why? Argue "
            "with the numbers above and with what limits the stage."
          : "What limits your convolution: memory, arithmetic or something else? Argue with the "
            "numbers above."});
  return section;
}

PageSection profile_section(const ReportSource& source) {
  if (source.milestone == "m1") {
    return {"Where the time goes",
            {OpenQuestion{
                "Which functions take 90 % of the time of the forward pass? Show the profile (the "
                "chapter's section 5 names three tools), and say which of them could go."}}};
  }
  return {"Kernels and API calls",
          {OpenQuestion{"Which kernels and which API calls make up 90 % of the time, and which of "
                        "them could go? build/bin/" +
                        source.milestone + " 1000 --profile shows them."}}};
}

PageSection sweeps_section(const ReportSource& source) {
  PageSection section{.title = "Sweeps"};
  for (const SweepTable& table : source.sweeps) {
    section.blocks.insert(section.blocks.end(), {Paragraph{table.text}, table.cells});
  }
  section.blocks.push_back(
      OpenQuestion{"Why is the best point the best, and why not the one beside it?"});
  return section;
}

PageSection mistakes_section(const ReportSource& source) {
  Table table{.heading = {"finding", "stage", "first seen", "mended", "checks"}};
  // "2026-11-24 12:56" of "2026-11-24T12:56:21Z".
  const auto minute = [](std::string time) {
    std::ranges::replace(time, 'T', ' ');
    return time.substr(0, 16);
  };
  for (const MendedMistake& mistake : source.mistakes) {
    table.rows.push_back({mistake.id + ": " + mistake.title, mistake.stage, minute(mistake.seen),
                          mistake.mended.empty() ? "not yet" : minute(mistake.mended),
                          std::to_string(mistake.checks)});
  }
  return {"Mistakes made and mended",
          {table.rows.empty() ? PageBlock{Paragraph{"No check of this build folder found one."}}
                              : PageBlock{table},
           OpenQuestion{"Which of them cost you most time, and what would have found it sooner?"}}};
}

}  // namespace

Page make_report(const ReportSource& source) {
  Page page{.title = "Report on " + source.milestone + ": " + source.title,
            .subtitle = "Made by grader report from " + std::to_string(source.results.size()) +
                        (source.results.size() == 1 ? " result." : " results.") +
                        " Numbers are measured; the marked questions are yours to answer."};
  page.sections = {machine_section(source), method_section(source)};
  const auto all = compare(source.results, source.names);
  for (const std::string& network : networks_of(source.results)) {
    page.sections.push_back(times_section(source, network, all));
  }
  if (all.empty()) {
    page.sections.push_back(
        {.title = "Times",
         .blocks = {Paragraph{"These results hold no op time: they were made without a GPU. Check "
                              "on a machine with one, and make the report again."}}});
  }
  page.sections.push_back(correctness_section(source));
  page.sections.push_back(profile_section(source));
  if (!source.sweeps.empty()) page.sections.push_back(sweeps_section(source));
  page.sections.push_back(mistakes_section(source));
  page.sections.insert(page.sections.end(), source.notes.begin(), source.notes.end());
  page.sections.push_back(
      {.title = "What next",
       .blocks = {OpenQuestion{"What would you try next, and what do you expect?"}}});
  return page;
}

}  // namespace convlab::grader
