// Compares what users read with text files that a person has approved: grader/cli/tests/approved.
//
// After an intended change, this writes them again (look at the difference before you commit):
//
//     CONVLAB_APPROVE=1 build/ci/tests/test_grader_program "approval*"

#include <CLI/Version.hpp>
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <regex>
#include <sstream>

#include "common/base/tests/support/catch.hpp"
#include "common/base/whole_file.hpp"
#include "grader/cli/tests/small_course.hpp"
#include "grader/report/terminal.hpp"

using namespace convlab;
using grader::SmallCourse;

namespace {

// Replaces text that differs between machines or days.
std::string neutral(std::string text, const SmallCourse& course) {
  const auto exchange = [&text](const std::string& pattern, const std::string& with) {
    text = std::regex_replace(text, std::regex(pattern), with);
  };
  const auto folder = course.build().parent_path().string();
  for (auto at = text.find(folder); at != std::string::npos; at = text.find(folder)) {
    text.replace(at, folder.size(), "FOLDER");
  }
  exchange("isolation: [^\n]*\n([a-z][^\n]*\n)*", "isolation: …\n");
  exchange("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]+Z", "TIME");
  exchange("[0-9]{4}-[0-9]{2}-[0-9]{2}(-[0-9]{6})?", "DATE");
  exchange(" +[0-9.]+ (±[0-9.]+|once)", " TIME ±SPREAD");
  return text;
}

std::string approved_file(const std::string& name) {
  return std::string(CONVLAB_SOURCE_DIR) + "/grader/cli/tests/approved/" + name + ".txt";
}

void approve(const std::string& name, const std::string& text) {
  const std::filesystem::path file = approved_file(name);
  if (std::getenv("CONVLAB_APPROVE") != nullptr) write_atomically(file, text);
  INFO(
      "If the new text is better: CONVLAB_APPROVE=1 build/ci/tests/test_grader_program "
      "\"approval*\"");
  CHECK(text == read_text(file));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    // Lines with paths may be longer.
    if (line.find('/') == std::string::npos || line.find(' ', 2) != std::string::npos) {
      CHECK(convlab::display_width(line) <= grader::kColumns);
    }
    CHECK(line.find('\033') == std::string::npos);
    CHECK((line.empty() || line.back() != ' ' || line.ends_with("[y/N] ")));
  }
}

// Versions of CLI11 lay out help texts differently: with CLI11 2.3 the layout counts, with a later
// one every word must be there, whatever its case and the text around it: TEXT=fa23, TEXT
// [fa23].
[[maybe_unused]] void approve_words(const std::string& name, std::string text) {
  const auto lower = [](std::string& words) {
    for (char& c : words) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  };
  lower(text);
  std::string words = read_text(approved_file(name));
  std::replace_if(
      words.begin(), words.end(), [](char c) { return std::strchr("=[]{},:", c) != nullptr; }, ' ');
  std::istringstream approved(words);
  for (std::string word; approved >> word;) {
    lower(word);
    CAPTURE(word);
    CHECK(text.find(word) != std::string::npos);
  }
}

[[maybe_unused]] std::string without_empty_lines(const std::string& text) {
  return std::regex_replace(text, std::regex("\n+"), "\n");
}

}  // namespace

TEST_CASE("approval: help of the grader and of every command") {
  const SmallCourse course("plain_loops");
  std::string text;
  for (const char* command : {"", "next", "check", "watch", "list", "hint", "explain", "show",
                              "predict", "answer", "reset", "submit", "restore", "plot", "compare",
                              "report", "handout make", "doctor", "lint"}) {
    text += "$ grader " + std::string(command) + (*command == '\0' ? "" : " ") + "--help\n" +
            course.grader(std::string(command) + " --help").out;
  }
#if CLI11_VERSION_MAJOR == 2 && CLI11_VERSION_MINOR <= 3  // later ones lay out differently
  approve("help", without_empty_lines(neutral(text, course)));
#else
  approve_words("help", text);
#endif
}

TEST_CASE("approval: checks that find something") {
  const SmallCourse course("plain_loops");
  for (const char* submission : {"wrong_borders", "ignores_stride", "last_channel_only", "throws",
                                 "never_written", "prints_pass"}) {
    course.use(submission);
    approve(std::string("check_") + submission,
            neutral(course.grader("check m1 --batches 1 --seed 3").out, course));
  }
}

TEST_CASE("approval: a check that passes, and the points") {
  const SmallCourse course("plain_loops");
  approve("check_passed",
          neutral(course.grader("check m1 --batches 1,100 --no-speed --seed 3").out, course));
}

TEST_CASE("approval: a day of a student, from the list to the submission") {
  const SmallCourse course("wrong_borders");
  std::string text;
  const auto step = [&](const std::string& arguments) {
    text += "$ grader " + arguments + "\n" + course.grader(arguments).out + "\n";
  };
  step("list");
  step("hint m1");
  step("reset m1");
  step("submit m1");
  write_atomically(course.source(), "// my work\n");
  step("list");
  step("check m1 --batches 1 --seed 3");
  step("list");
  step("submit m1");
  step("reset m1");
  step("reset m1 --yes");
  step("check m7");
  step("check m1 --batches many");
  step("check");
  step("next");
  approve("student_day", neutral(text, course));
}

TEST_CASE("approval: colours on a terminal only, and not with NO_COLOR") {
  if (std::system("script --quiet --command true /dev/null >/dev/null 2>&1") != 0) {
    CONVLAB_SKIP("the program 'script' makes no terminal here");
  }
  const SmallCourse course("wrong_borders");
  const std::string on_terminal =
      "script --quiet --command './grader check m1 --batches 1' /dev/null";
  CHECK(course.shell("TERM=xterm " + on_terminal).out.find("\033[1;31mNOT PASSED\033[0m") !=
        std::string::npos);
  const std::string plain = course.shell("NO_COLOR=1 TERM=xterm " + on_terminal).out;
  CHECK(plain.find("NOT PASSED") != std::string::npos);
  CHECK(plain.find("\033[1;31m") == std::string::npos);
  CHECK(course.shell("TERM=dumb " + on_terminal).out.find("\033[1") == std::string::npos);
}
