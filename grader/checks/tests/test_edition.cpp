#include <map>

#include "common/base/error.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/whole_file.hpp"
#include "common/serve/finding_texts.hpp"
#include "grader/checks/rules.hpp"

using namespace convlab;
using namespace convlab::grader;

namespace {

const EditionTask& task_of(const Edition& edition, const std::string& name) {
  const auto found = std::ranges::find(edition.tasks, name, &EditionTask::name);
  REQUIRE(found != edition.tasks.end());
  return *found;
}

std::string refusal(const std::string& text) {
  try {
    parse_edition(text, "file");
  } catch (const EnvironmentError& error) {
    return error.what();
  }
  return "accepted";
}

// Task and path of each file, "req_0=project/m3/req_0/m3-forward.cu".
std::map<std::string, std::string> found_in(const std::vector<std::string>& paths) {
  std::map<std::string, std::string> found;
  for (const TaskFile& file : tasks_in(load_edition("sp26"), paths)) {
    found[file.task.name] = file.path;
  }
  return found;
}

}  // namespace

TEST_CASE("edition: what each term asked for") {
  struct Row {
    const char* name;
    std::size_t tasks, published;
    int least_batch;
    double full_ms, none_ms;  // of the final task
    double points, optional;  // of all tasks; 0: not known
    double basic_ms;          // limit of the basic kernel
  };
  const std::vector<Row> rows = {
      {"fa20", 2, 0, 100, 0, 0, 0, 0, 0},         {"sp21", 2, 0, 100, 0, 0, 0, 0, 0},
      {"fa21", 2, 0, 100, 0, 0, 0, 0, 0},         {"sp22", 2, 0, 100, 0, 0, 0, 0, 0},
      {"fa22", 2, 0, 100, 0, 0, 0, 0, 0},         {"sp23", 2, 0, 100, 0, 0, 0, 0, 0},
      {"fa23", 2, 4, 100, 0, 0, 0, 0, 0},         {"sp24", 2, 0, 100, 0, 0, 0, 0, 0},
      {"cse160", 1, 0, 1000, 0, 0, 0, 0, 0},      {"csc14120", 0, 0, 100, 0, 0, 0, 0, 0},
      {"fa24", 14, 0, 100, 80, 200, 72, 18, 210}, {"sp25", 15, 0, 1, 50, 75, 75, 17, 300},
      {"fa25", 14, 0, 1, 60, 100, 75, 17, 300},   {"sp26", 14, 0, 1, 60, 100, 75, 17, 300}};
  CHECK(rows.size() == edition_names().size());
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const Edition edition = load_edition(row.name);
    CHECK(edition.tasks.size() == row.tasks);
    CHECK(edition.cases.size() == row.published);
    CHECK(edition.batches.front() == row.least_batch);
    CHECK(edition.warnings == ids_of_kind("may-warn"));
    CHECK(edition.competition.has_value() == (row.full_ms == 60));
    double points = 0.0;
    double optional = 0.0;
    for (const EditionTask& task : edition.tasks) {
      (task.optional ? optional : points) += task.points;
    }
    CHECK(points == row.points);
    CHECK(optional == row.optional);
    if (row.full_ms == 0) continue;
    CHECK(task_of(edition, "m1-gpu").time->full_ms == row.basic_ms);
    CHECK(task_of(edition, "m2-unroll").time->none_ms == 1200);
    if (edition.name != "fa24") {
      CHECK(task_of(edition, "m2-fused").time->none_ms == 200);
      CHECK(task_of(edition, "req-1").points_in_half == 5);
      CHECK(task_of(edition, "op-5").points_without_half2 == 2);
    }
    const EditionTask final_task = task_of(edition, "final");
    REQUIRE(final_task.time);
    CHECK(final_task.time->full_ms == row.full_ms);
    CHECK(final_task.time->none_ms == row.none_ms);
    CHECK(edition.gpu == "NVIDIA A40");
    CHECK(task_of(edition, "req-0").prolog_computes);
    CHECK_FALSE(final_task.prolog_computes);
    CHECK(std::ranges::count(final_task.rules, "no-half") == 1);
    // The trees of autumn 2024 have no matmul.h: each file brings its own product.
    CHECK(task_of(edition, "m2-unroll").matmul == (edition.name != "fa24"));
    CHECK(task_of(edition, "op-4").libraries == std::vector<std::string>{"cublas"});
  }
  for (const int batch : {4095, 4096, 8767}) {
    CHECK(std::ranges::count(load_edition("sp26").batches, batch) == 1);
  }
  CHECK(load_edition("csc14120").network == "lenet5");
  CHECK(edition_names().front() == "fa20");
  CHECK(ranked_edition().name == "sp26");
}

