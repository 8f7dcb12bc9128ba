#include <algorithm>
#include <cctype>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "common/base/json_text.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/sentences.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
#include "grader/checks/findings/catalogue.hpp"

using namespace convlab;

TEST_CASE("catalogue: every diagnosis has an id of its own, a next step and a chapter") {
  const std::string handbook = read_text(CONVLAB_SOURCE_DIR "/docs/diagnoses.md");
  std::set<std::string> ids;
  for (const FindingWords& diagnosis : catalogue()) {
    CAPTURE(diagnosis.id);
    CHECK(ids.insert(diagnosis.id).second);
    CHECK_FALSE(std::string(diagnosis.title).empty());
    CHECK_FALSE(std::string(diagnosis.next).empty());
    CHECK(handbook.find("\n## " + std::string(diagnosis.id) + "\n") != std::string::npos);
  }
  // The handbook names no finding that does not exist.
  std::istringstream lines(handbook);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("## E-", 0) == 0) CHECK(ids.count(line.substr(3)) == 1);
  }
}

namespace {

/// Calls `read` with the text of each .cpp and .hpp file below these folders that is no test.
template <class Read>
void for_each_source(std::initializer_list<const char*> folders, const Read& read) {
  for (const char* folder : folders) {
    for (const auto& file :
         std::filesystem::recursive_directory_iterator(std::string(CONVLAB_SOURCE_DIR) + folder)) {
      const std::string path = file.path().string();
      if ((file.path().extension() != ".cpp" && file.path().extension() != ".hpp") ||
          path.find("/tests/") != std::string::npos || path.find("/corpus/") != std::string::npos) {
        continue;
      }
      read(path, read_text(file.path()));
    }
  }
}

}  // namespace

TEST_CASE("catalogue: every variant that the program names exists, of a finding that exists") {
  int named = 0;
  for_each_source(
      {"/common/serve", "/grader/checks", "/grader/judge"}, [&](const auto&, const auto& code) {
        for (auto at = code.find("\"E-"); at != std::string::npos; at = code.find("\"E-", at + 1)) {
          const std::string name = code.substr(at + 1, code.find('"', at + 1) - at - 1);
          if (name.find('/') == std::string::npos) continue;
          CAPTURE(name);
          CHECK_NOTHROW(grader::finding(name, ""));
          ++named;
        }
      });
  CHECK(named > 120);
}

TEST_CASE("catalogue: each name stands once, and no sentence has more than 25 words") {
  std::istringstream lines(read_text(CONVLAB_SOURCE_DIR "/common/serve/findings.txt"));
  std::set<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("E-")) continue;
    const std::string name = line.substr(0, line.find(':'));
    const Finding found = grader::finding(name, "");
    CAPTURE(line);
    CHECK(names.insert(name).second);
    static const std::regex conditional(R"(\{if [^:]*: ([^}]*)\})");
    for (const std::string& text : {found.seen.text(), found.cause, found.next}) {
      CHECK(testing::longest_sentence(std::regex_replace(text, conditional, "$1")) <= 25);
    }
  }
  for (const char* file : {"compiler_messages.json", "cuda_errors.json"}) {
    for (const Json& message :
         parse_json(read_text(std::string(CONVLAB_SOURCE_DIR "/grader/checks/findings/") + file))) {
      for (const char* part : {"cause", "next"}) {
        CAPTURE(message.dump());
        CHECK(testing::longest_sentence(message.value(part, "")) <= 25);
      }
    }
  }
}

TEST_CASE("catalogue: one thing is one, several are several, and the milestone has its name") {
  CHECK(filled_in("{0 byte}, {1 more byte}, {0}", {"1", "32 and 16"}) ==
        "1 byte, 32 and 16 more bytes, 1");
  CHECK(filled_in("2^{0}, {10}, { x }", {"7"}) == "2^7, {10}, { x }");
  CHECK(grader::finding("E-timeout/stopped", "", {"1"}).seen == "stopped after 1 second.");
  Finding found = grader::finding("E-no-program", "");
  address(found, "m2", {});
  CHECK(found.next == "Build it: cmake --build --preset lab --target m2");
  CHECK(found.seen.empty());
}

