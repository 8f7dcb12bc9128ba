// A whole term through the real program: three milestones, forty students, late work, an extension,
// a revoked submission, a grader that was mended. A script stands for the grader that checks; it
// gives the points that a source names. The gradebook is compared with one that this file computes
// from what each student did.
#include <archive.h>
#include <archive_entry.h>

#include <chrono>
#include <map>

#include "common/base/run_process.hpp"
#include "common/base/testing/catch.hpp"
#include "common/base/testing/contains.hpp"
#include "common/base/testing/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
#include "grader/class/term.hpp"
#include "grader/report/table.hpp"
#include "grader/scores/grade.hpp"

using namespace convlab;
using namespace convlab::grader;
using convlab::testing::contains;
namespace fs = std::filesystem;

namespace {

constexpr int kStudents = 40;
constexpr std::int64_t kDay = 86'400;

class PlayedTerm {
 public:
  PlayedTerm() {
    fs::create_directories(submissions());
    write_script("100");
    for (const int points : {40, 60, 70, 80, 90, 100}) {
      CheckResult check;
      check.result.program = "grader check";
      check.result.verdict = points == 100 ? Verdict::kPassed : Verdict::kFailed;
      if (points < 100) check.findings = {{.id = "E-stride", .title = "t", .seen = "conv.cpp:4"}};
      check.score = Score{.items = {{.stage = "baseline",
                                     .item = "cases",
                                     .points = 100,
                                     .earned = static_cast<double>(points),
                                     .credit = Credit::kPartial}}};
      write_check_result(folder_.path() / (std::to_string(points) + ".json"), check);
    }
  }

  [[nodiscard]] fs::path submissions() const { return folder_.path() / "submissions"; }
  [[nodiscard]] fs::path term_file() const { return folder_.path() / "term.json"; }

  /// @param sixty  what the grader gives where a source says 60: it is mended during the term
  void write_script(const std::string& eighty, const std::string& sixty = "60") const {
    write_atomically(
        folder_.path() / "grader",
        "#!/bin/sh\npoints=$(tr -dc 0-9 <\"$4\")\n[ \"$points\" = 60 ] && points=" + sixty +
            "\n[ \"$points\" = 80 ] && points=" + (eighty == "100" ? "80" : eighty) + "\ncp " +
            folder_.path().string() + "/$points.json \"$6\"\n");
    fs::permissions(folder_.path() / "grader", fs::perms::owner_all);
  }

  void hand_in(const std::string& name, int points, const std::string& received) const {
    const fs::path file = submissions() / name;
    write_atomically(file, "// " + std::to_string(points) + "\n");
    const std::chrono::sys_seconds time{std::chrono::seconds(*time_of(received))};
    fs::last_write_time(file, std::chrono::file_clock::from_sys(time));
  }

  FinishedProcess run(std::vector<std::string> words) const {
    words.insert(words.begin(),
                 {"env", "-u", "OMP_WAIT_POLICY", CONVLAB_BINARY_DIR "/grader", "class"});
    words.insert(words.end(), {"--database", (folder_.path() / "class.db").string()});
    return run_process({.words = words, .output = Command::Output::kTogether});
  }

  FinishedProcess grade(std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"grade",    submissions().string(),
                                      "--grader", (folder_.path() / "grader").string(),
                                      "--jobs",   "2"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }

  /// Points by "student milestone", of the attempts that count.
  [[nodiscard]] std::map<std::string, double> gradebook() const {
    const auto rows = parse_csv(run({"export", "--format", "csv"}).output, "the export");
    std::map<std::string, std::size_t> column;
    for (std::size_t i = 0; i < rows.at(0).size(); ++i) column[rows[0][i]] = i;
    std::map<std::string, double> points;
    for (std::size_t i = 1; i < rows.size(); ++i) {
      if (rows[i].at(column.at("counts")) != "yes") continue;
      points[rows[i].at(0) + " " + rows[i].at(1)] = std::stod(rows[i].at(column.at("points")));
    }
    return points;
  }

