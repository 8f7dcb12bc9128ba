#include "grader/report/pages/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <sstream>

#include "common/base/printable.hpp"
#include "common/base/run_process.hpp"
#include "common/timing/statistics.hpp"
#include "grader/report/pages/comparison.hpp"
#include "grader/report/plots/result_figures.hpp"

namespace convlab::grader {

namespace {

std::string mib_text(int mib) {
  return mib == 0 ? "" : std::to_string((mib + 512) / 1024) + " GiB";
}

PageSection machine_section(const ReportSource& source) {
  PageSection section{.title = "Machine"};
  Table table{.heading = {"file", "processor", "cores", "memory", "GPU", "driver", "CUDA",
                          "compiler", "commit", "date"}};
  for (std::size_t i = 0; i < source.results.size(); ++i) {
    const Result& result = source.results[i];
    const MachineInfo& machine = result.machine;
    table.rows.push_back({source.names.at(i), machine.cpu, std::to_string(machine.cores),
                          mib_text(machine.memory_mib), machine.gpu.empty() ? "none" : machine.gpu,
                          machine.driver, machine.cuda, machine.compiler, machine.commit,
                          date_of(result.created)});
  }
  // Without a GPU there is neither a driver nor CUDA.
  for (std::size_t i = table.heading.size(); i-- > 0;) {
    if (std::ranges::any_of(table.rows, [&](const auto& row) { return !row[i].empty(); })) continue;
    const auto place = static_cast<std::ptrdiff_t>(i);
    table.heading.erase(table.heading.begin() + place);
    for (auto& row : table.rows) row.erase(row.begin() + place);
  }
  section.blocks.push_back(table);
  section.blocks.push_back(
      OpenQuestion{"What else ran on this machine while you measured, and how do you know?"});
  return section;
}

bool has_several_stages(const ReportSource& source) {
  std::set<std::string> stages;
  for (const Result& result : source.results) {
    for (const RunResult& run : result.runs) stages.insert(result.milestone + run.stage.id);
  }
  return stages.size() > 1;
}

PageSection method_section(const ReportSource& source) {
  PageSection section{
      .title = "Method",
      .blocks = {Paragraph{
          "Op time is the convolution alone, layer time includes allocation and copies; below each "
          "batch stand its samples. Intervals hold 95 % of bootstrap draws. Before and after every "
          "sample the whole GPU is idle; of event time and host time the larger one counts. "
          "Emulated runs are checked and not timed."}}};
  if (has_several_stages(source)) {
    section.blocks.push_back(
        OpenQuestion{"How did you choose which stages to try, and in which order?"});
  }
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

PageSection times_section(const ReportSource& source, const std::string& network,
                          const std::vector<Comparison>& comparisons) {
  PageSection section{.title = "Times, network " + network};
  for (const Figure& figure : figures_of(source.results, network)) {
    section.blocks.push_back(Chart{figure, "plots/" + figure.name + ".png"});
  }
  for (const Comparison& comparison : comparisons) {
    section.blocks.push_back(
        Paragraph{"Batch " + std::to_string(comparison.batch) + ". " + comparison.caption});
    section.blocks.push_back(table_of(comparison));
  }
  section.blocks.push_back(OpenQuestion{
      has_several_stages(source)
          ? "Which stage gained most over its baseline, which was not worth it, and why? Argue "
            "with "
            "the numbers above and with what limits the stage."
          : "What limits your convolution: memory, arithmetic or something else? Argue with the "
            "numbers above."});
  return section;
}

PageSection profile_section(const ReportSource& source) {
  if (source.milestone == "m1") {
    return {.title = "Where the time goes",
            .blocks = {OpenQuestion{
                "Which functions take 90 % of the time of the forward pass? Show the profile (the "
                "chapter's section 5 names three tools), and say which of them could go."}}};
  }
  return {.title = "Kernels and API calls",
          .blocks = {OpenQuestion{
              "Which kernels and which API calls make up 90 % of the time, and which of them could "
              "go? build/bin/" +
              source.milestone + " 1000 --profile shows them."}}};
}

PageSection sweeps_section(const ReportSource& source) {
  PageSection section{.title = "Sweeps"};
  for (const SweepTable& table : source.sweeps) {
    section.blocks.push_back(Paragraph{table.text});
    section.blocks.push_back(table.cells);
  }
  section.blocks.push_back(
      OpenQuestion{"Why is the best point the best, and why not the one beside it?"});
  return section;
}

PageSection mistakes_section(const ReportSource& source) {
  PageSection section{.title = "Mistakes made and mended"};
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

std::vector<KnownNumber> known_numbers(const std::vector<Result>& results,
                                       const std::vector<SweepTable>& sweeps) {
  std::vector<KnownNumber> known;
  for (const Result& result : results) {
    for (const KnownNumber& each : known_times(result)) known.push_back(each);
  }
  for (const SweepTable& table : sweeps) {
    known.insert(known.end(), table.scores.begin(), table.scores.end());
  }
  std::erase_if(known, [](const KnownNumber& each) { return !(each.value > 0.0); });
  return known;
}

std::string found_numbers(const std::string& text, const std::vector<KnownNumber>& known) {
  std::string found;
  const std::string digits = "0123456789";
  const auto is_digit = [&](std::size_t at) {
    return at < text.size() && digits.find(text[at]) != std::string::npos;
  };
  for (std::size_t at = text.find_first_of(digits); at != std::string::npos;) {
    std::size_t end = std::min(text.size(), text.find_first_not_of(digits + ".", at));
    std::string number = text.substr(at, end - at);
    // "11 832": groups of three behind one to three digits.
    const bool may_go_on = number.size() <= 3 && number.find('.') == std::string::npos;
    while (may_go_on && end < text.size() && text[end] == ' ' && is_digit(end + 1) &&
           is_digit(end + 2) && is_digit(end + 3) && !is_digit(end + 4)) {
      number += text.substr(end + 1, 3);
      end += 4;
    }
    at = text.find_first_of(digits, end);
    while (number.ends_with('.')) number.pop_back();
    const std::size_t point = number.find('.');
    const double value = std::strtod(number.c_str(), nullptr);
    const double half_digit =
        point == std::string::npos
            ? 0.5
            : 0.5 * std::pow(10.0, -static_cast<double>(number.size() - point - 1));
    // A single digit is near many numbers.
    if (std::ranges::count_if(number, [](char c) { return c != '.' && c != '0'; }) < 2) continue;
    const bool is_seconds = text.compare(end, 2, " s") == 0 && !std::isalpha(text[end + 2]);
    const double unit = is_seconds ? 1000.0 : 1.0;
    const auto match = std::ranges::find_if(known, [&](const KnownNumber& each) {
      return std::abs(each.value - value * unit) <= half_digit * unit * (1.0 + 1e-9);
    });
    if (match != known.end()) {
      found += (found.empty() ? "" : "; ") + number + (is_seconds ? " s: " : ": ") + match->what;
    }
  }
  return found.empty() ? "" : found + ".";
}

Page make_report(const ReportSource& source) {
  Page page{.title = "Report on " + source.milestone + ": " + source.title,
            .subtitle = "Made by grader report from " + std::to_string(source.results.size()) +
                        (source.results.size() == 1 ? " result." : " results.") +
                        " Numbers are measured; the marked questions are yours to answer."};
  page.sections.push_back(machine_section(source));
  page.sections.push_back(method_section(source));
  const auto all = compare(source.results, source.names);
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
  page.sections.push_back(mistakes_section(source));
  page.sections.insert(page.sections.end(), source.notes.begin(), source.notes.end());
  page.sections.push_back(
      {.title = "What next",
       .blocks = {OpenQuestion{"What would you try next, and what do you expect?"}}});
  return page;
}

}  // namespace convlab::grader
