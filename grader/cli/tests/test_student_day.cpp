#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "common/result/result.hpp"
#include "grader/checks/result/check_result.hpp"
#include "grader/cli/tests/small_course.hpp"
#include "grader/report/table.hpp"

using namespace convlab;
using convlab::testing::contains;
using grader::SmallCourse;
using testing::CommandResult;
namespace fs = std::filesystem;

namespace {

std::vector<std::filesystem::path> backups(const SmallCourse& course) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(course.source().parent_path())) {
    if (contains(entry.path().filename().string(), ".backup-")) found.push_back(entry.path());
  }
  return found;
}

}  // namespace

TEST_CASE("grader: what somebody wrote into a student's files moves no cursor and adds no tag") {
  if (std::system("command -v gnuplot >/dev/null") != 0) CONVLAB_SKIP("there is no gnuplot");
  const SmallCourse course("plain_loops");
  write_atomically(course.source(), "// my work\n");
  REQUIRE(course.grader("check m1 --batches 3").exit_code == 0);
  course.grader("hint m1");
  // Each text of each file, by its key: texts that are ids would be refused.
  const std::string hostile = "<script>\x1b[2J\r=1+1";
  const auto edit = [&](auto& self, nlohmann::ordered_json& json, const std::string& key) -> void {
    const bool is_text = key == "title" || key == "seen" || key == "cause" || key == "next" ||
                         key == "machine" || key == "why" || key == "isolation" || key == "what";
    if (json.is_string() && is_text) json = json.get<std::string>() + hostile;
    if (!json.is_structured()) return;
    for (auto& [name, each] : json.items()) self(self, each, json.is_array() ? key : name);
  };
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(course.build())) {
    if (!entry.path().extension().string().starts_with(".json")) continue;
    std::string text;
    std::istringstream lines(read_text(entry.path()));
    const bool many = entry.path().extension() == ".jsonl";
    for (std::string part; std::getline(lines, part, many ? '\n' : '\0');) {
      auto json = nlohmann::ordered_json::parse(part);
      edit(edit, json, "");
      text += json.dump() + "\n";
    }
    write_atomically(entry.path(), text);
    ++files;
  }
  CHECK(files >= 3);  // result, history, notebook
  for (const std::string command :
       {"next", "list", "hint m1", "answer m1 </dev/null", "report m1",
        "compare ../results/m1-student.json ../results/m1-student.json", "submit m1"}) {
    const CommandResult run = course.grader(command);
    INFO(command << "\n" << run.out);
    CHECK(run.exit_code != 3);
    CHECK(run.out.find('\x1b') == std::string::npos);
    CHECK(run.out.find('\r') == std::string::npos);
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(course.build())) {
    if (entry.path().extension() != ".html" && entry.path().extension() != ".md") continue;
    INFO(entry.path().string());
    const std::string page = read_text(entry.path());
    CHECK(page.find('\x1b') == std::string::npos);
    CHECK(page.find("<script>=1+1") == std::string::npos);
  }
}

TEST_CASE("grader check: before anything is written it finds what the chapter of m1 shows") {
  const SmallCourse course("plain_loops");
  const std::filesystem::path own = course.build() / "bin" / "m1";
  std::filesystem::remove(own);
  std::filesystem::copy_file(std::filesystem::path(CONVLAB_BINARY_DIR) / "m1", own);
  const std::string chapter = read_text(course.source().parent_path() / "README.md");
  const std::string out = course.grader("check m1 --batches 1").out;
  INFO(out);
  const auto begin = out.find("  E-not-implemented");
  REQUIRE(begin != std::string::npos);
  for (const std::string& line : lines_of(out.substr(begin, out.find("\n\n", begin) - begin))) {
    CHECK(contains(chapter, "\n  " + line + "\n"));
  }
}