 private:
  convlab::testing::TemporaryFolder folder_;
};

std::string student(int i) {
  return "s" + std::to_string(100 + i);
}

std::string term_with(const std::string& more) {
  return R"({"term": "SP27", "begins": "2027-01-18T00:00Z", "ends": "2027-05-14T00:00Z",
  "late_days": 2, "penalty_percent_per_day": 10, "closes_after_days": 7,
  "due": {"m1": "2027-02-01T00:00Z", "m2": "2027-03-01T00:00Z", "m3": "2027-04-01T00:00Z"},
  "extensions": [{"student": "s100", "milestone": "m2", "due": "2027-03-05T00:00Z"}])" +
         more + "}";
}

}  // namespace

TEST_CASE("grader class: a term of three milestones and forty students, as computed by hand") {
  const PlayedTerm term;
  std::map<std::string, double> expected;
  for (int i = 0; i < kStudents; ++i) {
    const std::string name = student(i);
    // m1: three in four on time, one in four a day late, which a late day forgives.
    term.hand_in(name + "-m1.cpp", 60,
                 i % 4 == 3 ? "2027-02-01T10:00:00Z" : "2027-01-30T00:00:00Z");
    expected[name + " m1"] = 60;
    const int left = i % 4 == 3 ? 1 : 2;
    // m2: three days late, with an extension for one student.
    term.hand_in(name + "-m2.cu", 80, "2027-03-03T12:00:00Z");
    expected[name + " m2"] = i == 0 ? 80 : 80 * (1 - 0.1 * (3 - left));
    // m3: on time, or eight days late, when nothing is earned.
    term.hand_in(name + "-m3.cu", 100,
                 i % 10 == 9 ? "2027-04-08T12:00:00Z" : "2027-03-31T00:00:00Z");
    expected[name + " m3"] = i % 10 == 9 ? 0 : 100;
  }
  const fs::path leaderboard = term.submissions().parent_path() / "ranks.html";
  const FinishedProcess graded = term.grade({"--leaderboard", leaderboard.string()});
  INFO(graded.output);
  REQUIRE(graded.exit_code == 0);
  CHECK(contains(read_text(leaderboard), "Leaderboard"));
  CHECK_FALSE(contains(read_text(leaderboard), "s100"));
  write_atomically(term.term_file(), term_with(""));
  const FinishedProcess set = term.run({"term", term.term_file().string()});
  INFO(set.output);
  REQUIRE(set.exit_code == 0);
  CHECK(contains(set.output, "m2  due 2027-03-05T00:00:00Z for s100"));
  CHECK(term.gradebook() == expected);

  // One m3 was copied, it is found out.
  const fs::path evidence = term.term_file().parent_path() / "similar.json";
  write_atomically(evidence, "seen");
  REQUIRE(term.run({"revoke", "s105", "--milestone", "m3", "--reason", "Copied.", "--evidence",
                    evidence.string()})
              .exit_code == 0);
  fs::remove(evidence);
  auto without = expected;
  without.erase("s105 m3");
  CHECK(term.gradebook() == without);
  const std::string shown = term.run({"show", "s105"}).output;
  CHECK(contains(shown, "revoked: Copied."));
  CHECK(contains(shown, "Evidence:"));
  const fs::path kept = evidence.parent_path() / "class.db.evidence";
  REQUIRE(fs::exists(kept));
  CHECK(read_text(fs::directory_iterator(kept)->path()) == "seen");
  // The student reads the reason, and not the evidence.
  const fs::path told = term.submissions().parent_path() / "told";
  CHECK(contains(term.run({"feedback", "--output", told.string()}).output, "120 files"));
  const std::string letter = read_text(told / "m3" / "s105-m3.txt");
  CHECK(contains(letter, "Nothing counts so far."));
  CHECK(contains(letter, "Attempt 1 of 2027-03-31T00:00:00Z does not count: Copied."));
  CHECK_FALSE(contains(letter, "similar.json"));
  const fs::path pages = term.submissions().parent_path() / "pages";
  REQUIRE(
      term.run({"plot", "--milestone", "m3", "--names", "--output", pages.string()}).exit_code ==
      0);
  CHECK(contains(read_text(pages / "dashboard.html"), "<td>s104</td>"));
  CHECK_FALSE(contains(read_text(pages / "dashboard.html"), "<td>s105</td>"));
  CHECK(term.run({"revoke", "s105", "--milestone", "m3", "--undo"}).exit_code == 0);
  CHECK(term.gradebook() == expected);

  // One in five hands in m1 again, a day later still, with fewer points: the last attempt counts,
  // unless the best one does.
  for (int i = 0; i < kStudents; i += 5) {
    const std::int64_t late = i % 4 == 3 ? 2 : 1;
    term.hand_in(student(i) + "-m1-2.cpp", 40,
                 utc_text(*time_of("2027-02-01T00:00Z") + late * kDay));
  }
  REQUIRE(term.grade().exit_code == 0);
  auto with_last = expected;
  for (int i = 0; i < kStudents; i += 5) {
    const int left = i % 4 == 3 ? 0 : 1;
    with_last[student(i) + " m1"] = 40;
    with_last[student(i) + " m2"] = i == 0 ? 80 : 80 * (1 - 0.1 * (3 - left));
  }
  CHECK(term.gradebook() == with_last);
  write_atomically(term.term_file(), term_with(R"(, "counts": "best")"));
  REQUIRE(term.run({"term", term.term_file().string()}).exit_code == 0);
  CHECK(term.gradebook() == expected);

  // The grader is mended: 60 becomes 70, and every point that moved is listed. 80 would become 40.
  term.write_script("40", "70");
  CHECK(
      contains(term.grade({"--again", "--changed-rules"}).output, "128 of 128 are graded already"));
  const FinishedProcess again = term.grade({"--again"});
  CHECK(again.exit_code == 1);
  CHECK(contains(again.output, "s100 m1: 70 instead of 60 (cases of baseline: 70 instead of 60)."));
  CHECK(contains(again.output, "s100 m2: 40 instead of 80"));
  CHECK(contains(again.output, "Nothing was stored for these"));
  for (int i = 0; i < kStudents; ++i) expected[student(i) + " m1"] = 70;
  CHECK(term.gradebook() == expected);
  CHECK(contains(term.run({"show", "s100", "--milestone", "m1"}).output, ": 60 points, E-stride"));

  const FinishedProcess comment =
      term.run({"comment", "--milestone", "m1", "--finding", "E-stride", "Read page 4."});
  CHECK(contains(comment.output, "it goes to 48 submissions"));
  const fs::path feedback = term.submissions().parent_path() / "feedback";
  CHECK(contains(term.run({"feedback", "--output", feedback.string()}).output, "120 files"));
  const std::string read = read_text(feedback / "m1" / "s103-m1.txt");
  CHECK(contains(read, "70 of 100 points (70 before 1 late day, 1 of them free)"));
  CHECK(contains(read, "Comment on E-stride: Read page 4."));
  const std::string moodle = term.run({"export", "--format", "moodle"}).output;
  CHECK(contains(moodle, "70 of 100 points (70 before 1 late day, 1 of them free)"));
  CHECK(
      contains(moodle, "0 of 100 points (100 before 8 late days, after which nothing is earned)"));
  CHECK_FALSE(fs::exists(feedback / "m1-canvas.zip"));
}

