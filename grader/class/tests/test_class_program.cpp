// The class through the real program. Most tests let a script stand for the grader that checks, so
// that they see only what the class does with its answers.
#include <chrono>
#include <nlohmann/json.hpp>
#include <random>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "grader/checks/result/check_result.hpp"
#include "grader/class/database.hpp"
#include "grader/class/tests/gradescope_fields.hpp"
#include "grader/class/tests/made_up_class.hpp"
#include "grader/class/tests/played_term.hpp"
#include "grader/judge/tests/right_evidence.hpp"

using namespace convlab;
using convlab::testing::contains;
namespace fs = std::filesystem;

namespace {

/// A class of m1 whose grader is a script.
class MadeUpClass : public grader::testing::PlayedTerm {
 public:
  explicit MadeUpClass(const std::string& script) { write_grader(script); }

  void add(const std::string& name, const std::string& text) const {
    write_atomically(submissions() / name, text);
  }
  FinishedProcess grade(std::chrono::milliseconds limit = {}) const {
    return PlayedTerm::grade({"--milestone", "m1", "--limit", "20"}, limit);
  }
  [[nodiscard]] std::string exported() const { return run({"export", "--format", "csv"}).output; }
};

constexpr const char* kPasses = "cp \"$PASSED\" \"$result\"";

}  // namespace

TEST_CASE("grader class grade: every answer of the grader, each in a sentence") {
  MadeUpClass made_up(
      "case $source in *machine*) echo 'grader: No compiler.'; exit 3 ;;\n"
      "*usage*) echo 'grader: Another kind.'; exit 2 ;; *flood*) yes ;;\n"
      "*) cp \"$PASSED\" \"$result\" ;; esac");
  for (const char* name : {"good", "machine", "usage", "flood"}) {
    made_up.add(std::string(name) + ".cpp", name);
  }
  // The limit is one that no busy machine meets: only the flood may end the flood.
  const FinishedProcess run = made_up.PlayedTerm::grade({"--limit", "300"});
  INFO(run.output);
  CHECK(run.exit_code == 3);
  CHECK(contains(run.output, "passed"));
  CHECK(contains(run.output, "machine: No compiler."));
  CHECK(contains(run.output, "refused: Another kind."));
  CHECK(contains(run.output, "because of too much"));
  CHECK(contains(run.output, "1 graded, 1 refused and 1 stopped"));
  // Only a fault of the machine is tried again.
  made_up.write_grader(kPasses);
  const FinishedProcess again = made_up.grade();
  CHECK(again.exit_code == 0);
  CHECK(contains(again.output, "3 of 4 are graded already"));
  CHECK(contains(again.output, "2 graded"));
  CHECK(contains(made_up.run({"show", "machine"}).output, "passed"));
  CHECK(contains(made_up.run({"status"}).output, "4 students, 4 submissions"));
}

TEST_CASE("grader class grade: a check that does not end is stopped, and the class goes on") {
  MadeUpClass made_up("sleep 600");
  made_up.add("slow.cpp", "slow");
  const FinishedProcess run = made_up.PlayedTerm::grade({"--limit", "3"});
  INFO(run.output);
  CHECK(contains(run.output, "stopped: Grading was stopped after 3 seconds"));
  CHECK(contains(run.output, "1 stopped"));
  made_up.write_grader(kPasses);
  made_up.add("good.cpp", "good");
  CHECK(contains(made_up.grade().output, "graded"));
  CHECK(contains(made_up.run({"show", "good"}).output, "passed"));
}