TEST_CASE("catalogue: a sentence about what the file does not have is not said") {
  const testing::TemporaryFolder folder;
  const auto file = folder.path() / "conv.cu";
  write_atomically(file, "  __shared__ float tile[8];  // no fragment\n");
  const SourceText sources({file});
  CHECK(for_sources("Look. {if __shared__: Is it full?} {if fragment row: Rows?} Then?", sources) ==
        "Look. Is it full? Then?");
  CHECK(for_sources("{if async: Wait.} Look.", sources) == " Look.");
  CHECK(for_sources("Look. {if async: Wait.}", sources) == "Look.");
  CHECK(for_sources("output[…] {0}", sources) == "output[…] {0}");
}

namespace {

// An id that is compared, or looked up. What makes a finding only names it.
bool compares_ids(const std::string& code) {
  static const std::regex compared(
      R"re([!=]= *"E-|"E-[a-z/-]+" *[!=]=|\b(contains|count|find|insert|erase|IsMember|(starts|ends)_with)\([^()";]*"E-)re");
  return std::regex_search(code, compared);
}

// A text of a finding that is searched: it is made for readers.
bool reads_made_text(const std::string& code) {
  static const std::regex searched(
      R"re(\b(seen\.text\(\)|(seen|cause|next))\.(r?find[a-z_]*|substr|contains|(starts|ends)_with)\()re"
      R"re(|\b(find_word|contains|regex_[a-z]+)\([^;,]*(seen\.text\(\)|(\.|->)(cause|next)\b))re");
  return std::regex_search(code, searched);
}

}  // namespace

TEST_CASE("catalogue: the checks of the next test see each way to compare and to search") {
  for (const char* code :
       {R"(found.id == "E-nan")", R"(if ("E-build" != found.id))", R"(ids.contains("E-leak"))",
        R"(refused.insert("E-converted"))", R"(IsMember({"E-leak", "E-outside"}))",
        R"(found.id.starts_with("E-out"))", R"(std::ranges::count(ids, "E-nan"))"}) {
    CAPTURE(code);
    CHECK(compares_ids(code));
  }
  CHECK_FALSE(compares_ids(R"(return finding("E-nan", seen); ids.contains(found.id);)"));
  for (const char* code :
       {R"(found.seen.text().find("never written"))", R"(finding->cause.starts_with("A race"))",
        "find_word(found.seen.text(), place)", R"(contains(finding.cause, "race"))",
        "std::regex_search(each->next, words)", "fact.next.substr(4)"}) {
    CAPTURE(code);
    CHECK(reads_made_text(code));
  }
  CHECK_FALSE(reads_made_text("if (fact->cause.empty()) fact->cause = told(name).cause;"));
}

// What is decided of a finding is decided by its kinds, in findings.txt, never by its words.
TEST_CASE("catalogue: no code compares ids with a name, and each kind that it asks for exists") {
  std::string kinds = " ";
  for (const FindingWords& words : catalogue()) kinds += words.kinds + " ";
  const std::regex asked(
      R"re(is_of_kind\([^"()]*(?:\([^()]*\))?[^"()]*, "([a-z-]+)"\)|ids_of_kind\("([a-z-]+)"\)|[ (!]is\([a-z_.>()-]+, "([a-z-]+)"\))re");
  int count = 0;
  for_each_source({"/common", "/grader"}, [&](const auto& path, const auto& code) {
    CAPTURE(path);
    CHECK_FALSE(compares_ids(code));
    if (path.find("/grader/") != std::string::npos) CHECK_FALSE(reads_made_text(code));
    const bool is_judge =
        path.find("/grader/judge/") != std::string::npos;  // has a short name for it
    for (std::sregex_iterator each(code.begin(), code.end(), asked), end; each != end; ++each) {
      const std::string kind = each->str(1) + each->str(2) + (is_judge ? each->str(3) : "");
      if (kind.empty()) continue;
      CAPTURE(kind);
      CHECK(kinds.find(" " + kind + " ") != std::string::npos);
      ++count;
    }
  });
  CHECK(count > 30);
}
