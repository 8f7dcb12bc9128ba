#include <fstream>

#include "common/base/testing/catch.hpp"
#include "common/base/testing/temporary_folder.hpp"
#include "grader/checks/result/check_history.hpp"

using namespace convlab;
using namespace convlab::grader;

namespace {

CheckResult checked(const std::string& created, const std::vector<std::string>& stages,
                    const std::vector<Finding>& findings) {
  CheckResult check;
  check.result.milestone = "m4";
  check.result.created = created;
  for (const std::string& stage : stages) check.cases.push_back({.stage = stage});
  check.findings = findings;
  return check;
}

}  // namespace

TEST_CASE("history: a mistake from the check that saw it to the one that did not") {
  const convlab::testing::TemporaryFolder folder;
  const auto file = folder.path() / "history.jsonl";
  CHECK(read_history(file).empty());
  const Finding stride{.id = "E-stride", .title = "the stride is ignored", .stage = "a"};
  const Finding build{.id = "E-build", .title = "it does not compile"};
  append_history(file, checked("1", {}, {build}));
  append_history(file, checked("2", {"a"}, {stride}));
  append_history(file, checked("3", {"a"}, {stride}));
  append_history(file, checked("4", {"b"}, {}));
  std::ofstream(file, std::ios::app) << "{ half a line\n";
  append_history(file, checked("5", {"a", "b"}, {}));
  append_history(file, checked("6", {"a"}, {stride}));
  const auto mistakes = mended_mistakes(read_history(file), "m4");
  REQUIRE(mistakes.size() == 3);
  CHECK(mistakes[0].id == "E-build");
  CHECK(mistakes[0].mended == "2");
  CHECK(mistakes[1].seen == "2");
  CHECK(mistakes[1].checks == 2);
  CHECK(mistakes[1].mended == "5");
  CHECK(mistakes[2].seen == "6");
  CHECK(mistakes[2].mended.empty());
  CHECK(mended_mistakes(read_history(file), "m1").empty());
}