TEST_CASE("grader class grade: what no reader expects is a state of its submission, not a fault") {
  const MadeUpClass made_up(kPasses);
  const fs::path place = made_up.submissions();
  const std::string m1 = "milestones/m1_cpu_baseline/";
  const auto archive = [&](const std::string& name,
                           const std::vector<grader::testing::ArchiveEntry>& entries) {
    grader::testing::write_archive(place / name, entries);
  };
  // The file gets another name, and a header lies where the new name would be.
  archive("named.tar.gz", {{m1 + std::string(160, 'n') + ".cpp", "CpuStage"},
                           {m1 + "submission.cpp/a.hpp", "x"},
                           {m1 + "task.json/b.hpp", "x"},
                           {m1 + "outcome.json", "{}"},
                           {m1 + "check-0.json", "{}"}});
  archive("trees.tar.gz", {{"a/" + m1 + "conv_forward.cpp", "CpuStage"},
                           {"a/" + m1 + "t.hpp", "x"},
                           {"b/" + m1 + "t.hpp/u.hpp", "x"}});
  std::string deep;
  for (int i = 0; i < 200'000; ++i) deep += "a/";
  archive("deep.tar.gz", {{deep + "x.cpp", "x"}});
  fs::create_directories(place / "loop" / "milestones");
  fs::create_symlink("..", place / "loop" / "milestones" / "up");
  made_up.add("loop/" + m1 + "conv_forward.cpp", "int loop;");
  fs::create_symlink("loop.zip", place / "loop.zip");
  fs::create_directory_symlink("/etc", place / "etc");
  // Of a Mac: the name's bytes are UTF-8, and the archive says so.
  archive("mac.zip", {{"Übung/" + m1 + "conv_forward.cpp", "CpuStage"},
                      {"__MACOSX/Übung/._conv_forward.cpp", std::string(4, '\0')}});
  std::string bytes = read_text(place / "mac.zip");
  for (const auto& [header, flags] : {std::pair("PK\3\4", 7), std::pair("PK\1\2", 9)}) {
    for (auto at = bytes.find(header); at != std::string::npos; at = bytes.find(header, at + 1)) {
      bytes[at + static_cast<std::size_t>(flags)] |= 8;
    }
  }
  write_atomically(place / "mac.zip", bytes);
  const FinishedProcess run = made_up.grade(std::chrono::minutes(2));
  INFO(run.output);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.output, "3 graded, 4 refused"));
  CHECK(contains(run.output, "machine") == false);
}

TEST_CASE("grader class grade: where no times are taken all have the same points to earn") {
  const MadeUpClass made_up("cp \"$PASSED.$(cat $source)\" \"$result\"");
  for (const bool right : {true, false}) {
    grader::CheckResult check;
    check.result.program = "grader check";
    check.result.milestone = "m1";
    check.result.verdict = right ? Verdict::kPassed : Verdict::kFailed;
    check.score = grader::Score{
        .items = {
            {.stage = "baseline", .item = "cases", .points = 50, .earned = right ? 50.0 : 0.0},
            {.stage = "baseline",
             .item = "speed",
             .batch = 1000,
             .points = 50,
             .credit = right ? grader::Credit::kNotMeasured : grader::Credit::kPartial}}};
    check.score->items[0].credit = right ? grader::Credit::kEarned : grader::Credit::kPartial;
    write_check_result(made_up.passed() + (right ? ".right" : ".wrong"), check);
  }
  made_up.add("anna.cpp", "right");
  made_up.add("ben.cpp", "wrong");
  CHECK(made_up.PlayedTerm::grade({"--milestone", "m1", "--no-speed"}).exit_code == 0);
  const std::string canvas = made_up.run({"export", "--format", "canvas"}).output;
  INFO(canvas);
  CHECK(contains(canvas, "Points Possible,,,,,50"));
  CHECK(contains(made_up.run({"status", "--list"}).output, "0/50"));
}

TEST_CASE("grader class: hostile names are graded, and leave by no way as something else") {
  const MadeUpClass made_up(
      "case ${source##*/} in submission.cpp | s?.cpp) ;; *) exit 3 ;; esac\n" +
      std::string(kPasses));
  const std::vector<std::string> names = {
      "=cmd|' /C calc'!A0;＝1+1", "</script><!--<script>alert(1)",
      "a" + std::string(70, ' ') + "PASSED", "x\x1b]0;t\x07", "b\u202ec"};
  std::string roster = "name,file,section\n";
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string file = "s" + std::to_string(i) + ".cpp";
    made_up.add(file, file);
    roster += "\"" + names[i] + "\"," + file + ",\"-1+1;@x\"\n";
  }
  made_up.add("=1+1;@SUM(1)\nPASSED.cpp", "x");
  made_up.add("\xff\xfe.cpp", "int b;");
  const fs::path outside = made_up.submissions().parent_path();
  write_atomically(outside / "roster.csv", roster);
  const std::string graded =
      made_up
          .PlayedTerm::grade({"--milestone", "m1", "--roster", (outside / "roster.csv").string()})
          .output;
  const std::string list = made_up.run({"status", "--list"}).output;
  made_up.run({"feedback", "--output", (outside / "feedback").string()});
  made_up.run({"plot", "--names", "--output", (outside / "plots").string()});
  std::vector<std::string> texts = {graded, list, read_text(outside / "plots/dashboard.html")};
  for (const char* format : {"csv", "canvas", "moodle"}) {
    texts.push_back(made_up.run({"export", "--format", format}).output);
  }
  for (const auto& file : fs::recursive_directory_iterator(outside / "feedback")) {
    if (file.is_regular_file()) texts.push_back(read_text(file.path()));
  }
  CHECK(contains(graded, std::to_string(names.size() + 2) + " graded"));
  CHECK(texts.size() == 6 + names.size() + 2);
  for (const std::string& text : texts) {
    CHECK_FALSE(contains(text, "\x1b"));
    CHECK_FALSE(contains(text, "\xff"));
    CHECK_FALSE(contains(text, "\u202e"));
    CHECK_FALSE(contains(text, "\nPASSED"));
  }
  CHECK_FALSE(contains(texts[2], "<!--<script>"));
  for (std::size_t csv = 3; csv < 6; ++csv) {
    for (const char* begin : {"\n=", "\n\"=", ";＝", ",\"-1+1", ";@"}) {
      INFO(texts[csv] << begin);
      CHECK_FALSE(contains(texts[csv], begin));
    }
  }
}