TEST_CASE("edition: a linear scale of times, and a limit") {
  const TimeRule scale{.batch = 10000, .full_ms = 60, .none_ms = 100};
  CHECK(scale.share(12.0) == 1.0);
  CHECK(scale.share(60.0) == 1.0);
  CHECK(scale.share(70.0) == Approx(0.75));
  CHECK(scale.share(100.0) == 0.0);
  CHECK(scale.share(1000.0) == 0.0);
  const TimeRule limit{.batch = 10000, .full_ms = 300, .none_ms = 300};
  CHECK(limit.share(299.0) == 1.0);
  CHECK(limit.share(301.0) == 0.0);
}

TEST_CASE("edition: a task is a milestone of its own, and has its edition's rules") {
  const auto named = find_task("sp25-req-0");
  REQUIRE(named);
  CHECK(named->task.title == "Streams");
  CHECK(named->edition.id_of(named->task) == "sp25-req-0");
  CHECK(find_task("sp25-req_0")->task.name == "req-0");  // as the course writes it
  CHECK_FALSE(find_task("m2"));
  CHECK_FALSE(find_task("my-submission"));
  CHECK_THROWS_WITH(find_task("sp25-req-9"), Catch::Matchers::ContainsSubstring("sp25-req-0"));
  CHECK(parse_rules("", "sp25-req-0").prolog_may_compute());
  CHECK(parse_rules("sp25-req-0").prolog_may_compute());
  CHECK_FALSE(parse_rules("sp25").prolog_may_compute());
  CHECK(parse_rules("sp25-req-0").batches().front() == 100);
  CHECK(parse_rules("sp25-final").batches().front() == 1);
  CHECK_THROWS_AS(parse_rules("fa24", "sp25-req-0"), UsageError);
}

TEST_CASE("edition: each file of a tree is the task whose place it has") {
  const std::string custom = "Project/project/src/layer/custom/";
  const auto found =
      found_in({custom + "cpu-new-forward.cc", custom + "new-forward.cu",
                custom + "unroll-new-forward.cu", custom + "kernel-fusion-forward.cu",
                custom + "m3-forward.cu", "Project/project/m3/req_0/m3-forward.cu",
                "Project/project/m3/op_7/m3-forward.cu", custom + "matmul.cu"});
  CHECK(found.size() == 6);
  CHECK(found.at("m1-cpu") == custom + "cpu-new-forward.cc");
  CHECK(found.at("m1-gpu") == custom + "new-forward.cu");
  CHECK(found.at("final") == custom + "m3-forward.cu");
  CHECK(found.at("req-0") == "Project/project/m3/req_0/m3-forward.cu");
  // Files without their folders; and .cpp, which most other courses write.
  const auto loose = found_in({"cpu-new-forward.cpp", "x/new-forward.cu", "m3-forward.cu"});
  CHECK(loose.at("m1-cpu") == "cpu-new-forward.cpp");
  CHECK(loose.at("m1-gpu") == "x/new-forward.cu");
  CHECK(loose.at("final") == "m3-forward.cu");
  // The one with its folder is meant.
  CHECK(found_in({"old/new-forward.cu", custom + "new-forward.cu"}).at("m1-gpu") ==
        custom + "new-forward.cu");
  CHECK_THROWS_WITH(found_in({"a/custom/new-forward.cu", "b/custom/new-forward.cu"}),
                    "There are two files for the task sp26-m1-gpu, a/custom/new-forward.cu and "
                    "b/custom/new-forward.cu; leave one of them.");
  using Names = std::vector<std::string>;
  CHECK(editions_of({custom + "matmul-unroll.cu", "m3/req_2/m3-forward.cu"}) == Names{"fa24"});
  const Names alike = editions_of({custom + "m3-forward.cu", "m3/op_6/m3-forward.cu"});
  CHECK(alike == Names{"sp25", "fa25", "sp26"});
  CHECK(choice_among(alike) ==
        "The rules are those of sp26; its files are also those of sp25, fa25, which --rules can "
        "name.");
  CHECK(choice_among({"fa24"}).empty());
  CHECK(editions_of({custom + "new-forward.cu"}).empty());
  CHECK(editions_of({}).empty());
}

