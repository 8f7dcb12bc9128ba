#include <csignal>
#include <filesystem>
#include <set>
#include <sstream>

#include "common/base/tests/support/catch.hpp"
#include "common/base/whole_file.hpp"
#include "grader/checks/findings/catalogue.hpp"

using namespace convlab;

TEST_CASE("catalogue: every diagnosis has an id of its own, a cause, a next step and a chapter") {
  const std::string handbook = read_text(CONVLAB_SOURCE_DIR "/docs/diagnoses.md");
  std::set<std::string> ids;
  for (const grader::Diagnosis& diagnosis : grader::catalogue()) {
    CAPTURE(diagnosis.id);
    CHECK(ids.insert(diagnosis.id).second);
    CHECK_FALSE(std::string(diagnosis.title).empty());
    CHECK_FALSE(std::string(diagnosis.cause).empty());
    CHECK_FALSE(std::string(diagnosis.next).empty());
    CHECK(handbook.find("\n## " + std::string(diagnosis.id) + "\n") != std::string::npos);
  }
  // The handbook names no finding that does not exist.
  std::istringstream lines(handbook);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("## E-", 0) == 0) CHECK(ids.count(line.substr(3)) == 1);
  }
}

TEST_CASE("catalogue: every variant that the program names exists, of a finding that exists") {
  int named = 0;
  for (const char* folder : {"/common/serve", "/grader/checks", "/grader/scores"}) {
    for (const auto& file :
         std::filesystem::recursive_directory_iterator(std::string(CONVLAB_SOURCE_DIR) + folder)) {
      if (file.path().extension() != ".cpp" ||
          file.path().string().find("/tests/") != std::string::npos) {
        continue;
      }
      const std::string code = read_text(file.path());
      for (auto at = code.find("\"E-"); at != std::string::npos; at = code.find("\"E-", at + 1)) {
        const std::string name = code.substr(at + 1, code.find('"', at + 1) - at - 1);
        if (name.find('/') == std::string::npos) continue;
        CAPTURE(name);
        CHECK_NOTHROW(grader::finding(name, ""));
        ++named;
      }
    }
  }
  CHECK(named > 120);
}

TEST_CASE("catalogue: an unknown id is a mistake of ours") {
  CHECK_THROWS(grader::finding("E-unheard-of", ""));
}

TEST_CASE("catalogue: a fault's place is shown in one line") {
  grader::Failure failure{.kind = grader::Failure::Kind::kCrash, .code = SIGSEGV};
  failure.fault =
      FaultRecord{.kind = FaultKind::kReadOnly, .text = "", .array = "input", .element = 4};
  CHECK(explain(failure, "case 'a'").id == "E-writes-input");
  CHECK(explain(failure, "case 'a'").seen == "In case 'a': at input[4].");
  failure.fault = FaultRecord{
      .kind = FaultKind::kDevicePointer,
      .text = "the host used a device pointer, 12 bytes into allocation 3 of 784 bytes at 0x7f00",
      .file = "new-forward.cu",
      .line = 31,
      .allocated_at = "new-forward.cu:20"};
  CHECK(explain(failure, "case 'a'").id == "E-device-pointer");
  CHECK(explain(failure, "case 'a'").seen ==
        "In case 'a': the host used a device pointer, 12 bytes into allocation 3 of 784 bytes at "
        "0x7f00. At new-forward.cu:31. Allocated at new-forward.cu:20.");
}
