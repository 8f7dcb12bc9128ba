#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/base/run_process.hpp"
#include "common/base/scratch_folder.hpp"
#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/course.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader::handout_command {

namespace {

namespace fs = std::filesystem;

/// milestones/handout.list: what a hand-out holds.
struct HandoutList {
  std::vector<std::string> patterns{};  ///< of files
  std::vector<std::string> told{};      ///< lines of the solutions that are no secret
};

bool is_source(const std::string& file) {
  return file.ends_with(".cpp") || file.ends_with(".cu") || file.ends_with(".cuh") ||
         file.ends_with(".hpp");
}

/// The text files below a folder, by their path from it.
std::map<std::string, std::string> texts_below(const fs::path& folder) {
  std::map<std::string, std::string> texts;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::string text = read_text(entry.path());
    if (text.find('\0') != std::string::npos) continue;
    texts.emplace(entry.path().lexically_relative(folder).generic_string(), std::move(text));
  }
  return texts;
}

/// What of a text can tell an answer, however it is broken into lines, quoted or commented out.
struct Squeezed {
  std::string text{};
  std::vector<int> line{};  ///< of each character

  explicit Squeezed(const std::string& whole) {
    int number = 1;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      const auto byte = static_cast<unsigned char>(whole[i]);
      if (byte == '\n') ++number;
      if (byte == '\\' && whole.compare(i, 2, "\\n") == 0) ++i;  // of a text in JSON
      if (std::isspace(byte) != 0 || std::strchr("\"\\/*,>", byte) != nullptr) continue;
      text += whole[i];
      line.push_back(number);
    }
  }
};

// Shorter lines say nothing: "float sum = 0;". Of a line that a page has cut, so much tells it.
constexpr std::size_t kTelling = 16;
constexpr std::size_t kBeginning = 30;

// A line that computes: the others declare, and stand in every exercise.
bool computes(const std::string& line) {
  return std::ranges::any_of(
      std::initializer_list<const char*>{"[", "%", "?", "+=", "<<<", "_sync(", " * "},
      [&](const char* sign) { return line.find(sign) != std::string::npos; });
}

/// The lines of the solutions that tell something, squeezed, by how they begin.
class TellingLines {
 public:
  explicit TellingLines(const HandoutList& list) {
    for (const std::string& line : list.told) told_.insert(Squeezed(line).text);
  }

  void add(const std::string& path, const std::string& text) {
    int number = 0;
    for (std::string line : lines_of(text)) {
      ++number;
      // Of the changes that solve a puzzle only what they add.
      if (path.ends_with(".change")) line = line.starts_with("+ ") ? line.substr(2) : "";
      line.resize(std::min(line.size(), line.find("//")));
      const std::string squeezed = Squeezed(line).text;
      if (squeezed.size() < kTelling || squeezed.front() == '#' || !computes(line)) continue;
      if (told_.count(squeezed) > 0) continue;
      by_start_[squeezed.substr(0, kTelling)].push_back(
          {squeezed, path + ":" + std::to_string(number)});
    }
  }

  /// Those of a folder of solutions.
  void add_all(const fs::path& solutions) {
    for (const auto& [path, text] : texts_below(solutions)) {
      if (path.find("tests/") != std::string::npos) continue;
      if (is_source(path) || path.ends_with(".change")) add(path, text);
    }
  }

  [[nodiscard]] bool is_empty() const { return by_start_.empty(); }

  /// Calls found(line, place of the solution) for what `text` tells. Hints for a puzzle, the
  /// puzzles after it and the exercise tell its few lines.
  /// @param beginning  so much tells a line that is cut
  template <typename Found>
  void find_in(const std::string& text, const std::string& file, const Found& found,
               std::size_t beginning = kBeginning) const {
    const bool may_tell = file.starts_with("milestones/") && !file.ends_with(".md");
    const Squeezed squeezed(text);
    int last = 0;
    for (std::size_t at = 0; at + kTelling <= squeezed.text.size(); ++at) {
      if (squeezed.line[at] == last) continue;
      const auto same = by_start_.find(squeezed.text.substr(at, kTelling));
      if (same == by_start_.end()) continue;
      const auto told = std::ranges::find_if(same->second, [&](const auto& line) {
        return !(may_tell && line.second.find(".change:") != std::string::npos) &&
               tells(squeezed.text, at, line.first, beginning);
      });
      if (told != same->second.end()) found(last = squeezed.line[at], told->second);
    }
  }

