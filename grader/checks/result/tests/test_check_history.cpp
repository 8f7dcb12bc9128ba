#include <fstream>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
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
  const auto file = folder.path() / "made by the first check" / "history.jsonl";
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

TEST_CASE("history: of what was seen it keeps the smallest case and its picture") {
  const convlab::testing::TemporaryFolder folder;
  const auto file = folder.path() / "history.jsonl";
  const std::string drawn = "Pixels of channel 0:\n    expected  found\n    # .       . #";
  Finding named{.id = "E-stride", .title = "stride", .stage = "a"};
  named.seen = "174 are wrong.\nBy hand: 3.";
  named.smallest = "B=1";
  named.alone = "--case 1";
  named.picture = drawn;
  const Finding plain{.id = "E-wrong", .title = "wrong", .seen = "7 are wrong.", .stage = "b"};
  append_history(file, checked("1", {"a", "b"}, {named, plain}));
  const auto history = read_history(file);
  REQUIRE(history.size() == 1);
  REQUIRE(history[0].findings.size() == 2);
  CHECK(history[0].findings[0].seen ==
        "The smallest case that fails: B=1; --case 1 runs it alone.\n" + drawn);
  CHECK(history[0].findings[1].seen.empty());
}
