// From what grader submit packs to the pages of the class: hints that were read, and predictions.
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "grader/class/class_pages.hpp"
#include "grader/class/submitted_files.hpp"
#include "grader/class/tests/made_up_class.hpp"

using namespace convlab;
using namespace convlab::grader;
using convlab::grader::testing::write_archive;

namespace {

constexpr const char* kNotebook = R"({
  "hints": [
    {"shown": "2027-02-01T10:05:00Z", "list": "E-outside", "number": 1, "finding": "E-outside"},
    {"shown": "2027-02-01T10:15:00Z", "list": "E-outside", "number": 2, "finding": "E-outside"},
    {"shown": "2027-02-01T10:25:00Z", "list": "m2", "number": 1},
    {"shown": "2027-02-01T10:25:00Z", "list": "<script>", "number": 1}],
  "predictions": {
    "baseline": {"made": "2027-02-01T09:00:00Z", "limiter": "memory", "loads": 2.0,
                 "op_ms": 3.0, "reason": "2 loads for each multiply-add, none of them shared."},
    "Robert\"); DROP": {"made": "", "limiter": "memory", "loads": 1.0, "reason": ""},
    "other": {"made": "", "limiter": "a lie", "loads": 1.0, "reason": ""}},
  "explained": {"baseline": {"loads": 2.5}}})";

constexpr const char* kHistory =
    R"({"created":"2027-02-01T10:00:00Z","milestone":"m2","stages":["baseline"],"findings":[{"id":"E-outside","title":"t","stage":"baseline"}]}
{"created":"2027-02-01T10:10:00Z","milestone":"m2","stages":["baseline"],"findings":[{"id":"E-outside","title":"t","stage":"baseline"}]}
{"created":"2027-02-01T10:20:00Z","milestone":"m2","stages":["baseline"],"findings":[]}
)";

}  // namespace

TEST_CASE("student notes: those of an archive come with its one milestone, and are no work") {
  const convlab::testing::TemporaryFolder folder;
  const auto file = folder.path() / "doe-m2.tar.gz";
  const std::string root = "m2-submission/";
  const std::string place = root + "milestones/m2_gpu_baseline/conv_forward.cu";
  const auto packed = [&](const std::string& notebook) {
    write_archive(file, {{place, "void conv_forward_kernel();\n"},
                         {root + "notebook.json", notebook},
                         {root + "history.jsonl", kHistory}});
    return work_of(read_submitted_files(file, read_archive), "");
  };
  const auto works = packed(kNotebook);
  REQUIRE(works.size() == 1);
  CHECK(works[0].notebook == kNotebook);
  CHECK(works[0].history == kHistory);
  CHECK(works[0].files.size() == 1);
  CHECK(works[0].headers.empty());
  // They change no digest, and no size of them refuses the work.
  const auto longer = packed(std::string(std::size_t{3} << 20, 'x'));
  REQUIRE(longer.size() == 1);
  CHECK(longer[0].notebook.empty());
  CHECK(digest_of(longer[0]) == digest_of(works[0]));
  // Alone they are no submission.
  write_archive(file, {{root + "notebook.json", kNotebook}});
  CHECK_THROWS_AS(read_submitted_files(file, read_archive), RefusedSubmission);
}

