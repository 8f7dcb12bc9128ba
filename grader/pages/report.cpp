#include "grader/pages/report.hpp"

#include <algorithm>
#include <regex>
#include <set>

#include "common/process/run_process.hpp"
#include "grader/pages/comparison.hpp"
#include "grader/plots/plotted_runs.hpp"

namespace convlab::grader {

namespace {

std::string mib_text(int mib) {
  return mib == 0 ? "" : std::to_string((mib + 512) / 1024) + " GiB";
}

PageSection machine_section(const ReportSource& source) {
  PageSection section{.title = "Machine"};
  Table table{.heading = {"file", "processor", "cores", "memory", "GPU", "driver", "CUDA",
                          "compiler", "commit", "date"}};
  constexpr std::size_t kDate = 10;
  for (std::size_t i = 0; i < source.results.size(); ++i) {
    const Result& result = source.results[i];
    const MachineInfo& machine = result.machine;
    table.rows.push_back({source.names.at(i), machine.cpu, std::to_string(machine.cores),
                          mib_text(machine.memory_mib), machine.gpu.empty() ? "none" : machine.gpu,
                          machine.driver, machine.cuda, machine.compiler, machine.commit,
                          result.created.substr(0, kDate)});
  }
  section.blocks.push_back(table);
  section.blocks.push_back(
      OpenQuestion{"What else ran on this machine while you measured, and how do you know?"});
  return section;
}

PageSection method_section(const ReportSource& source) {
  PageSection section{.title = "Method"};
  std::set<std::string> networks;
  std::set<std::size_t> samples;
  bool emulated = false;
  for (const Result& result : source.results) {
    for (const RunResult& run : result.runs) {
      networks.insert(run.network);
      emulated = emulated || run.device == Device::kEmulated;
      for (const LayerResult& layer : run.layers) {
        if (!layer.op_ms.empty()) samples.insert(layer.op_ms.size());
      }
    }
  }
  std::string names;
  for (const std::string& network : networks) names += (names.empty() ? "" : ", ") + network;
  std::string text = "Network " + names + ". ";
  if (!samples.empty()) {
    text += "Times are medians of " + std::to_string(*samples.begin()) +
            (samples.size() > 1 ? " to " + std::to_string(*samples.rbegin()) : "") +
            " samples. Op time is the convolution alone, layer time includes allocation and "
            "copies. Every sample stands between two fences of the whole device; the larger of "
            "event time and host time counts. Intervals hold 95 % of bootstrap draws. ";
  }
  if (emulated) text += "Emulated runs were checked and not timed. ";
  section.blocks.push_back(Paragraph{text});
  section.blocks.push_back(
      OpenQuestion{"How did you choose which stages to try, and in which order?"});
  return section;
}

// One row for each stage and batch: is it right?
PageSection correctness_section(const ReportSource& source) {
  PageSection section{.title = "Correctness"};
  Table table{.heading = {"stage", "batch", "device", "accuracy", "expected", "worst error",
                          "may reach", "verdict"}};
  for (const Result& result : source.results) {
    for (const RunResult& run : result.runs) {
      double worst = 0.0;
      double bound = 0.0;
      for (const LayerResult& layer : run.layers) {
        if (!layer.error) continue;
        worst = std::max(worst, layer.error->worst_ratio);
        bound = std::max(bound, layer.error->bound);
      }
      const auto number = [](double value) {
        return value > 0.0 ? std::to_string(static_cast<std::int64_t>(value + 0.5)) : "";
      };
      const auto& accuracy = run.accuracy;
      table.rows.push_back(
          {run.stage.id, std::to_string(run.batch), to_string(run.device),
           accuracy ? std::to_string(accuracy->correct) + "/" + std::to_string(accuracy->total)
                    : "",
           accuracy && accuracy->expected ? std::to_string(*accuracy->expected) : "", number(worst),
           number(bound), to_string(run.verdict)});
    }
  }
  section.blocks.push_back(
      Paragraph{"Errors are in units of 2^-24 · Σ|a||b| of the worst element."});
  section.blocks.push_back(table);
  return section;
}

std::vector<std::string> stages_of(const std::vector<Comparison>& comparisons) {
  std::vector<std::string> names;
  for (const Comparison& comparison : comparisons) {
    for (const ComparedStage& stage : comparison.stages) {
      if (std::ranges::find(names, stage.name) == names.end()) {
        names.push_back(stage.name);
      }
    }
  }
  return names;
}

std::optional<double> time_of(const Comparison& comparison, const std::string& name) {
  for (const ComparedStage& stage : comparison.stages) {
    if (stage.name == name) return stage.sum_ms;
  }
  return std::nullopt;
}

std::string picture(const ReportSource& source, const std::string& stem) {
  return source.pictures.empty() ? "" : source.pictures + "/" + stem + ".png";
}

Chart stages_chart(const ReportSource& source, const std::vector<Comparison>& comparisons,
                   const std::string& network) {
  Chart chart{.title = "Op time, stage by stage",
              .x_title = "stage",
              .y_title = "op time, ms (log scale)",
              .places = stages_of(comparisons),
              .log_y = true,
              .picture = picture(source, "op-time-" + network)};
  for (std::size_t i = 0; i < chart.places.size(); ++i) chart.x.push_back(static_cast<double>(i));
  for (const Comparison& comparison : comparisons) {
    Chart::Line line{.label = "batch " + std::to_string(comparison.batch)};
    for (const std::string& name : chart.places) line.values.push_back(time_of(comparison, name));
    chart.lines.push_back(std::move(line));
  }
  return chart;
}

Chart batches_chart(const ReportSource& source, const std::vector<Comparison>& comparisons,
                    const std::string& network) {
  Chart chart{.title = "Op time against batch",
              .x_title = "batch (log scale)",
              .y_title = "op time, ms (log scale)",
              .log_x = true,
              .log_y = true,
              .picture = picture(source, "op-by-batch-" + network)};
  for (const Comparison& comparison : comparisons) {
    chart.x.push_back(static_cast<double>(comparison.batch));
  }
  for (const std::string& name : stages_of(comparisons)) {
    Chart::Line line{.label = name};
    for (const Comparison& each : comparisons) line.values.push_back(time_of(each, name));
    chart.lines.push_back(std::move(line));
  }
  return chart;
}

PageSection times_section(const ReportSource& source, const std::string& network,
                          const std::vector<Comparison>& comparisons) {
  PageSection section{.title = "Times, network " + network};
  section.blocks.push_back(stages_chart(source, comparisons, network));
  if (comparisons.size() > 1) section.blocks.push_back(batches_chart(source, comparisons, network));
  for (const Comparison& comparison : comparisons) {
    section.blocks.push_back(
        Paragraph{"Batch " + std::to_string(comparison.batch) + ". " + comparison.caption});
    section.blocks.push_back(table_of(comparison));
  }
  section.blocks.push_back(OpenQuestion{
      "Which step bought most, which was not worth it, and why? Argue with the numbers above and "
      "with what limits the stage."});
  return section;
}

PageSection profile_section(const ReportSource& source) {
  PageSection section{.title = "Kernels and API calls"};
  if (source.profiles.empty()) {
    section.blocks.push_back(
        Paragraph{"No profile was taken. To have the tables here: grader report " +
                  source.milestone + " --profile"});
  }
  for (const auto& [stage, text] : source.profiles) {
    section.blocks.push_back(Paragraph{"Stage " + stage});
    section.blocks.push_back(CodeBlock{text});
  }
  section.blocks.push_back(OpenQuestion{
      "Which kernels and which API calls make up 90 % of the time, and which of them could go?"});
  return section;
}

// A row for each value of the first parameter, a column for each of the second.
HeatMap heat_map_of(const SweepTables& sweep, const SweepTable& table) {
  const SweepParameter& rows = sweep.space.parameters.at(0);
  const bool has_columns = sweep.space.parameters.size() > 1;
  HeatMap map{.title = "Sweep of " + sweep.space.stage + ", " + table.title + ": " + table.unit};
  for (std::size_t i = 2; i < sweep.space.parameters.size(); ++i) {
    map.title += (i == 2 ? ", best " : ", ") + sweep.space.parameters[i].name + " in brackets";
  }
  map.table.heading = {rows.name};
  std::vector<std::optional<int>> columns = {std::nullopt};
  if (has_columns) {
    const SweepParameter& second = sweep.space.parameters[1];
    map.table.heading[0] += " \\ " + second.name;
    columns.assign(second.values.begin(), second.values.end());
  }
  for (const auto& column : columns) {
    map.table.heading.push_back(column ? std::to_string(*column) : table.unit);
  }
  for (const int row : rows.values) {
    auto& texts = map.table.rows.emplace_back(1, std::to_string(row));
    auto& scores = map.scores.emplace_back();
    for (const auto& column : columns) {
      const ScoredPoint* best = best_in_cell(table, row, column);
      texts.push_back(cell_text(best));
      scores.push_back(best == nullptr ? std::nullopt : std::optional(best->score));
    }
  }
  return map;
}

PageSection sweeps_section(const ReportSource& source) {
  PageSection section{.title = "Sweeps"};
  for (const SweepTables& sweep : source.sweeps) {
    section.blocks.push_back(Paragraph{"Sweep of " + sweep.space.stage + ": " + sweep.caption});
    for (const SweepTable& table : sweep.tables) {
      if (!table.scored.empty()) section.blocks.push_back(heat_map_of(sweep, table));
      for (const std::string& line : table.left_out) {
        section.blocks.push_back(Paragraph{"Left out, " + line + "."});
      }
    }
  }
  section.blocks.push_back(
      OpenQuestion{"Why is the best point the best, and why not the one beside it?"});
  return section;
}

PageSection mistakes_section(const ReportSource& source) {
  PageSection section{.title = "Mistakes made and mended"};
  Table table{.heading = {"finding", "stage", "first seen", "mended", "checks that saw it"}};
  for (const MendedMistake& mistake : source.mistakes) {
    table.rows.push_back({mistake.id + " " + mistake.title, mistake.stage, mistake.seen,
                          mistake.mended.empty() ? "not yet" : mistake.mended,
                          std::to_string(mistake.checks)});
  }
  if (table.rows.empty()) {
    section.blocks.push_back(Paragraph{"No check of this build folder found a mistake."});
  } else {
    section.blocks.push_back(table);
  }
  section.blocks.push_back(
      OpenQuestion{"Which of them cost you most time, and what would have found it sooner?"});
  return section;
}

}  // namespace

std::vector<std::string> questions_of(const std::string& ladder_page) {
  std::vector<std::string> questions;
  const auto begin = ladder_page.find("## Questions");
  if (begin == std::string::npos) return questions;
  const std::string text = ladder_page.substr(begin);
  // "1. Why?" before its answer, or a summary that is the question itself.
  static const std::regex kQuestion(R"(\n\d+\. ([^<]+)<details>|<summary>([^<]*)</summary>)");
  static const std::regex kSpaces(R"(\s+)");
  for (auto it = std::sregex_iterator(text.begin(), text.end(), kQuestion);
       it != std::sregex_iterator(); ++it) {
    const std::string found = (*it)[1].matched ? (*it)[1].str() : (*it)[2].str();
    if (found == "Answer") continue;
    questions.push_back(trimmed_end(std::regex_replace(found, kSpaces, " ")));
  }
  return questions;
}

Page make_report(const ReportSource& source) {
  Page page{.title = "Report on " + source.milestone + ": " + source.title,
            .subtitle = "Made by grader report from " + std::to_string(source.results.size()) +
                        (source.results.size() == 1 ? " result." : " results.") +
                        " Numbers are measured; the marked questions are yours to answer."};
  page.sections.push_back(machine_section(source));
  page.sections.push_back(method_section(source));
  const auto all = compare(source.results, source.names, {});
  for (const std::string& network : networks_of(source.results)) {
    std::vector<Comparison> comparisons;
    for (const Comparison& each : all) {
      if (each.network == network) comparisons.push_back(each);
    }
    page.sections.push_back(times_section(source, network, comparisons));
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
  if (!source.images.empty()) {
    page.sections.push_back({.title = "One image", .blocks = source.images});
  }
  page.sections.push_back(mistakes_section(source));
  PageSection questions{.title = "Questions"};
  for (const auto& [stage, list] : source.questions) {
    for (const std::string& question : list) {
      questions.blocks.push_back(OpenQuestion{stage + ": " + question});
    }
  }
  questions.blocks.push_back(OpenQuestion{"What would you try next, and what do you expect?"});
  page.sections.push_back(std::move(questions));
  return page;
}

}  // namespace convlab::grader
