#include <CLI/CLI.hpp>
#include <sstream>

#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/course.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

namespace {

// "class grade"; null if this program has no such command.
CLI::App* command_of(CLI::App& app, const std::string& names) {
  CLI::App* command = &app;
  std::istringstream words(names);
  for (std::string word; words >> word;) {
    const auto found =
        command->get_subcommands([&](CLI::App* each) { return each->get_name() == word; });
    if (found.empty()) return nullptr;
    command = found.front();
  }
  return command;
}

// CLI11 indents each line.
std::string wrapped(const std::string& text) {
  const std::string indent(kHelpIndent, ' ');
  std::string lines = hanging(indent, kHelpIndent, text);
  for (auto at = lines.find(indent); at != std::string::npos; at = lines.find(indent)) {
    lines.erase(at, indent.size());
  }
  lines.pop_back();
  return lines;
}

}  // namespace

// A line "NAME: what it is for" begins a command. Below it, indented, stand its options with their
// meanings, and behind "|" the lines of its footer.
void describe(CLI::App& app) {
  CLI::App* command = nullptr;
  std::string footer;
  const auto folder = course_folder() / "grader/cli";
  const auto for_instructors = folder / "instructor/help.txt";  // not handed out
  std::string words = read_text(folder / "help.txt");
  if (std::filesystem::exists(for_instructors)) words += "\n" + read_text(for_instructors);
  for (const std::string& line : lines_of(words)) {
    const std::string text = trimmed(line);
    if (const auto colon = text.find(": "); line.find(' ') != 0 && colon != std::string::npos) {
      command = command_of(app, text.substr(0, colon));
      footer.clear();
      if (command != nullptr) command->description(text.substr(colon + 2));
    } else if (command != nullptr && line.starts_with("  |")) {
      footer += (footer.empty() ? "" : "\n") + line.substr(std::min<std::size_t>(line.size(), 4));
      command->footer(footer);
    } else if (command != nullptr && !text.empty()) {
      const auto end = text.find("  ");
      CLI::Option* option = command->get_option_no_throw(text.substr(0, end));
      if (option != nullptr) option->description(wrapped(text.substr(end)));
    }
  }
}

}  // namespace convlab::grader