TEST_CASE("grader reset: asks, keeps a backup, puts the file back byte for byte") {
  const SmallCourse course("plain_loops");
  const std::string handed_out = read_text(course.source());
  write_atomically(course.source(), "// my work\n");
  CHECK(contains(course.grader("reset m1").out, "[y/N] \nNothing was changed.\n"));
  CHECK(contains(course.shell("echo n | ./grader reset m1").out, "Nothing was changed."));
  CHECK(read_text(course.source()) == "// my work\n");
  CHECK(backups(course).empty());

  const CommandResult agreed = course.shell("echo y | ./grader reset m1");
  CHECK(agreed.exit_code == 0);
  CHECK(read_text(course.source()) == handed_out);
  REQUIRE(backups(course).size() == 1);
  CHECK(read_text(backups(course).front()) == "// my work\n");

  // A second one, perhaps in the same second: both backups stay.
  write_atomically(course.source(), "// my second work\n");
  CHECK(course.grader("reset m1 --yes").exit_code == 0);
  CHECK(backups(course).size() == 2);
  std::filesystem::remove(course.source());
  CHECK(contains(course.grader("next").out, "Its file is missing"));
  CHECK(contains(course.grader("reset m1 --yes").out, "is missing."));
  CHECK(read_text(course.source()) == handed_out);
}

TEST_CASE("grader reset: an edited copy is no hand-out; without a true one nothing is touched") {
  const SmallCourse course("plain_loops");
  write_atomically(course.source(), "// my work\n");
  write_atomically(course.build() / "pristine/milestones/m1_cpu_baseline/conv_forward.cpp", "no\n");
  const CommandResult run = course.grader("reset m1 --yes");
  CHECK(run.exit_code == 3);
  CHECK(contains(run.out,
                 "There is no copy of milestones/m1_cpu_baseline/conv_forward.cpp as "
                 "handed out"));
  CHECK(read_text(course.source()) == "// my work\n");
}

TEST_CASE("grader submit: only what was checked, and the same bytes for the same files") {
  const SmallCourse course("wrong_borders");
  write_atomically(course.source(), "// my work\n");
  CHECK(course.grader("check m1 --batches 1").exit_code == 1);
  const CommandResult first = course.grader("submit m1");
  INFO(first.out);
  CHECK(first.exit_code == 0);
  CHECK(contains(first.out, "not passed"));
  CHECK_FALSE(contains(first.out, "was checked yet"));
  const auto archive = course.build() / "submissions" / "m1-submission.tar.gz";
  const std::string bytes = read_text(archive);
  CHECK(course.grader("submit m1 --output ../again.tar.gz").exit_code == 0);
  CHECK(read_text(course.build() / "again.tar.gz") == bytes);

  const CommandResult list = course.shell("tar --list --file " + archive.string());
  CHECK(list.out ==
        "m1-submission/\n"
        "m1-submission/MANIFEST.sha256\n"
        "m1-submission/history.jsonl\n"
        "m1-submission/milestones/\n"
        "m1-submission/milestones/m1_cpu_baseline/\n"
        "m1-submission/milestones/m1_cpu_baseline/conv_forward.cpp\n"
        "m1-submission/notebook.json\n"
        "m1-submission/result.json\n");
  CHECK(course
            .shell("tar --extract --directory .. --file " + archive.string() +
                   " && cd ../m1-submission && sha256sum --check MANIFEST.sha256")
            .exit_code == 0);
  CHECK(read_text(course.build() / "m1-submission/milestones/m1_cpu_baseline/conv_forward.cpp") ==
        read_text(course.source()));

  write_atomically(course.source(), read_text(course.source()) + "// later\n");
  const CommandResult changed = course.grader("submit m1");
  CHECK(changed.exit_code == 1);
  CHECK(contains(changed.out, "The file of stage baseline is not the one that was last checked."));
  CHECK(read_text(archive) == bytes);
}

TEST_CASE("grader check: what does not compile gets the compiler's first error") {
  const SmallCourse course("plain_loops");
  course.set_cmake(
      "echo 'ninja: entering'; echo \"a.cpp:3:5: error: expected ';'\"; echo '  x'; "
      "echo '  ^'; exit 1");
  const CommandResult run = course.grader("check m1");
  CHECK(run.exit_code == 1);
  CHECK(contains(run.out,
                 "  E-build  it does not compile\n"
                 "    seen   a.cpp:3:5: error: expected ';'\n"
                 "             x\n"
                 "             ^\n"));
  const auto check = grader::read_check_result(course.build() / "results" / "m1-student.json");
  CHECK(check.findings.at(0).id == "E-build");
  CHECK(check.score->earned() == 0);
}

