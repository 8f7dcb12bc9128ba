#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/file/whole_file.hpp"
#include "grader/cli/commands.hpp"
#include "grader/cli/course.hpp"
#include "grader/cli/hints.hpp"
#include "grader/cli/print_json.hpp"
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

ExitCode run(const Options& options) {
  const CourseMilestone milestone = find_milestone(options.milestone);
  const Hints all = read_hints(milestone.folder / "hints.json");
  const std::optional<std::string> stage =
      options.stage.empty() ? std::nullopt : std::optional(options.stage);
  const std::vector<std::string>& hints = hints_of(all, milestone.id, stage);
  const std::string list = stage ? milestone.id + "/" + *stage : milestone.id;
  const auto state =
      options.state.empty() ? build_folder() / "hints.json" : std::filesystem::path(options.state);
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
      "Examples:\n  build/bin/grader hint m1\n  build/bin/grader hint m4 --stage register-tiled");
}

}  // namespace convlab::grader::hint_command