TEST_CASE("grader class grade: puzzles come to the check of their milestone, with the others") {
  MadeUpClass made_up(
      "test \"$9\" = --puzzles || test \"$8\" = --puzzles || exit 3\n"
      "ls $(dirname $source)/../puzzles > \"$PASSED.seen\"\ncp \"$PASSED\" \"$result\"");
  const std::string milestone = "milestones/m3_memory/";
  const auto handed_out = [&](const std::string& name) {
    return read_text(fs::path(CONVLAB_SOURCE_DIR) / milestone / name);
  };
  // The milestone itself is as it was handed out, and so are all puzzles but one.
  grader::testing::write_archive(
      made_up.submissions() / "anna.tar.gz",
      {{milestone + "conv_forward.cu", handed_out("conv_forward.cu")},
       {milestone + "puzzles/2_second_barrier.cu", handed_out("puzzles/2_second_barrier.cu")},
       {milestone + "puzzles/1_halo.cu", "int solved;\n"}});
  grader::testing::write_archive(
      made_up.submissions() / "ben.tar.gz",
      {{milestone + "conv_forward.cu", handed_out("conv_forward.cu")},
       {milestone + "puzzles/1_halo.cu", handed_out("puzzles/1_halo.cu")}});
  const FinishedProcess run = made_up.PlayedTerm::grade({"--no-speed", "--batches", "3"});
  INFO(run.output);
  CHECK(contains(run.output, "1 graded, 1 refused"));
  CHECK(contains(run.output, "refused: Every file of m3 in it is as it was"));
  CHECK(read_text(made_up.passed() + ".seen") ==
        "1_halo.cu\n2_second_barrier.cu\n3_constant.cu\n4_several_outputs.cu\n");
}

TEST_CASE("grader class grade: killed at any moment it loses nothing and goes on") {
  // The result of an undisturbed run.
  const std::string script =
      "sleep 0.0$(($$ % 5))\ncase $source in *bad*) exit 2 ;; esac\n" + std::string(kPasses);
  constexpr int kSubmissions = 30;
  const auto fill = [](const MadeUpClass& made_up) {
    for (int i = 0; i < kSubmissions; ++i) {
      const std::string name = (i % 5 == 0 ? "bad" : "good") + std::to_string(i);
      made_up.add(name + ".cpp", name);
    }
  };
  const auto outcomes = [](const MadeUpClass& made_up) {
    std::string text = made_up.exported();
    const std::string folder = made_up.submissions().string();
    for (auto at = text.find(folder); at != std::string::npos; at = text.find(folder)) {
      text.erase(at, folder.size());
    }
    // The time when a file was written is not part of the outcome.
    std::string kept;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      kept += line.substr(0, line.find(",20")) + line.substr(line.find("Z,") + 1) + "\n";
    }
    return kept;
  };
  const MadeUpClass whole(script);
  fill(whole);
  CHECK(whole.grade().exit_code == 0);

  const MadeUpClass killed(script);
  fill(killed);
  std::mt19937 random(7);
  int kills = 0;
  for (int i = 0; i < 50; ++i) {
    const std::chrono::milliseconds limit(5 + random() % 200);  // then SIGKILL
    if (killed.grade(limit).end == FinishedProcess::End::kTimeLimit) ++kills;
  }
  CHECK(kills > 0);
  CHECK(killed.grade().exit_code == 0);
  CHECK(outcomes(killed) == outcomes(whole));
  CHECK_FALSE(fs::exists(killed.database().string() + ".work"));
}

