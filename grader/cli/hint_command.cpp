#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "common/base/whole_file.hpp"
#include "common/result/result.hpp"
#include "grader/checks/result/check_history.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/course.hpp"
#include "grader/course/hints.hpp"
#include "grader/course/notebook.hpp"
#include "grader/report/print_json.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader::hint_command {

namespace {

struct Options {
  std::string milestone;
  std::string stage;
  std::string state;
  bool again = false;
  bool json = false;
};

// How many hints of each list were shown, by milestone or milestone/stage; if the file is lost or
// damaged, counting starts again.
nlohmann::json read_shown(const std::filesystem::path& file) {
  if (std::filesystem::exists(file)) {
    auto shown = nlohmann::json::parse(read_text(file), nullptr, false);
    if (shown.is_object()) return shown;
  }
  return nlohmann::json::object();
}

/// The finding of the last check, as long as it is the same.
struct LastFinding {
  Finding finding{};
  int times = 0;  ///< in how many of the last checks, one after the other
};

LastFinding last_finding(const std::string& milestone, const std::string& stage) {
  LastFinding last;
  for (const HistoryEntry& entry : read_history(history_file())) {
    const bool is_of_stage =
        stage.empty() || std::ranges::find(entry.stages, stage) != entry.stages.end();
    if (entry.milestone != milestone || !is_of_stage) continue;
    const auto found = std::ranges::find_if(
        entry.findings, [&](const Finding& each) { return stage.empty() || each.stage == stage; });
    if (found == entry.findings.end()) {
      last = {};
    } else {
      last.times = found->id == last.finding.id ? last.times + 1 : 1;
      last.finding = *found;
    }
  }
  return last;
}

/// What a finding says about the smallest case and shows as a picture.
struct SmallestCase {
  std::string sentence{};
  std::string picture{};  ///< lines; may be empty
};

// From the text of the finding: "The smallest case that fails: …", and the drawing of the pixels
// that were used, with the line above it. If the finding names no case, the smallest of those that
// were checked; nothing if there is none.
SmallestCase smallest_case(const Options& options, const std::string& id) {
  const std::string stage = options.stage.empty() ? "" : "-" + options.stage;
  const auto file = results_folder() / (options.milestone + "-student" + stage + ".json");
  SmallestCase smallest;
  if (!std::filesystem::exists(file)) return smallest;
  const CheckResult check = read_check_result(file);
  const auto found = std::ranges::find(check.findings, id, &Finding::id);
  std::istringstream lines(found == check.findings.end() ? "" : found->seen);
  std::string above;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("The smallest case that fails: ") || line.starts_with("No smaller case")) {
      smallest.sentence = line;
    }
    const auto begin = line.find_first_not_of(' ');
    const bool is_drawn =
        begin != std::string::npos && begin > 0 &&
        (line[begin] == '.' || line[begin] == '#' || line.compare(begin, 9, "expected ") == 0);
    if (is_drawn) {
      if (smallest.picture.empty()) smallest.picture = paragraph("  ", above);
      smallest.picture += "  " + line + "\n";
    } else {
      above = line;
    }
  }
  const CaseResult* least = nullptr;
  for (const CaseResult& each : check.cases) {
    if (each.verdict != Verdict::kFailed) continue;
    const bool smaller =
        least == nullptr || each.shape.multiply_adds() < least->shape.multiply_adds();
    if (smaller) least = &each;
  }
  if (smallest.sentence.empty() && least != nullptr) {
    smallest.sentence =
        "The smallest case that is wrong: '" + least->name + "' (" + to_string(least->shape) + ").";
  }
  return smallest;
}

// Notes which hint was read, so that the instructor sees which ones help; grader submit packs it.
void note_hint(const Options& options, const std::string& list, int number,
               const std::string& finding) {
  if (!options.state.empty()) return;
  const CourseMilestone milestone = find_milestone(options.milestone);
  Notebook notebook = read_notebook(milestone);
  notebook.hints.push_back({.shown = utc_now(),
                            .list = list,
                            .number = number,
                            .finding = finding,
                            .stage = options.stage});
  write_notebook(milestone, notebook);
}