TEST_CASE("student notes: the class keeps what each archive adds, in any order") {
  const convlab::testing::TemporaryFolder folder;
  ClassDatabase database(folder.path() / "class.db", ClassDatabase::Access::kGrade);
  const auto alice = database.add_student({.name = "alice"});
  const auto bob = database.add_student({.name = "bob"});
  database.keep_notes(alice, "m2", kNotebook, kHistory);
  database.keep_notes(alice, "m2", kNotebook, "");  // packed before the checks that followed
  database.keep_notes(bob, "m2", kNotebook, "no JSON");
  // A broken line takes no other with it.
  const auto eve = database.add_student({.name = "eve"});
  database.keep_notes(eve, "m2", kNotebook, "{\"half\": \n" + std::string(kHistory));
  CHECK(database.run("SELECT count(*) FROM hint WHERE student = ? AND helped = 1", eve) == 1);
  database.run("DELETE FROM hint WHERE student = ?", eve);
  database.run("DELETE FROM prediction WHERE student = ?", eve);
  const std::string damaged = R"([1, "x", {"findings": ["q", 1], "stages": 3, "created": 5}])";
  const std::string deep(100'000, '[');
  std::string wide = "{";
  for (int i = 0; i < 40'000; ++i) wide += "\"" + std::to_string(i) + "\": {}, ";
  wide += R"("predictions": {"a": {"limiter": "memory"}}})";
  database.keep_notes(bob, "m1", deep, deep + "\n" + wide);
  for (const std::string& notebook : std::vector<std::string>{
           "", "{", wide, "[]", R"({"hints": 3})", R"({"predictions": {"a": null, "b": "c"}})",
           R"({"hints": ["x", null, {"list": 3, "number": "x"}, {"list": {"a": 1}, "number": 1}]})",
           R"({"predictions": {"a": {"limiter": "memory", "loads": 1e999}}, "explained": 3})"}) {
    CAPTURE(notebook);
    database.keep_notes(bob, "m1", notebook, damaged);
    CHECK(database.table("hints_read", "m1").rows.empty());
    CHECK(database.table("predictions", "m1").rows.empty());
  }
  CheckResult check;
  check.result.milestone = "m2";
  const SpeedMeasure speed{.reference = "baseline", .yours_ms = {{4.5}}, .reference_ms = {{9.0}}};
  check.score =
      Score{.items = {{.stage = "baseline", .item = "speed", .batch = 1000, .speed = speed}}};
  const auto id = database.add_submission(bob, "m2", "d", {.received = "2027-02-01T10:00:00Z"});
  database.set_outcome(id, {.state = SubmissionState::kGraded, .check = check});
  using Texts = std::vector<std::vector<std::string>>;
  const Table hints = database.table("hints_read");
  CHECK(hints.heading == std::vector<std::string>{"hint", "milestone", "students",
                                                  "checked after it", "helped", "share"});
  CHECK(hints.rows == Texts{{"E-outside, hint 2", "m2", "2", "1", "1", "100 %"},
                            {"E-outside, hint 1", "m2", "2", "1", "0", "0 %"},
                            {"m2, hint 1", "m2", "2", "0", "0", "-"}});
  CHECK(database.table("predictions").heading.back() == "what limits it");
  CHECK(database.table("predictions").rows ==
        Texts{{"baseline", "m2", "2", "2.00", "2.50", "2 of 2", "3.00", "4.50", "memory 2"}});
  const std::string page = markdown_of(class_dashboard(database, "", false));
  CHECK(page.find("## Which hint helped") != std::string::npos);
  CHECK(page.find("## What the class predicted") != std::string::npos);
  CHECK(page.find("alice") == std::string::npos);
  // Of two the median lies between them; what most expect comes first.
  const auto predict = [&](const char* name, const char* milestone, const std::string& slip) {
    database.keep_notes(database.add_student({.name = name}), milestone,
                        R"({"predictions": {)" + slip + "}}", "");
  };
  const std::string other = R"("baseline": {"limiter": "latency", "loads": 9, "op_ms": 5})";
  predict("eve", "m2", other);
  predict("alice", "m3", R"("a": {"limiter": "memory"})");
  CHECK(database.table("predictions").rows ==
        Texts{{"baseline", "m2", "3", "2.00", "2.50", "2 of 2", "3.00", "4.50",
               "memory 2, latency 1"},
              {"a", "m3", "1", "-", "-", "-", "-", "-", "memory 1"}});
  predict("mel", "m2", other);
  const Table even = database.table("predictions", "m2");
  CHECK(even.rows.at(0).at(3) == "5.50");
  CHECK(even.rows.at(0).back() == "latency 2, memory 2");
}

TEST_CASE("student notes: what a program has written takes no time of the instructor's") {
  const convlab::testing::TemporaryFolder folder;
  ClassDatabase database(folder.path() / "class.db", ClassDatabase::Access::kGrade);
  const auto eve = database.add_student({.name = "eve"});
  std::string hints;
  std::string history;
  for (int i = 1; i <= 20'000; ++i) {
    hints += (hints.empty() ? "" : ",") + std::string(R"({"list":"l)") + std::to_string(i) +
             R"(","number":1,"finding":"E-x","shown":""})";
    history += "{}\n";
  }
  database.keep_notes(eve, "m1", R"({"hints": [)" + hints + "]}", history);
  CHECK(database.run("SELECT count(*) FROM hint") == 200);
  // The last checks tell whether a hint helped.
  database.keep_notes(eve, "m1",
                      R"({"hints": [{"list": "l1", "number": 1, "finding": "E-x", "shown": "1"}]})",
                      history + R"({"created": "2", "stages": ["a"], "findings": []})");
  CHECK(database.run("SELECT helped FROM hint WHERE list = 'l1'") == 1);
}
