#include <filesystem>

#include "common/base/testing/catch.hpp"
#include "common/base/testing/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
#include "grader/corpus/runner/mistake.hpp"
#include "grader/corpus/runner/mistakes_page.hpp"

using convlab::write_atomically;
using namespace convlab::grader;

namespace {

Mistake read(const convlab::testing::TemporaryFolder& folder, const std::string& lines) {
  const std::filesystem::path file = folder.path() / "m1/one.mistake";
  write_atomically(file, "// What  W.\n" + lines + "- a\n+ b\n");
  return read_mistake(file, folder.path());
}

}  // namespace

TEST_CASE("mistake: its lines decide its share") {
  const convlab::testing::TemporaryFolder folder;
  using enum Mistake::Share;
  const std::string finding = "// Finding  E-x\n";
  CHECK(read(folder, finding).share == kBare);
  CHECK(read(folder, finding + "// Cause  c\n").share == kHelps);
  CHECK(read(folder, finding + "// Place  the line\n").share == kHelps);
  CHECK(read(folder, finding + "// Cause  c\n// Place  p; q\n").share == kNamed);
  CHECK(read(folder, finding + "// Cause  c\n// Place  p\n// Misleads  m\n").share == kFalse);
  CHECK(read(folder, "// Finding  passes\n").share == kPasses);
  const Mistake named = read(folder, finding + "// Cause  c\n// Place  p; the line\n");
  CHECK(named.says == std::vector<std::string>{"c", "p"});
  CHECK(named.quotes_line);
}

TEST_CASE("mistake: whether a text quotes a line of the change") {
  const std::string original = "a\nb\nc\nd\n";
  CHECK(quotes_changed_line("f.cu:3 | x", original, "a\nb\nx\nd\n"));
  CHECK(quotes_changed_line("f.cu:2 | b", original, "a\nb\nx\nd\n"));  // a statement's first line
  CHECK_FALSE(quotes_changed_line("f.cu:4 | d", original, "a\nb\nx\nd\n"));
  CHECK_FALSE(quotes_changed_line("3", original, "a\nb\nx\nd\n"));
  CHECK(quotes_changed_line("f.cpp:2:7: error", original, "a\nc\nd\n"));  // beside a missing line
}

TEST_CASE("mistakes: the table of their shares") {
  Mistake named{.share = Mistake::Share::kNamed, .milestone = "m1"};
  Mistake passes{.share = Mistake::Share::kPasses, .milestone = "m2"};
  const std::string table = shares_table({named, named, passes});
  CHECK(table.find("| m1 | 2 | 2 | 0 | 0 | 0 | 0 | 100 % | 100 % |\n") != std::string::npos);
  CHECK(table.find("| together | 3 | 2 | 0 | 0 | 0 | 1 | 67 % | 67 % |\n") != std::string::npos);
}

TEST_CASE("mistakes: the page has the table of the corpus") {
  const std::filesystem::path root = CONVLAB_SOURCE_DIR;
  std::vector<Mistake> all;
  for (const auto& each :
       std::filesystem::recursive_directory_iterator(root / "grader/corpus/mistakes")) {
    if (each.path().extension() != ".mistake") continue;
    all.push_back(read_mistake(each.path(), root / "reference/solutions/typical"));
  }
  const std::string table = shares_table(all);
  INFO(table);
  CHECK(convlab::read_text(root / "docs/diagnoses.md").find(table) != std::string::npos);
}
