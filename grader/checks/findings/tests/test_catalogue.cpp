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
  for (const FindingWords& diagnosis : catalogue()) {
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
