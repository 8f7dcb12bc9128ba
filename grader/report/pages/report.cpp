#include "grader/report/pages/report.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "common/base/json_text.hpp"
#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "common/network/preset.hpp"
#include "grader/report/pages/comparison.hpp"
#include "grader/report/plots/result_figures.hpp"

namespace convlab::grader {

namespace {

using Blocks = std::vector<PageBlock>;

Blocks machine_part(const ReportSource& source) {
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
  return {table};
}

// One row for each stage and batch: is it right?
Blocks correctness_part(const ReportSource& source) {
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
  if (table.rows.empty()) return {Paragraph{"No network ran to its end."}};
  return {table};
}

// A stage that does not pass is not timed; an emulated one has no op time.
bool may_be_timed(const RunResult& run) {
  return run.verdict == Verdict::kPassed && run.device != Device::kEmulated;
}

bool has_run(const ReportSource& source, bool (*is_so)(const RunResult&)) {
  return std::ranges::any_of(source.results, [&](const Result& result) {
    return std::ranges::any_of(result.runs, is_so);
  });
}

Blocks times_part(const ReportSource& source) {
  Blocks blocks;
  for (const std::string& network : networks_of(source.results)) {
    for (const Figure& figure : figures_of(source.results, network)) {
      blocks.push_back(Chart{figure, "plots/" + figure.name + ".png"});
    }
  }
  for (const Comparison& each : compare(source.results, source.names)) {
    blocks.push_back(Paragraph{"Batch " + std::to_string(each.batch) + ". " + each.caption});
    blocks.push_back(each.table);
  }
  if (!blocks.empty()) return blocks;
  const bool may_have_times = has_run(source, may_be_timed);
  const bool is_emulated = has_run(source, [](const RunResult& run) {
    return run.verdict == Verdict::kPassed && run.device == Device::kEmulated;
  });
  if (may_have_times) return {Paragraph{"These results hold no op time: nothing was timed."}};
  return {Paragraph{is_emulated ? "These results hold no op time: they were made without a GPU. "
                                  "Check on a machine with one, and make the report again."
                                : "These results hold no op time: no stage has passed, and only "
                                  "what passes is timed."}};
}

Blocks sweeps_part(const ReportSource& source) {
  Blocks blocks;
  for (const SweepTable& table : source.sweeps) {
    blocks.push_back(Paragraph{table.text});
    blocks.push_back(table.cells);
  }
  return blocks;
}

Blocks mistakes_part(const ReportSource& source) {
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
  if (table.rows.empty()) return {Paragraph{"No check of this build folder found one."}};
  return {table};
}

const std::map<std::string, Blocks (*)(const ReportSource&)> kParts = {
    {"machine", machine_part}, {"correctness", correctness_part}, {"times", times_part},
    {"sweeps", sweeps_part},   {"mistakes", mistakes_part},
};

}  // namespace

// report.json names the sections in their order: what each says, which part it shows, and the
// question that it ends with, by milestone. A section whose part shows nothing is left out.
Page make_report(const ReportSource& source) {
  Page page{.title = "Report on " + source.milestone + ": " + source.title,
            .subtitle = "Made by grader report from " +
                        count_of(std::ssize(source.results), "result") +
                        ". Numbers are measured; the marked questions are yours to answer."};
  // Texts by milestone; "" is for all others, "untimed" for what has no times at all.
  const bool is_untimed = !has_run(source, may_be_timed);
  const auto of_milestone = [&](const Json& section, const char* name) {
    const Json texts = section.value(name, Json::object());
    if (is_untimed && texts.contains("untimed")) return texts["untimed"].get<std::string>();
    return texts.value(source.milestone, texts.value("", std::string()));
  };
  const auto course = network_folder().parent_path().parent_path();  // of ROOT/common/network
  for (const Json& each : parse_json(read_text(course / "grader/report/pages/report.json"))) {
    const std::string part = each.value("part", "");
    if (part == "notes") {
      page.sections.insert(page.sections.end(), source.notes.begin(), source.notes.end());
      continue;
    }
    PageSection section{.title = each.at("title")};
    if (const std::string text = of_milestone(each, "text"); !text.empty()) {
      section.blocks.push_back(Paragraph{text});
    }
    if (!part.empty()) {
      Blocks blocks = kParts.at(part)(source);
      if (blocks.empty()) continue;
      std::ranges::move(blocks, std::back_inserter(section.blocks));
    }
    if (const std::string asked = of_milestone(each, "question"); !asked.empty()) {
      section.blocks.push_back(OpenQuestion{asked});
    }
    page.sections.push_back(std::move(section));
  }
  return page;
}

}  // namespace convlab::grader