// The next hint for the finding of the last check: one more for each check that found it, after
// three the smallest case. False if there is none that was not shown.
bool hint_for_finding(const Options& options, const std::filesystem::path& state) {
  constexpr int kOften = 3;
  const LastFinding last = last_finding(options.milestone, options.stage);
  if (last.times == 0) return false;
  nlohmann::json shown = read_shown(state);
  const std::string key = options.milestone + "/" + options.stage + "#" + last.finding.id;
  const int before = shown.value(key, 0);
  if (last.times <= before) return false;
  const auto all = read_hints(course_folder() / "milestones" / "finding_hints.json", false).stages;
  const auto own = all.find(last.finding.id);
  const auto hints = own == all.end() ? std::vector<std::string>{} : own->second;
  const SmallestCase smallest =
      last.times >= kOften ? smallest_case(options, last.finding.id) : SmallestCase{};
  const auto next = static_cast<std::size_t>(before);
  if (next >= hints.size() && smallest.sentence.empty()) return false;
  shown[key] = next < hints.size() ? before + 1 : last.times;
  write_atomically(state, shown.dump(1) + "\n");
  // The smallest case follows the last hint of the list.
  note_hint(options, last.finding.id, static_cast<int>(std::min(next, hints.size())) + 1,
            last.finding.id);
  std::cout << coloured(last.finding.id + "  " + last.finding.title, Colour::kStrong)
            << (last.times == 1 ? "" : ", in " + std::to_string(last.times) + " checks") << "\n";
  if (next < hints.size()) std::cout << paragraph("  ", hints[next]);
  if (!smallest.sentence.empty()) {
    const std::string words =
        options.milestone + (options.stage.empty() ? "" : " --stage " + options.stage);
    const bool on_cpu = options.milestone == "m1";
    std::cout << paragraph("  ", smallest.sentence) << smallest.picture
              << paragraph("  ",
                           std::string("Compute one of its elements by hand, and let ") +
                               (on_cpu ? "your function" : "the thread that stores it") +
                               " print each product. --case belongs to build/bin/grader check " +
                               words + ".");
    if (!on_cpu) {
      std::cout << paragraph("  ",
                             "To see a block of your kernel step by step: build/bin/grader "
                             "show " +
                                 words);
    }
  }
  return true;
}

ExitCode run(const Options& options) {
  const CourseMilestone milestone = find_milestone(options.milestone);
  const Hints all = read_hints(milestone.folder / "hints.json");
  const std::optional<std::string> stage =
      options.stage.empty() ? std::nullopt : std::optional(options.stage);
  const std::vector<std::string>& hints = hints_of(all, milestone.id, stage);
  const std::string list = stage ? milestone.id + "/" + *stage : milestone.id;
  const auto state =
      options.state.empty() ? build_folder() / "hints.json" : std::filesystem::path(options.state);
  if (!options.again && !options.json && hint_for_finding(options, state)) {
    return ExitCode::kPassed;
  }
  nlohmann::json shown = read_shown(state);
  const auto known = shown.find(list);
  std::size_t count =
      known != shown.end() && known->is_number_unsigned() ? known->get<std::size_t>() : 0;
  count = std::min(count, hints.size());
  const bool was_last = count == hints.size();
  const std::size_t first = options.again ? 0 : std::min(count, hints.size() - 1);
  if (!options.again) count = std::min(count + 1, hints.size());

  if (!options.again) {
    shown[list] = count;
    // Stored first, then shown: a hint counts as soon as it is shown.
    write_atomically(state, shown.dump(1) + "\n");
    if (!was_last) {
      note_hint(options, list, static_cast<int>(count),
                last_finding(milestone.id, options.stage).finding.id);
    }
  }
  if (options.json) {
    const std::vector<std::string> seen(hints.begin(),
                                        hints.begin() + static_cast<std::ptrdiff_t>(count));
    nlohmann::ordered_json json = {{"milestone", milestone.id}};
    if (stage) json["stage"] = *stage;
    json["hints"] = seen;
    json["all"] = hints.size();
    print_json(json);
    return ExitCode::kPassed;
  }
  for (std::size_t i = first; i < count; ++i) {
    std::cout << coloured("Hint " + std::to_string(i + 1) + " of " + std::to_string(hints.size()),
                          Colour::kStrong)
              << "\n"
              << paragraph("  ", hints[i]);
  }
  if (options.again && count == 0) std::cout << "You have not asked for a hint yet.\n";
  if (!options.again && was_last) {
    std::cout << "That was the last hint. Read the chapter again, or ask your instructor.\n";
  }
  if (!stage && count == hints.size() && !all.stages.empty()) {
    std::cout << "Each stage has hints of its own: build/bin/grader hint " << milestone.id
              << " --stage NAME\n";
  }
  return ExitCode::kPassed;
}

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  auto [command, options] =
      add_command(app, exit_code, "hint", "Shows one more hint each time", run);
  command.add_option("MILESTONE", options.milestone, "m1, m2, …")->required();
  command.add_option("--stage", options.stage, "The hints for this stage");
  command.add_flag("--again", options.again, "Show the hints so far, and no new one");
  command.add_flag("--json", options.json, "Print all hints so far as JSON");
  command.add_option("--state", options.state)->group("");  // for tests: another memory
  command.footer(
      "If the last check found something, the first hints are about that: one more for\n"
      "each check that found it again. grader submit packs which hints you read: your\n"
      "instructor sees which ones help; no point depends on it.\n\n"
      "Examples:\n  build/bin/grader hint m1\n  build/bin/grader hint m4 --stage register-tiled");
}

}  // namespace convlab::grader::hint_command