 private:
  // The whole line, or so much of it that a page has cut.
  static bool tells(const std::string& text, std::size_t at, const std::string& line,
                    std::size_t beginning) {
    const auto [end, rest] = std::ranges::mismatch(line, std::string_view(text).substr(at));
    const auto same = static_cast<std::size_t>(end - line.begin());
    return end == line.end() || (same >= beginning && text.compare(at + same, 3, "…") == 0);
  }

  std::set<std::string> told_;
  std::unordered_map<std::string, std::vector<std::pair<std::string, std::string>>> by_start_;
};

// The batches that the chapters publish; others are hidden, and are counted when they are checked.
constexpr std::array kPublishedBatches = {100, 500, 1000, 5000, 10'000};

HandoutList read_list(const fs::path& file) {
  HandoutList list;
  for (const std::string& line : lines_of(read_text(file))) {
    if (line.empty() || line.front() == '#') continue;
    const std::string told = "told ";
    if (line.starts_with(told)) {
      list.told.push_back(line.substr(told.size()));
    } else {
      list.patterns.push_back(line);
    }
  }
  return list;
}

// A page without the parts for instructors, without blocks of ```diff, which show right lines, and
// without what a quoted line of a source, "conv_forward.cu:59 | sum += …", tells of a solution.
std::string page_for_students(const std::string& page, const TellingLines& lines) {
  std::string kept;
  bool for_instructors = false;
  bool diff = false;
  std::vector<std::string> all = lines_of(page);
  for (auto next = all.begin(); next != all.end();) {
    std::string line = *next++;
    if (line == "<!-- for instructors -->") for_instructors = true;
    if (line == "```diff") diff = true;
    if (const auto bar = line.find(" | "); bar != std::string::npos && line.starts_with("    ")) {
      const std::string quote = line;
      std::string code = line.substr(bar);
      // A long line goes on below its beginning.
      while (next != all.end() && next->find_first_not_of(' ') == bar + 3) {
        code += *next;
        line += "\n" + *next++;
      }
      const auto cut = [&](int, const std::string&) { line = quote.substr(0, bar) + " | …"; };
      lines.find_in(code, "page.md", cut, kTelling);
    }
    if (!for_instructors && !diff && line != "<!-- for everybody -->") kept += line + "\n";
    if (line == "<!-- for everybody -->") for_instructors = false;
    if (line == "```") diff = false;
  }
  return kept;
}

// The places of `tree` that tell an answer, each a sentence that names file and line: lines of the
// solutions in any text file whatever their spaces, exercises that are solved, and counts of hidden
// batches.
// @param lines  of the solutions
std::vector<std::string> answers_in(const fs::path& tree, const TellingLines& lines) {
  std::vector<std::string> problems;
  if (lines.is_empty()) return {"There are no solutions to compare with in reference/solutions."};
  for (const auto& [path, text] : texts_below(tree)) {
    // With OpenMP clang 16 captures no structured binding.
    lines.find_in(
        text, path, [&, &path = path, &text = text](int number, const std::string& place) {
          const std::string line = trimmed(lines_of(text)[static_cast<std::size_t>(number) - 1]);
          problems.push_back(path + ":" + std::to_string(number) + " tells the line " + place +
                             ": " + line.substr(0, 120));
        });
    if (path.starts_with("milestones/") && is_source(path) && !is_puzzle(path) &&
        text.find("convlab::not_implemented(") == std::string::npos) {
      problems.push_back(path + " is solved: it does not call convlab::not_implemented.");
    }
  }
  for (const auto& entry : fs::directory_iterator(tree / "reference/oracle/expected")) {
    const auto json = nlohmann::json::parse(read_text(entry.path()));
    for (const auto& each : json.at("counts")) {
      const auto batch = each.at("batch").get<int>();
      if (std::ranges::find(kPublishedBatches, batch) != kPublishedBatches.end()) continue;
      problems.push_back(entry.path().filename().string() +
                         " tells the count of the hidden batch " + each.at("batch").dump() + ".");
    }
  }
  return problems;
}

// The files of the tree that git tracks and the list names; sorted.
std::vector<std::string> listed_files(const HandoutList& list) {
  std::vector<std::string> words = {"git", "-C", course_folder().string(), "ls-files", "-z", "--"};
  for (const std::string& pattern : list.patterns) {
    words.push_back(":(glob)" + pattern + (pattern.ends_with('/') ? "*" : ""));
  }
  const FinishedProcess run = run_process({.words = words});
  if (!run.succeeded()) {
    throw EnvironmentError("A hand-out is made from a git working tree, and " +
                           course_folder().string() + " is none: " + trimmed_end(run.errors));
  }
  std::vector<std::string> files;
  std::istringstream names(run.output);
  for (std::string name; std::getline(names, name, '\0');) files.push_back(name);
  return files;
}

// Where a file of this tree lies in a hand-out.
std::string place_of(const std::string& file) {
  const std::string top = "milestones/handout_files/";
  return file.starts_with(top) ? file.substr(top.size()) : file;
}

struct HandoutOptions {
  std::string output, term;
};

ExitCode run(const HandoutOptions& options) {
  if (options.term.empty() ||
      options.term.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                     "0123456789-") != std::string::npos) {
    throw UsageError("A term consists of letters, digits and '-', such as SP27.");
  }
  const HandoutList list = read_list(course_folder() / "milestones/handout.list");
  const std::string name = "convlab-" + options.term;
  const fs::path parent = fs::absolute(options.output);
  const fs::path tree = parent / name;
  if (fs::exists(tree)) {
    throw UsageError(display_path(tree) + " exists already; remove it, or name another folder.");
  }
  fs::create_directories(parent);
  // Under another name until it is complete and checked.
  const ScratchFolder scratch(parent);
  const fs::path half = scratch.path() / name;
  TellingLines lines(list);
  if (fs::is_directory(course_folder() / "reference/solutions"))
    lines.add_all(course_folder() / "reference/solutions");
  int count = 0;
  for (const std::string& file : listed_files(list)) {
    const fs::path from = course_folder() / file;
    const std::string place = place_of(file);
    if (!fs::is_regular_file(from)) continue;
    fs::create_directories((half / place).parent_path());
    fs::copy_file(from, half / place, fs::copy_options::overwrite_existing);
    if (file.ends_with(".md")) {
      write_atomically(half / place, page_for_students(read_text(from), lines));
    }
    ++count;
  }
  const auto problems = answers_in(half, lines);
  for (const std::string& problem : problems) std::cout << paragraph("- ", problem);
  if (!problems.empty()) {
    throw Error(ExitCode::kFallsShort,
                "No hand-out was made: it would contain answers, see above.");
  }
  const auto bytes = packed(scratch.path(), name);
  write_atomically(parent / (name + ".tar.gz"), bytes);
  fs::rename(half, tree);
  std::cout << count << " files\n"
            << display_path(tree) << "\n"
            << display_path(parent / (name + ".tar.gz")) << "\n";
  return ExitCode::kPassed;
}

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  CLI::App* group = app.add_subcommand("handout");
  group->require_subcommand(1);
  auto [command, options] = add_command(*group, exit_code, "make", run);
  command.add_option("OUT", options.output)->required();
  command.add_option("--term", options.term)->required();
}

}  // namespace convlab::grader::handout_command