TEST_CASE("grader class grade --again: times are taken again, too, and nothing old stays") {
  const PlayedTerm term;
  const fs::path folder = term.submissions().parent_path();
  const fs::path ranks = folder / "ranks.html";
  // What the grader says of correctness alone, and with times.
  const auto write_grader = [&](const std::string& script) {
    write_atomically(folder / "grader", "#!/bin/sh\n" + script);
    fs::permissions(folder / "grader", fs::perms::owner_all);
  };
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
  write_grader(
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
  write_grader("echo 'grader: No compiler.'; exit 3\n");
  CHECK(contains(grade({"--again"}), "s100 m1: not graded again, No compiler."));
  fs::remove(term.submissions() / "s100-m1.cpp");
  term.hand_in("s101-m1.cpp", 1, "2027-02-01T00:00:00Z");
  CHECK(contains(grade({"--again"}), "does not hold them: 1."));
}

TEST_CASE("grader class term: a wrong file changes nothing") {
  const PlayedTerm term;
  term.hand_in("s100-m1.cpp", 80, "2027-02-03T00:00:00Z");
  REQUIRE(term.grade().exit_code == 0);
  const auto refused = [&](const std::string& text) {
    write_atomically(term.term_file(), text);
    const FinishedProcess run = term.run({"term", term.term_file().string()});
    CHECK(run.exit_code == 2);
    return run.output;
  };
  std::string other_year = term_with("");
  for (std::size_t at = 0; (at = other_year.find("2027", at)) != std::string::npos;) {
    other_year.replace(at, 4, "2031");
  }
  CHECK(contains(refused(other_year), "file of another year?"));
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
  CHECK(contains(term.run({"comment", "--milestone", "m1", "--finding", "E-strid", "T"}).output,
                 "Did you mean E-stride?"));
  CHECK(contains(term.run({"export", "--student", "nobody"}).output, "no submission of 'nobody'"));
  CHECK(contains(refused(R"({"term": "SP27"})"), "\"begins\" is missing"));
  CHECK(contains(refused(term_with(R"(, "counts": "first")")), "\"counts\" must be"));
  std::string wrong_date = term_with("");
  wrong_date.replace(wrong_date.find("2027-02-01"), 10, "2027-02-30");
  CHECK(contains(refused(wrong_date), "\"2027-02-30T00:00Z\" of \"m1\" is no time"));
  std::string unknown = term_with("");
  unknown.replace(unknown.find("\"s100\""), 6, "\"nobody\"");
  CHECK(contains(refused(unknown), "an extension is for \"nobody\", who is not in the class"));
  CHECK(contains(term.run({"term"}).output, "No term file is in force"));
  write_atomically(term.term_file(), term_with(""));
  REQUIRE(term.run({"term", term.term_file().string()}).exit_code == 0);
  std::string harder = term_with("");
  harder.replace(harder.find("\"late_days\": 2"), 14, "\"late_days\": 0");
  CHECK(contains(refused(harder), "s100 m1: 64 instead of 80"));
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
  std::string rules = term_with(R"(, "attempts_per_hour": 2)");
  const std::string year = utc_text(now).substr(0, 4);
  for (std::size_t at = 0; (at = rules.find("2027", at)) != std::string::npos;)
    rules.replace(at, 4, year);
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
  CHECK(contains(run.output, "m1-canvas.zip holds those of 1 files of Canvas"));
  // By the name Canvas finds the student (42) and the file (77).
  archive* zip = ::archive_read_new();
  ::archive_read_support_format_zip(zip);
  REQUIRE(::archive_read_open_filename(zip, (feedback / "m1-canvas.zip").c_str(), 4096) ==
          ARCHIVE_OK);
  archive_entry* entry = nullptr;
  REQUIRE(::archive_read_next_header(zip, &entry) == ARCHIVE_OK);
  CHECK(::archive_entry_pathname(entry) == std::string("doejane_LATE_42_77_conv-m1.txt"));
  std::string text(4096, ' ');
  CHECK(::archive_read_data(zip, text.data(), text.size()) > 0);
  CHECK(contains(text, "Comment on E-stride: Read page 4."));
  CHECK_FALSE(contains(text, "Twice."));
  CHECK(::archive_read_next_header(zip, &entry) == ARCHIVE_EOF);
  ::archive_read_free(zip);
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