TEST_CASE("grader class grade: Ctrl-C keeps what is graded and says how to go on") {
  const MadeUpClass made_up("case $source in *waits*) sleep 60 ;; esac\n" + std::string(kPasses));
  made_up.add("done.cpp", "done");
  made_up.add("waits.cpp", "waits");
  const auto seen = (made_up.submissions().parent_path() / "seen").string();
  const FinishedProcess run = run_process(
      {.words =
           {"sh", "-c",
            "'" CONVLAB_BINARY_DIR "/grader' class grade '" + made_up.submissions().string() +
                "' --database '" + made_up.database().string() + "' --grader '" +
                made_up.grader().string() + "' >'" + seen +
                "' & child=$!; until grep -sq passed '" + seen +
                "'; do sleep 0.05; done; kill -TERM $child; wait $child; echo ended $?; cat '" +
                seen + "'"},
       .environment = {"PASSED=" + made_up.passed()},
       .output = Command::Output::kTogether});
  CHECK(contains(run.output, "ended 130"));
  CHECK(contains(run.output, "Stopped. 1 were graded now"));
  CHECK(contains(made_up.exported(), "done,m1"));
}

TEST_CASE("grader class grade: a full disk in the middle loses nothing") {
  const MadeUpClass made_up(kPasses);
  for (int i = 0; i < 40; ++i) made_up.add("s" + std::to_string(i) + ".cpp", std::to_string(i));
  const FinishedProcess run =
      run_process({.words = {"sh", "-c",
                             "ulimit -f 160; exec '" CONVLAB_BINARY_DIR "/grader' class grade '" +
                                 made_up.submissions().string() + "' --database '" +
                                 made_up.database().string() + "' --grader '" +
                                 made_up.grader().string() + "'"},
                   .environment = {"PASSED=" + made_up.passed()},
                   .output = Command::Output::kTogether});
  CHECK(run.exit_code == 3);
  CHECK(contains(run.output, "free some space, then run this again"));
  CHECK(made_up.grade().exit_code == 0);
  CHECK(contains(made_up.grade().output, "40 graded"));
}

TEST_CASE("grader class grade: what is wrong with the command is told before anything begins") {
  const MadeUpClass made_up(kPasses);
  CHECK(contains(made_up.grade().output, "is empty"));
  CHECK_FALSE(fs::exists(made_up.database()));
  made_up.add("a.cpp", "x");
  CHECK(contains(made_up.run({"grade", "/nonexistent"}).output, "There is no folder"));
  const auto with = [&](const std::string& option, const std::string& value) {
    return made_up.run({"grade", made_up.submissions().string(), option, value});
  };
  CHECK(contains(with("--milestone", "m9").output, "no milestone 'm9'"));
  write_atomically(made_up.submissions().parent_path() / "roster.csv", "name\nA\nA\n");
  CHECK(contains(
      with("--roster", (made_up.submissions().parent_path() / "roster.csv").string()).output,
      "two students with the name 'A'"));
  CHECK_FALSE(fs::exists(made_up.database().string() + ".work"));
  // In a build folder without the milestones' programs one sentence ends it, for all.
  const fs::path alone = made_up.submissions().parent_path() / "build/bin/grader";
  fs::create_directories(alone.parent_path());
  fs::copy_file(CONVLAB_BINARY_DIR "/grader", alone);
  made_up.add("b.cpp", "y");
  const FinishedProcess run =
      run_process({.words = {alone.string(), "class", "grade", made_up.submissions().string(),
                             "--milestone", "m1", "--database", made_up.database().string()},
                   .output = Command::Output::kTogether});
  INFO(run.output);
  CHECK(run.exit_code == 3);
  CHECK(contains(run.output, "m1 is not built; build it: cmake --build --preset lab"));
  CHECK_FALSE(contains(run.output, "machine"));
}

TEST_CASE("grader class grade: a made-up class through the grader that checks") {
  const MadeUpClass made_up("");
  const auto expected = grader::testing::make_class(made_up.submissions(), 12);
  const FinishedProcess run = run_process(
      {.words = {CONVLAB_BINARY_DIR "/grader", "class", "grade", made_up.submissions().string(),
                 "--database", made_up.database().string(), "--batches", "3", "--no-speed"},
       .environment = {"CONVLAB_SUBMISSION_OPTIMISE=-O1"},
       .output = Command::Output::kTogether});
  CHECK(run.exit_code == 0);
  const std::string list = made_up.run({"status", "--list"}).output;
  INFO(list);
  for (const auto& [student, becomes] : expected) {
    const auto at = list.find(student);
    REQUIRE(at != std::string::npos);
    INFO(student);
    CHECK(contains(list.substr(at, list.find('\n', at) - at), becomes));
  }
}