TEST_CASE(
    "grader: a wrong use of a command that is not built yet is told at once, as its help is") {
  const SmallCourse course("plain_loops");
  course.add_milestone("m2_gpu_baseline");
  course.set_cmake("echo 'a.cpp:1:1: error: built'; exit 1");
  fs::remove(course.build() / "bin" / "grader-views");
  for (const auto& [words, says] : {std::pair{"plot", "RESULT is required"},
                                    {"report m9", "no milestone 'm9'"},
                                    {"explain m1", "m1 has none"},
                                    {"explain m2", "none of m2 has passed"},
                                    {"explain m2 --stage baseline", "baseline has not passed"},
                                    {"show m2 --stage nosuch", "no stage 'nosuch'"},
                                    {"profile m2 --layer 0x1", "is no whole"},
                                    {"compare --by-files", "Did you mean --by-file?"}}) {
    const CommandResult run = course.grader(words);
    INFO(words << "\n" << run.out);
    CHECK(run.exit_code != 0);
    CHECK(contains(run.out, says));
    CHECK_FALSE(contains(run.out, "also builds"));
  }
  const CommandResult help = course.grader("plot --help");
  CHECK(help.exit_code == 0);
  CHECK(contains(help.out, "Draws op times"));
  const CommandResult built = course.grader("profile m2");
  INFO(built.out);
  CHECK(contains(built.out, "also builds this command"));
  CHECK(contains(built.out, "does not build: a.cpp:1:1: error: built\nBuild it: cmake"));
}

TEST_CASE("grader check: a missing CMake or compiler is the environment's fault") {
  const SmallCourse course("plain_loops");
  const CommandResult no_cmake = course.shell(
      "mkdir tools && ln -s \"$(command -v sha256sum)\" tools/ && PATH=$PWD/tools "
      "./grader check m1");
  CHECK(no_cmake.exit_code == 3);
  CHECK(contains(no_cmake.out, "CMake is not found; to install it: common/setup/lab setup"));
  // Printed text is no evidence: a source can make a compiler print it.
  course.set_cmake(
      "echo '/bin/sh: 1: /usr/bin/c++: not found'; echo 'No space left on device'; exit 1");
  CHECK(course.grader("check m1").exit_code == 1);
  write_atomically(course.build() / "custom_submission" / "cpu.compile", "/nonexistent/c++\n");
  const CommandResult no_compiler = course.grader("check m1");
  CHECK(no_compiler.exit_code == 3);
  CHECK(contains(no_compiler.out, "compiler that this build was configured with is gone"));
  CHECK(contains(no_compiler.out, "/nonexistent/c++"));
}

TEST_CASE("grader check: a missing file is told before CMake fails because of it") {
  const SmallCourse course("plain_loops");
  fs::create_directories(course.build() / "custom_submission");
  course.set_cmake("echo 'rebuilding build.ninja: subcommand failed'; exit 1");
  fs::remove(course.source());
  const CommandResult run = course.grader("check m1");
  CHECK(run.exit_code == 2);
  CHECK(contains(run.out, "There is no file to check in "));
  CHECK(contains(run.out, "build/bin/grader reset m1 puts it back"));
}

TEST_CASE("grader list: a check that reached no stage is told, with its date") {
  const SmallCourse course("plain_loops");
  write_atomically(course.source(), "// my work\n");
  CHECK(course.grader("check m1 --batches 1 --no-speed").exit_code == 0);
  CHECK(contains(course.grader("list").out, "passed at batch 1  20"));
  CHECK(contains(course.grader("list").out,
                 "\n0 of 1 stage passed\n1 more passes at small batches only;"));
  CHECK(
      contains(course.grader("submit m1").out, "  Up to batch 1 only; a whole check goes to 1000"));
  course.set_cmake("echo 'a.cpp:1:1: error: no'; exit 1");
  CHECK(course.grader("check m1").exit_code == 1);
  CHECK(contains(course.grader("list").out, "not passed (E-build)  20"));
  // The program of the milestone need not be built.
  std::filesystem::remove(course.build() / "bin" / "m1");
  CHECK(contains(course.grader("list").out, "not passed (E-build)  20"));
}

