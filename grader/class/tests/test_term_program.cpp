// The commands of a term through the real program: grading again, rules, the brake, feedback.

#include <map>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "grader/class/tests/played_term.hpp"

using namespace convlab;
using namespace convlab::grader;
using convlab::grader::testing::PlayedTerm;
using convlab::grader::testing::term_with;
using convlab::testing::contains;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kDay = 86'400;

std::string with_year(std::string text, const std::string& year) {
  for (std::size_t at = 0; (at = text.find("2027", at)) != std::string::npos;) {
    text.replace(at, 4, year);
  }
  return text;
}

}  // namespace

TEST_CASE("grader class grade --again: times are taken again, too, and nothing old stays") {
  const PlayedTerm term;
  const fs::path folder = term.submissions().parent_path();
  const fs::path ranks = folder / "ranks.html";
  // What the grader says of correctness alone, and with times.
  const auto answer = [&](const std::string& name, double speed_points, bool timed, bool right) {
    CheckResult check;
    check.result.program = "grader check";
    check.result.milestone = "m1";
    check.result.verdict = right ? Verdict::kPassed : Verdict::kFailed;
    if (!right) check.findings = {{.id = "E-replay", .title = "t", .seen = "s"}};
    check.score = Score{.items = {{.stage = "baseline",
                                   .item = "cases",
                                   .points = 50,
                                   .earned = right ? 50.0 : 0.0,
                                   .credit = Credit::kEarned},
                                  {.stage = "baseline",
                                   .item = "speed",
                                   .batch = 100,
                                   .points = 50,
                                   .earned = speed_points,
                                   .credit = timed ? Credit::kPartial : Credit::kNotMeasured,
                                   .why = timed ? "" : kSpeedLeftOut}}};
    if (timed && right) {
      check.score->items[1].speed = SpeedMeasure{
          .reference = "baseline", .yours_ms = {{2.0}}, .reference_ms = {{1.0}}, .speed = 0.5};
    }
    write_check_result(folder / name, check);
  };
  const auto mended = [&](double speed_points, bool right) {
    answer("right.json", 0, !right, right);
    answer("timed.json", speed_points, true, right);
  };
  term.write_grader(
      "from=timed\ncase \"$*\" in *--no-speed*) "
      "from=right ;; esac\ncp " +
      folder.string() + "/$from.json \"$6\"\n");
  term.hand_in("s100-m1.cpp", 1, "2027-02-01T00:00:00Z");
  const auto grade = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--leaderboard", ranks.string()});
    return term.grade(more).output;
  };
  mended(10, true);
  grade({});
  CHECK(term.gradebook().at("s100 m1") == 60);
  CHECK(contains(read_text(ranks), "m1 baseline, batch 100"));
  mended(30, true);
  CHECK(contains(grade({"--again"}),
                 "s100 m1: 80 instead of 60 (speed 100 of baseline: 30 instead of 10)"));
  CHECK(term.gradebook().at("s100 m1") == 80);
  mended(20, true);
  CHECK(contains(grade({"--again"}), "Nothing was stored for these"));
  CHECK(term.gradebook().at("s100 m1") == 80);
  mended(0, false);
  CHECK(contains(grade({"--again", "--allow-lower"}), "E-replay instead of no finding"));
  CHECK(term.gradebook().at("s100 m1") == 0);
  CHECK_FALSE(contains(read_text(ranks), "batch 100"));

  // The machine is at fault: the old outcome stays, and the run says so.
  term.write_grader("echo 'grader: No compiler.'; exit 3\n");
  CHECK(contains(grade({"--again"}), "s100 m1: not graded again, No compiler."));
}