TEST_CASE("gradescope: its folders in, a results.json of documented fields out") {
  const convlab::testing::TemporaryFolder folder;
  const fs::path base = folder.path() / "autograder";
  fs::create_directories(base / "source" / "convlab" / "build");
  fs::create_directory_symlink(CONVLAB_BINARY_DIR, base / "source/convlab/build/bin");
  write_atomically(base / "source/settings", "MILESTONE=m1\nOPTIONS=(--no-speed --batches 3)\n");
  const auto results_of = [&](const fs::path& submission) {
    fs::remove_all(base / "submission");
    fs::remove_all(base / "results");
    if (fs::is_directory(submission)) {
      fs::copy(submission, base / "submission", fs::copy_options::recursive);
    } else {
      fs::create_directories(base / "submission");
      fs::copy(submission, base / "submission");
    }
    const FinishedProcess run = run_process(
        {.words = {CONVLAB_SOURCE_DIR "/grader/class/gradescope/run_autograder"},
         .environment = {"AUTOGRADER=" + base.string(), "CONVLAB_SUBMISSION_OPTIMISE=-O1"},
         .output = Command::Output::kTogether});
    INFO(run.output);
    REQUIRE(fs::exists(base / "results/results.json"));
    auto results = nlohmann::json::parse(read_text(base / "results/results.json"));
    CHECK(grader::testing::undocumented(results).empty());
    return results;
  };
  // An archive, one file, a tree that Gradescope has unpacked, and nothing at all.
  grader::testing::make_class(folder.path() / "class", 3);
  const auto right = results_of(folder.path() / "class/student000.tar.gz");
  CHECK(right["score"] == 50.0);
  REQUIRE(right["tests"].size() == 2);
  CHECK(right["tests"][0]["visibility"] == "visible");
  CHECK(results_of(folder.path() / "class/student001.cpp")["score"] == 50.0);
  const auto wrong = results_of(folder.path() / "class/student002");
  CHECK(wrong["score"] < 50.0);
  CHECK(contains(wrong["output"].get<std::string>(), "E-stride"));
  CHECK(wrong["tests"][1]["status"] == "failed");
  fs::create_directories(folder.path() / "nothing");
  const auto nothing = results_of(folder.path() / "nothing");
  CHECK(nothing["score"] == 0.0);
  CHECK_FALSE(nothing["output"].get<std::string>().empty());
}

TEST_CASE(
    "grader class grade: changed rules need no run where the evidence that is kept says all") {
  MadeUpClass made_up(
      "[ -e \"$PASSED.ran\" ] && exit 3\ntouch \"$PASSED.ran\"\ncp \"$PASSED\" \"$result\"");
  using namespace convlab::grader;
  CheckResult check;
  check.result = {.program = "grader check", .milestone = "m1", .verdict = Verdict::kPassed};
  check.cases = {{.stage = "baseline", .name = "a"}};
  check.evidence = {grader::testing::right_evidence("baseline")};
  check.basis = ScoreBasis{.cases_in_all = 1, .counted = {{"baseline", {}}}};
  check.score = Score{.items = {{.stage = "baseline", .item = "cases", .points = 1, .earned = 1}}};
  write_check_result(made_up.passed(), check);
  made_up.add("anna.cpp", "x");
  const std::vector<std::string> words = {"--milestone", "m1", "--no-speed"};
  CHECK(contains(made_up.PlayedTerm::grade(words).output, "1 graded"));
  ClassDatabase(made_up.database(), ClassDatabase::Access::kGrade)
      .run("UPDATE submission SET rules = ?", "of older points");
  std::vector<std::string> again = words;
  again.insert(again.end(), {"--again", "--changed-rules"});
  const FinishedProcess run = made_up.PlayedTerm::grade(again);
  INFO(run.output);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.output, "1 judged by the evidence of their last check"));
  CHECK(contains(run.output, "anna m1: 40 instead of 1 (another scores.json or grader"));
  CHECK(contains(made_up.PlayedTerm::grade(again).output, "1 of 1 are graded already"));
  // With the same rules, --again asks for a run, and this grader has no second one.
  CHECK(made_up.PlayedTerm::grade({"--milestone", "m1", "--no-speed", "--again"}).exit_code == 1);
}