TEST_CASE("grader next: leads from the exercise to its explanation and the questions, to the end") {
  const SmallCourse course("plain_loops");
  // Without line breaks.
  const auto next = [&] {
    std::istringstream words(course.grader("next").out);
    std::string text;
    for (std::string word; words >> word;) text += word + " ";
    return text;
  };
  CHECK(contains(next(), "stages 0 of 1"));
  CHECK(contains(next(), "Next: the exercise of m1. Read "));
  CHECK(contains(next(), "build/bin/grader watch m1"));
  write_atomically(course.source(), "// my work\n");
  CHECK(contains(next(), "was not checked as it is now."));
  CHECK(course.grader("check m1 --batches 1 --no-speed").exit_code == 0);
  CHECK(contains(next(), "It passes with few images."));
  // A thousand images are no whole check of a CPU: `check`, `next`, `list` and `submit` agree.
  course.say_batch(1, 1000);
  CHECK(contains(next(), "It passes with few images."));
  CHECK(contains(course.grader("list").out, "1 more passes at small batches only;"));
  CHECK(contains(course.grader("submit m1").out, "a whole check goes to 10000"));
  course.say_batch(1000, 10'000);
  CHECK(contains(course.grader("list").out, "1 of 1 stage passed"));
  const std::string passed = next();
  INFO(passed);
  // One case is no check of the stage.
  CHECK(course.grader("check m1 --case 1,1,1,3,3,1").exit_code == 0);
  CHECK(next() == passed);
  CHECK(contains(passed, "stages 1 of 1, questions 0 of "));
  CHECK(contains(next(), "Next: question 1 of the chapter of m1. How many multiply-adds"));
  CHECK(course.grader("answer m1 9").exit_code == 2);
  CHECK(contains(course.grader("answer m1 1 '2 GFLOP/s'").out, "Kept: "));
  CHECK(contains(course.grader("answer m1").out, "      Yours: 2 GFLOP/s\n"));
  CHECK(contains(next(), "Next: question 2 of"));

  // A new clone on another machine continues there.
  CHECK(course.grader("submit m1 --output ../mine.tar.gz").exit_code == 0);
  const SmallCourse clone("plain_loops");
  const std::string archive = (course.build() / "mine.tar.gz").string();
  const CommandResult restored = clone.grader("restore " + archive);
  INFO(restored.out);
  CHECK(restored.exit_code == 0);
  CHECK(read_text(clone.source()) == "// my work\n");
  CHECK(contains(clone.grader("next").out, "Next: question 2 of"));
  CHECK(contains(clone.grader("list").out, "1 of 1 stage passed"));
  // Again over other work: a backup.
  write_atomically(clone.source(), "// other work\n");
  CHECK(contains(clone.grader("restore " + archive).out, "Yours is now\n"));
  CHECK(read_text(backups(clone).at(0)) == "// other work\n");
  const std::string bad = " && gzip -dc " + archive + " | sed 's/my work/no work/' | gzip >bad.tgz";
  CHECK(contains(clone.shell("true" + bad + "; ./grader restore bad.tgz").out,
                 "no whole archive of grader submit: milestones/"));
  // One without an end, or of somebody else's files.
  const std::string link =
      " && mkdir m1-submission && ln -s /dev/zero m1-submission/result.json && "
      "tar -czf link.tgz m1-submission";
  CHECK(contains(clone.shell("true" + link + "; ./grader restore link.tgz").out,
                 "holds a link or a device"));

  for (int question = 2; question <= 7; ++question) {
    CHECK(course.grader("answer m1 " + std::to_string(question) + " mine").exit_code == 0);
  }
  CHECK(contains(next(), "Congratulations!"));

  // Where stages are begun: broken kernels for practice, and the fast track.
  course.add_milestone("m4_optimizations");
  const auto stage = course.course() / "milestones/m4_optimizations/stages/im2col_gemm.cu";
  write_atomically(stage, read_text(stage) + "// begun\n");
  const std::string practice = next();
  INFO(practice);
  CHECK(contains(practice, "practice 0 of 11"));
  CHECK(contains(practice, "For practice, without points: find the mistake of a broken kernel"));
  CHECK(contains(practice, "In a hurry? A stage that passes counts for the stages it was made"));
}

TEST_CASE("grader predict: before the first measurement, beside it in the report") {
  const SmallCourse course("plain_loops");
  write_atomically(course.source(), "// my work\n");
  const std::string slip = "predict m1 --limit latency --loads 2 --op-ms 900 ";
  CHECK(course.grader("predict m1 --stage bse").exit_code == 2);
  CHECK(course.grader("predict m1 --stage baseline --limit latency").exit_code == 2);
  CHECK(contains(course.grader(slip).out, "The prediction needs --because: Why?"));
  // In a terminal it asks until the answer fits.
  const std::string terminal = course
                                   .shell(
                                       "printf 'luck\\nlatency\\n900\\nno idea\\n' | "
                                       "script -qec './grader predict m1' /dev/null")
                                   .out;
  CHECK(contains(terminal, "What will limit it? memory, "));
  CHECK(contains(terminal, "Why? In a sentence, with a number that you counted."));
  CHECK(contains(course.grader(slip + "--because 'just a feeling'").out,
                 "A reason is a sentence of eight words or more"));
  const std::string reason =
      "--because 'each of the 49 products waits four cycles for the sum before it'";
  CHECK(contains(course.grader(slip + reason).out, "Kept. "));
  CHECK(contains(course.grader(slip + reason).out, "You predicted on 20"));
  CHECK(course.grader("check m1 --batches 1000 --no-speed").exit_code == 0);
  CHECK(course.grader("answer m1 baseline 'The 4 cycles overlap.'").exit_code == 0);
  CHECK(course.grader("answer m1 4 'It takes 98765.4 ms.'").exit_code == 0);
  if (std::system("command -v gnuplot >/dev/null") != 0) CONVLAB_SKIP("there is no gnuplot");
  CHECK(course.grader("report m1 --output ../report").exit_code == 0);
  const std::string report = read_text(course.build() / "report" / "report.md");
  INFO(report);
  CHECK(contains(report, "## Predicted and measured"));
  CHECK(contains(report, "| loads for each multiply-add | 2.00 |"));
  CHECK(contains(report, "| op time at 1000 images, ms | 900 | "));
  CHECK(contains(report, "The 4 cycles overlap."));
  CHECK(contains(report, "It takes 98765.4 ms."));
  CHECK(contains(report, "Checked: it names no number of these results."));
  // A number that a check showed is known, although the results are newer.
  const auto times = grader::known_times(read_result(course.build() / "results/m1-student.json"));
  // Three decimals: files round each sample, and this is a sum of them.
  std::string took = std::to_string(std::round(times.back().value * 1e3) / 1e3);
  took.resize(took.size() - 3);
  CHECK(course.grader("check m1 --batches 1 --no-speed").exit_code == 0);
  CHECK(course.grader("answer m1 4 'It takes " + took + " ms.'").exit_code == 0);
  CHECK(course.grader("report m1 --output ../report").exit_code == 0);
  CHECK(contains(read_text(course.build() / "report" / "report.md"),
                 "Checked: " + took +
                     ": the op time of all convolutions of baseline at 1000 "
                     "images, 20"));
  const CommandResult longest = course.grader("answer m1 4 " + std::string(9000, 'a'));
  CHECK(longest.exit_code == 2);
  CHECK(contains(longest.out, "An answer has at most 5000 letters; this has 9000."));

  const SmallCourse late("plain_loops");
  write_atomically(late.source(), "// my work\n");
  CHECK(late.grader("check m1 --batches 1 --no-speed").exit_code == 0);
  const CommandResult refused = late.grader(slip + reason);
  CHECK(refused.exit_code == 1);
  CHECK(contains(refused.out, "baseline was measured already on 20"));
}

TEST_CASE("grader hint: a stage has a list of its own, remembered apart; others are refused") {
  const SmallCourse course("plain_loops");
  course.add_milestone("m4_optimizations");
  const auto hint = [&](const std::string& words) { return course.grader("hint " + words); };
  CHECK(contains(hint("m1").out, "Hint 1 of "));
  CHECK_FALSE(contains(hint("m1 --again").out, "Hint 2 of "));
  CHECK(contains(hint("m4 --stage register-tiled").out, "Hint 1 of "));
  CHECK(contains(hint("m4 --stage register-tiled").out, "Hint 2 of "));
  CHECK(contains(hint("m4 --stage winograd").out, "Hint 1 of "));
  CHECK(contains(hint("m4").out, "Hint 1 of "));
  std::string last;
  for (int i = 0; i < 20; ++i) last = hint("m4").out;
  CHECK(contains(last, "That was the last hint."));
  CHECK(contains(last, "build/bin/grader hint m4 --stage NAME"));
  const CommandResult unknown = hint("m4 --stage fast");
  CHECK(unknown.exit_code == 2);
  CHECK(contains(unknown.out, "no stage 'fast' in m4; the stages are: "));
  CHECK(contains(unknown.out, "register-tiled"));
  const CommandResult none = hint("m1 --stage baseline");
  CHECK(none.exit_code == 2);
  CHECK(contains(none.out, "ask without --stage: build/bin/grader hint m1"));
}

TEST_CASE("grader hint: first about the finding, one more for each check that found it again") {
  const SmallCourse course("wrong_borders");
  const auto hint = [&] { return course.grader("hint m1").out; };
  write_atomically(course.source(), "// my work\n");
  CHECK(course.grader("check m1 --batches 1").exit_code == 1);
  CHECK(contains(
      hint(), "E-terms  products are missing, or count several times\n  The finding says which"));
  CHECK(contains(hint(), "Hint 1 of "));
  CHECK(course.grader("check m1 --batches 1").exit_code == 1);
  CHECK(contains(hint(), ", in 2 checks\n  Take the smallest failing case"));
  CHECK(course.grader("check m1 --batches 1").exit_code == 1);
  const std::string third = hint();
  INFO(third);
  CHECK(contains(third, ", in 3 checks\n  The smallest case that fails: B=1"));
  CHECK(contains(third, "--case\n  1,1,1,1,1,1,1 runs it alone"));
  CHECK(contains(third, "expected"));
  CHECK(contains(third, " # "));
  CHECK(contains(third, "let your function print each"));
  CHECK(contains(hint(), "Hint 2 of "));
  course.use("plain_loops");
  CHECK(course.grader("check m1 --batches 1 --no-speed").exit_code == 0);
  CHECK(contains(hint(), "Hint 3 of "));
  // What was read, and after which finding, goes along with the archive.
  CHECK(course.grader("submit m1").exit_code == 0);
  const auto notebook = nlohmann::json::parse(
      course.shell("tar -xzOf ../submissions/m1-submission.tar.gz m1-submission/notebook.json")
          .out);
  std::vector<std::string> read;
  for (const auto& each : notebook.at("hints")) {
    read.push_back(each.at("list").get<std::string>() + " " +
                   std::to_string(each.at("number").get<int>()) + " " + each.value("finding", ""));
  }
  CHECK(read == std::vector<std::string>{"E-terms 1 E-terms", "m1 1 E-terms", "E-terms 2 E-terms",
                                         "E-terms 3 E-terms", "m1 2 E-terms", "m1 3 "});
}

TEST_CASE("grader hint: a puzzle and a repair, by what their checks found and how often") {
  const SmallCourse course("plain_loops");
  course.add_milestone("m2_gpu_baseline");
  course.add_milestone("m4_optimizations");
  const std::string found =
      R"({"created": "1", "milestone": "m4", "stages": ["left-alone"], "findings": [)"
      R"({"id": "E-barrier", "title": "not all arrive", "stage": "left-alone", )"
      R"("smallest": "The smallest case that fails: B=1.\nPixels:\n    expected  found\n    # .  . ."}]})";
  const auto hint = [&] { return course.grader("hint m4 --stage left-alone").out; };
  CHECK(contains(hint(), "The hints for left-alone are about what its last check found"));
  for (int i = 0; i < 3; ++i)
    course.shell("mkdir -p ../results; printf '%s\\n' '" + found + "' >> ../results/history.jsonl");
  CHECK(contains(hint(), "E-barrier  not all arrive, in 3 checks\n  Which threads do not arrive?"));
  const std::string last = hint();
  INFO(last);
  CHECK(contains(last, "The smallest case that fails: B=1."));
  CHECK(contains(last, "      # .  . .\n"));
  CHECK_FALSE(contains(last, "--case"));
  CHECK(contains(hint(), "The smallest case that fails: B=1."));
  CHECK(contains(hint(), "are about what its last check found"));
  CHECK(contains(course.grader("hint m2 --stage index").out, "Hint 1 of 4"));
}
