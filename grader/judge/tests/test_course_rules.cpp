#include "common/base/tests/support/catch.hpp"
#include "grader/judge/course_rules.hpp"

using namespace convlab;
using namespace convlab::grader;

namespace {

std::string kept(const std::string& task, bool competition) {
  GradeRequest request;
  request.rules = parse_rules(task);
  request.competition = competition;
  std::string names;
  for (const std::string& rule : rules_to_keep(request)) names += " " + rule;
  return names;
}

}  // namespace

TEST_CASE(
    "course rules: what each term asks of a task beside a right output, and if it is ranked") {
  const std::string in_time = " kernels-in-convolve one-stream no-half";
  const std::string ranked = in_time + " tiled-product unrolling";
  struct Row {
    const char* task;
    std::string alone, in_competition;
  };
  const std::vector<Row> rows = {{"fa20", "", ""},
                                 {"sp24-gpu", "", ""},
                                 {"fa24-m2-unroll", "", ""},
                                 {"fa24-req-0", "", ""},
                                 {"fa24-final", in_time, in_time},
                                 {"fa24-competition", " kernels-in-convolve no-half unrolling",
                                  " kernels-in-convolve no-half unrolling"},
                                 {"sp25-final", in_time, in_time},
                                 {"sp25-competition", in_time, in_time},
                                 {"fa25-m2-unroll", " matmul", " matmul" + ranked},
                                 {"fa25-final", in_time, ranked},
                                 {"sp26-m2-fused", "", ranked},
                                 {"sp26-req-0", "", ranked},
                                 {"sp26-final", in_time, ranked}};
  for (const Row& row : rows) {
    CAPTURE(row.task);
    CHECK(kept(row.task, false) == row.alone);
    CHECK(kept(row.task, true) == row.in_competition);
  }
}