TEST_CASE("grader class term: a wrong file changes nothing") {
  const PlayedTerm term;
  term.hand_in("s100-m1.cpp", 80, "2027-02-03T00:00:00Z");
  REQUIRE(term.grade().exit_code == 0);
  const fs::path folder = term.submissions().parent_path();
  // Every file of the class, with what it holds: the lock, too.
  const auto files = [&] {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path() == term.term_file()) continue;
      all[entry.path().string()] = entry.is_regular_file() ? read_text(entry.path()) : "";
    }
    return all;
  };
  // And where there is no class yet, no file and no folder is made.
  const auto refused = [&](const std::string& text, bool also_without_class = true) {
    write_atomically(term.term_file(), text);
    const auto before = files();
    const FinishedProcess run = term.run({"term", term.term_file().string()});
    CHECK(run.exit_code == 2);
    if (also_without_class) {
      const FinishedProcess nowhere = run_process(
          {.words = {CONVLAB_BINARY_DIR "/grader", "class", "term", term.term_file().string(),
                     "--database", (folder / "new" / "deep" / "class.db").string()}});
      CHECK(nowhere.exit_code == 2);
      CHECK(std::ranges::count(nowhere.errors, '\n') <= 2);
    }
    CHECK(files() == before);
    return run.output;
  };
  CHECK(contains(refused(with_year(term_with(""), "2031"), false), "file of another year?"));
  CHECK(contains(refused(with_year(term_with(""), "2019")), "file of another year?"));
  // And no database is made for a file that is refused, nor for a submission that is not there.
  const std::string missing = (term.term_file().parent_path() / "missing.db").string();
  for (const std::string& words : std::vector<std::string>{
           "term '" + term.term_file().string() + "'", "revoke s1 --milestone m1 --reason R",
           "comment --milestone m1 --finding E-stride T"}) {
    write_atomically(term.term_file(), "{}");
    const FinishedProcess run = run_process(
        {.words = {"sh", "-c",
                   CONVLAB_BINARY_DIR "/grader class " + words + " --database '" + missing + "'"}});
    CHECK(run.exit_code == 2);
    CHECK_FALSE(fs::exists(missing));
  }
  const auto before = files();
  CHECK(term.run({"revoke", "nobody", "--milestone", "m1", "--reason", "R"}).exit_code == 2);
  CHECK(term.run({"comment", "T", "--milestone", "m1", "--student", "nobody"}).exit_code == 2);
  CHECK(term.run({"revoke", "s100", "--milestone", "m1", "--undo"}).exit_code == 2);
  CHECK(files() == before);
  CHECK(contains(term.run({"comment", "--milestone", "m1", "--finding", "E-strid", "T"}).output,
                 "Did you mean E-stride?"));
  CHECK(contains(term.run({"export", "--student", "nobody"}).output, "no submission of 'nobody'"));
  CHECK(contains(refused(R"({"term": "SP27"})"), "\"begins\" is missing"));
  CHECK(contains(term.run({"term"}).output, "No term file is in force"));
  write_atomically(term.term_file(), term_with(""));
  REQUIRE(term.run({"term", term.term_file().string()}).exit_code == 0);
  std::string harder = term_with("");
  harder.replace(harder.find("\"late_days\": 2"), 14, "\"late_days\": 0");
  CHECK(contains(refused(harder, false), "s100 m1: 64 instead of 80"));
  CHECK(term.gradebook().at("s100 m1") == 80.0);
}

TEST_CASE("grader class grade: too many attempts in an hour wait, and none is lost") {
  const PlayedTerm term;
  const std::int64_t now = std::time(nullptr);
  for (int i = 0; i < 3; ++i) {
    term.hand_in("s100-m1-" + std::to_string(i) + ".cpp", 60 + 10 * i,
                 utc_text(now - 600 + 60 * i));
  }
  term.hand_in("s101-m1.cpp", 60, utc_text(now - 3 * kDay));
  REQUIRE(term.run({"grade", term.submissions().string(), "--milestone", "m9"}).exit_code == 2);
  term.grade({"--milestone", "m1"});
  const std::string year = utc_text(now).substr(0, 4);
  std::string rules = with_year(term_with(R"(, "attempts_per_hour": 2)"), year);
  rules.replace(rules.find(year + "-01-18"), 10, year + "-01-01");
  rules.replace(rules.find(year + "-05-14"), 10, year + "-12-31");
  write_atomically(term.term_file(), rules);
  REQUIRE(term.run({"term", term.term_file().string()}).exit_code == 0);
  term.hand_in("s100-m1-3.cpp", 100, utc_text(now));
  const FinishedProcess held = term.grade({"--milestone", "m1"});
  CHECK(contains(held.output, "More than 2"));
  // Its student reads it, too.
  const fs::path feedback = term.submissions().parent_path() / "feedback";
  term.run({"feedback", "--output", feedback.string()});
  CHECK(contains(read_text(feedback / "m1" / "s100-m1-2.txt"), " waits: More than 2"));
  CHECK(contains(held.output, "graded from " + utc_text(now + 3600)));
  CHECK(contains(term.run({"status", "--list"}).output, "waiting: More than 2"));
  CHECK_FALSE(contains(term.run({"show", "s100"}).output, "0 of 0 points"));
  // As many attempts, of which the last came an hour ago.
  for (int i = 0; i < 4; ++i) {
    term.hand_in("s102-m1-" + std::to_string(i) + ".cpp", 60 + 10 * i,
                 utc_text(now - 3600 - 10 * (3 - i)));
  }
  CHECK_FALSE(contains(term.grade({"--milestone", "m1"}).output, "s102  m1  0/0"));
  CHECK(contains(term.run({"show", "s102"}).output, "90/100"));
}

