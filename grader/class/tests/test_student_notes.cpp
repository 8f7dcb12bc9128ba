// From what grader submit packs to the pages of the class: hints that were read, and predictions.
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "grader/class/class_pictures.hpp"
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

TEST_CASE("student notes: a hint helped if the next check no longer found what it was about") {
  const StudentNotes notes = parse_notes(kNotebook, kHistory);
  const auto& hints = notes.notebook.hints;
  REQUIRE(hints.size() == 3);
  CHECK(helped(hints[0], notes.checks) == 0);
  CHECK(helped(hints[1], notes.checks) == 1);
  CHECK(helped(hints[2], notes.checks) == -1);
  REQUIRE(notes.notebook.predictions.size() == 1);
  CHECK(notes.notebook.predictions.count("baseline") == 1);
  // Packed before the checks that followed.
  CHECK(helped(hints[1], parse_notes(kNotebook, "").checks) == -1);
  for (const char* broken : {"", "{", "[]", "{\"hints\": 3}", "{\"predictions\": {\"a\": null}}"}) {
    CHECK(parse_notes(broken, kHistory).notebook.hints.empty());
  }
}

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
  database.keep_notes(alice, "m2", parse_notes(kNotebook, kHistory));
  database.keep_notes(alice, "m2", parse_notes(kNotebook, ""));  // an older one
  database.keep_notes(bob, "m2", parse_notes(kNotebook, ""));
  CheckResult check;
  check.result.milestone = "m2";
  const SpeedMeasure speed{.reference = "baseline", .yours_ms = {{4.5}}, .reference_ms = {{9.0}}};
  check.score =
      Score{.items = {{.stage = "baseline", .item = "speed", .batch = 1000, .speed = speed}}};
  const auto id = database.add_submission(bob, "m2", "d", {.received = "2027-02-01T10:00:00Z"});
  database.set_outcome(id, {.state = SubmissionState::kGraded, .check = check}, 100.0);
  const Table hints = database.table("hints_read");
  CHECK(hints.heading == std::vector<std::string>{"hint", "milestone", "students",
                                                  "checked after it", "helped", "share"});
  REQUIRE(hints.rows.size() == 3);
  CHECK(hints.rows[0] ==
        std::vector<std::string>{"E-outside, hint 2", "m2", "2", "1", "1", "100 %"});
  CHECK(hints.rows[1] == std::vector<std::string>{"E-outside, hint 1", "m2", "2", "1", "0", "0 %"});
  CHECK(hints.rows[2] == std::vector<std::string>{"m2, hint 1", "m2", "2", "0", "0", "-"});
  const Table predictions = database.table("predictions");
  CHECK(predictions.heading.back() == "what limits it");
  REQUIRE(predictions.rows.size() == 1);
  CHECK(predictions.rows[0] == std::vector<std::string>{"baseline", "m2", "2", "2.00", "2.50",
                                                        "2 of 2", "3.00", "4.50", "memory 2"});
  const std::string page = markdown_of(class_dashboard(database, "", false));
  CHECK(page.find("## Which hint helped") != std::string::npos);
  CHECK(page.find("## What the class predicted") != std::string::npos);
  CHECK(page.find("alice") == std::string::npos);
  CHECK(database.table("hints_read", "m1").rows.empty());
  // A revoked time is none.
  database.revoke(id, "Copied.", "");
  CHECK(database.table("predictions").rows.at(0).at(7) == "-");
  // Of two the median lies between them; what most expect comes first.
  database.keep_notes(
      database.add_student({.name = "eve"}), "m2",
      {.notebook = {
           .predictions = {{"baseline", {.limiter = "latency", .loads = 9, .op_ms = 5}}}}});
  database.keep_notes(alice, "m3", {.notebook = {.predictions = {{"a", {.limiter = "memory"}}}}});
  const Table both = database.table("predictions");
  REQUIRE(both.rows.size() == 2);
  CHECK(both.rows[0] == std::vector<std::string>{"baseline", "m2", "3", "2.00", "2.50", "2 of 2",
                                                 "3.00", "-", "memory 2, latency 1"});
  CHECK(both.rows[1] ==
        std::vector<std::string>{"a", "m3", "1", "-", "-", "-", "-", "-", "memory 1"});
  database.keep_notes(
      database.add_student({.name = "mel"}), "m2",
      {.notebook = {
           .predictions = {{"baseline", {.limiter = "latency", .loads = 9, .op_ms = 5}}}}});
  const Table even = database.table("predictions", "m2");
  CHECK(even.rows.at(0).at(3) == "5.50");
  CHECK(even.rows.at(0).back() == "latency 2, memory 2");
}