TEST_CASE("edition: who defines the course interface, and who only calls it") {
  CHECK(defines_course_interface("void GPUInterface::conv_forward_gpu(float* y,\n int K)\n{}"));
  CHECK(defines_course_interface("void conv_forward_cpu(float* y) {"));
  CHECK_FALSE(defines_course_interface("gpu.conv_forward_gpu(y_d, x_d, B);"));
  CHECK_FALSE(defines_course_interface("void conv_forward_gpu(float* y);\nint main() {}"));
  CHECK_FALSE(defines_course_interface("int conv_forward_"));
}

TEST_CASE("edition: what is wrong with a file is one sentence") {
  const std::string text = read_text(edition_file("sp26"));
  CHECK(parse_edition(text, "file").tasks.size() == 14);
  const auto without = [&](std::string part, const std::string& other = "") {
    std::string changed = text;
    REQUIRE(changed.find(part) != std::string::npos);
    changed.replace(changed.find(part), part.size(), other);
    return refusal(changed);
  };
  for (const auto& [part, other, words] : std::vector<std::array<std::string, 3>>{
           {R"("network": "fa23",)", "", "it lacks the key 'network'"},
           {R"("full_ms": 60, )", "", "'time' of task 'final' lacks the key 'full_ms'"},
           {R"("points": 25)", R"("ponits": 25)", "task 'final' has an unknown key 'ponits'"},
           {R"("file": "op_1/m3-forward.cu",)", "", "task 'op-1' lacks the key 'file'"},
           {R"("points": 25)", R"("points": "25")", "'points' of task 'final' must be a number"},
           {R"("points": 25)", R"("points": -25)", "task 'final' needs points from 0 to 1000"},
           {R"("workbook": "m2")", R"("workbook": "m9")", "no milestone 'm9'"},
           {"8767", "87.5", "each of 'batches' must be a whole number"},
           {"8767", "true", "each of 'batches' must be a whole number"},
           {R"([1, 100, 1000, 4095, 4096, 8767, 10000])", "100", "'batches' must be a list"},
           {R"("warm_ups": 5)", R"("warm_ups": "5")",
            "'warm_ups' of 'competition' must be a whole number"},
           {R"("calls": 10)", R"("calls": 2000000000)", "1 to 1000 'calls'"},
           {R"("title": "Spring 2026")", R"("title": null)", "'title' must be text in quotes"},
           {R"({"name": "m1-cpu")", R"("m1-cpu", {"name": "m1-cpu")",
            "each of 'tasks' must be an object of keys and values"},
           {R"("network": "fa23")", R"("network": "fa99")", "no network 'fa99'"},
           {R"("cublas")", R"("cufoo")", "task 'op-4' allows 'cufoo', a library that"},
           {"custom/new-forward.cu", "/new-forward.cu", "needs 'file', the end of the path"},
           {R"("batch": 10000, "full_ms": 60)", R"("batch": 0, "full_ms": 60)",
            "task 'final' has a time at the batch 0, which is none of its batches"},
           {R"("name": "op-1")", R"("name": "op-0")", "two tasks of the name 'op-0'"},
           {"op_1/m3", "op_0/m3", "two of its tasks have the file 'op_0/m3-forward.cu'"},
           {"\"no-half\"", "\"no-halves\"", "no rule 'no-halves'"},
           {R"("E-leak")", R"("E-leek")", "'E-leek'"},
           {"8767", "87670", "has the batch 87670; a batch is from 1 to 10000"},
           {R"("cases": [])", R"("cases": [[1, 2, 3]])", "a list of 7 numbers"},
           {R"("cases": [])", R"("cases": [[1, 1, 1, 2, 2, 3, 1]])", "is no convolution"},
           {R"("gpu": "NVIDIA A40",)", "", "needs 'gpu'"},
           {"\"none_ms\": 100", "\"none_ms\": 10", "'none_ms' not below it"},
           {"cpu-new-forward.cc", "cpu-new-forward.cu", "needs the workbook's m1 for a .cc file"},
           {"{", "", "syntax"}}) {
    CAPTURE(part, other);
    const std::string said = without(part, other);
    CHECK_THAT(said, Catch::Matchers::ContainsSubstring(words));
    CHECK(said.find("The edition file cannot be used: ") == 0);
    CHECK(said.find("\n") == std::string::npos);
  }
}