TEST_CASE("grader class feedback: Canvas gets its own file names back, with the comments") {
  const PlayedTerm term;
  term.hand_in("doejane_LATE_42_77_conv-m1.cpp", 60, "2027-02-03T00:00:00Z");
  term.hand_in("s101-m1.cpp", 60, "2027-02-03T00:00:00Z");
  REQUIRE(term.grade().exit_code == 0);
  REQUIRE(term.run({"comment", "--milestone", "m1", "--finding", "E-stride", "Read page 4."})
              .exit_code == 0);
  REQUIRE(term.run({"comment", "--milestone", "m1", "--student", "doejane", "--staff", "Twice."})
              .exit_code == 0);
  const auto reaches = [&](const std::string& place) {
    return term
        .run({"comment", "--milestone", "m1", "--finding", "E-stride", "--place", place, "T"})
        .output;
  };
  CHECK(contains(reaches("conv.cpp:4"), "it goes to 2 submissions"));
  CHECK(contains(reaches("conv.cpp"), "it goes to 2 submissions"));
  // Another line, and words of the finding that are no place.
  for (const char* none : {"conv.cpp:41", "a", "cpp"}) {
    CHECK(contains(reaches(none), "it goes to 0 submissions"));
  }
  const std::string before = read_text(term.submissions().parent_path() / "class.db");
  for (const char* number : {"0", "-1", "99", "x"}) {
    const FinishedProcess refused = term.run({"comment", "--milestone", "m1", "--remove", number});
    INFO(refused.output);
    CHECK(refused.exit_code == 2);
    CHECK(contains(refused.output, number));
  }
  CHECK(read_text(term.submissions().parent_path() / "class.db") == before);
  const fs::path feedback = term.submissions().parent_path() / "feedback";
  const FinishedProcess run = term.run({"feedback", "--output", feedback.string()});
  CHECK(contains(run.output, "2 files"));
  CHECK(contains(run.output, "1 in m1 are for Canvas"));
  // By the name Canvas finds the student (42) and the file (77).
  const std::string text = read_text(feedback / "m1" / "doejane_LATE_42_77_conv-m1.txt");
  CHECK(contains(text, "Comment on E-stride: Read page 4."));
  CHECK_FALSE(contains(text, "Twice."));
}

TEST_CASE("grader class similar: says how much two submissions share") {
  const convlab::testing::TemporaryFolder folder;
  for (const char* name : {"alice-m1.cpp", "bob-m1.cpp"}) {
    write_atomically(folder.path() / name,
                     "int f(int a, int b) {\n  int c = 0;\n  for (int i = a; i < b; ++i) {\n"
                     "    c += i * a - b;\n  }\n  while (c > 7) {\n    c /= 3;\n  }\n"
                     "  return c + a;\n}\n");
  }
  const FinishedProcess run = run_process(
      {.words = {CONVLAB_BINARY_DIR "/grader", "class", "similar", folder.path().string()}});
  CHECK(contains(run.output, "100 %  alice and bob ("));
  CHECK(contains(run.output, " fingerprints)\n"));
  CHECK(contains(run.output, "1 pair shares at least 50 %"));
}
