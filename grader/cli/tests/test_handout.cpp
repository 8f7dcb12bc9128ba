// The hand-out maker, on a copy of this tree.
#include <filesystem>

#include "common/base/run_process.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"

using namespace convlab;
using convlab::testing::contains;
namespace fs = std::filesystem;

namespace {

/// A git working tree with the committed files of this one; none where this is no git tree.
struct Copy {
  convlab::testing::TemporaryFolder folder;
  fs::path tree = folder.path() / "tree";
  bool made = run_process({.words = {"git", "clone", "--quiet", CONVLAB_SOURCE_DIR, tree.string()}})
                  .succeeded() &&
              fs::exists(tree / "reference/solutions");

  FinishedProcess make(const std::string& out, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {CONVLAB_BINARY_DIR "/grader",   "handout", "make",
                                      (folder.path() / out).string(), "--term",  "SP27"};
    words.insert(words.end(), more.begin(), more.end());
    return run_process({.words = words,
                        .environment = {"CONVLAB_HOME=" + tree.string()},
                        .output = Command::Output::kTogether});
  }
};

// "## What it *says*, twice" has the anchor what-it-says-twice.
bool has_anchor(const fs::path& page, const std::string& wanted) {
  for (const std::string& line : lines_of(read_text(page))) {
    std::string anchor;
    for (const char c : trimmed(line.substr(std::min(line.size(), line.find_first_not_of('#'))))) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == ' ') anchor += '-';
      if (std::isalnum(byte) != 0 || c == '-' || c == '_' || byte >= 0x80) {
        anchor += static_cast<char>(std::tolower(byte));
      }
    }
    if (line.starts_with('#') && anchor == wanted) return true;
  }
  return false;
}

void check_link(const fs::path& tree, const fs::path& from, const std::string& link) {
  INFO(from << " leads to " << link);
  const auto hash = std::min(link.find('#'), link.size());
  const fs::path page = hash == 0 ? from : from.parent_path() / link.substr(0, hash);
  REQUIRE(fs::exists(tree / page));
  if (hash < link.size() && page.extension() == ".md") {
    CHECK(has_anchor(tree / page, link.substr(hash + 1)));
  }
}

}  // namespace

namespace {

void append(const fs::path& file, const std::string& text) {
  write_atomically(file, read_text(file) + text);
}

// The line of a solution that contains `part`.
std::string line_of(const std::string& solution, const std::string& part) {
  for (const std::string& line :
       lines_of(read_text(fs::path(CONVLAB_SOURCE_DIR) / "reference/solutions" / solution))) {
    if (contains(line, part)) return line;
  }
  FAIL("no line of " << solution << " contains " << part);
  return "";
}

}  // namespace

TEST_CASE("grader handout: the tree without solutions, the same bytes each time") {
  const Copy copy;
  if (!copy.made) CONVLAB_SKIP("this is no git working tree with solutions");
  // A finding's example quotes a line of a solution, broken in two.
  const std::string loop = trimmed(line_of("m1_cpu_baseline/conv_forward.cpp", "sum += "));
  const auto half = loop.find(' ', loop.size() / 2);
  append(copy.tree / "docs/results.md", "```text\n    conv_forward.cpp:9 | " +
                                            loop.substr(0, half) + "\n" + std::string(25, ' ') +
                                            loop.substr(half + 1) + "\n```\n");
  REQUIRE(copy.make("a").exit_code == 0);
  CHECK(read_text(copy.folder.path() / "a/convlab-SP27/docs/results.md")
            .ends_with("```text\n    conv_forward.cpp:9 | …\n```\n"));
  REQUIRE(copy.make("b").exit_code == 0);
  const fs::path a = copy.folder.path() / "a";
  CHECK(fs::exists(a / "convlab-SP27/milestones/m4_optimizations/README.md"));
  CHECK_FALSE(fs::exists(a / "convlab-SP27/reference/solutions"));
  CHECK(fs::exists(a / "convlab-SP27/AGENTS.md"));
  CHECK(fs::exists(a / "convlab-SP27/milestones/handout.sha256"));
  CHECK_FALSE(fs::exists(a / "convlab-SP27/milestones/handout_files"));
  CHECK(read_text(a / "convlab-SP27.tar.gz") ==
        read_text(copy.folder.path() / "b/convlab-SP27.tar.gz"));
  CHECK(contains(copy.make("a").output, "exists already"));
  const fs::path tree = a / "convlab-SP27";
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(tree)) {
    if (!entry.is_regular_file()) continue;
    ++files;
    const std::string text = read_text(entry.path());
    const fs::path from = entry.path().lexically_relative(tree);
    INFO(from.string());
    for (const char* part : {"/tests/", "benchmarks/", "grader/corpus", "grader/class"}) {
      CHECK_FALSE(contains(from.string(), part));
    }
    if (from.extension() == ".md") {
      CHECK_FALSE(contains(text, "```diff"));
      CHECK_FALSE(contains(text, "for instructors -->"));
    }
    if (from.extension() == ".md" || from.extension() == ".ipynb") {
      for (auto at = text.find("]("); at != std::string::npos; at = text.find("](", at + 1)) {
        const std::string link = text.substr(at + 2, text.find(')', at) - at - 2);
        if (!contains(link, "://")) check_link(tree, from, link);
      }
    } else if (text.find('\0') == std::string::npos) {
      for (auto at = text.find("docs/"); at != std::string::npos; at = text.find("docs/", at + 1)) {
        constexpr const char* kLetters =
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/#.";
        std::string link = text.substr(at, text.find_first_not_of(kLetters, at) - at);
        while (link.ends_with('.') || link.ends_with('#')) link.pop_back();
        if (contains(link, ".md")) check_link(tree, "README.md", link);
      }
    }
  }
  CHECK(files < 800);
}

TEST_CASE("grader handout: an answer is found in every kind of file, with file and line") {
  const Copy copy;
  if (!copy.made) CONVLAB_SKIP("this is no git working tree with solutions");
  const std::string loop = line_of("m1_cpu_baseline/conv_forward.cpp", "sum += ");
  const std::string typical = line_of("typical/m4.cu", "sum += weight_tile");
  // Its spaces removed, quoted, behind other text: what a line of a file may look like.
  const std::string squeezed = [&] {
    std::string text = loop;
    std::erase(text, ' ');
    return text;
  }();
  // A line broken into one for each word, in a comment.
  const std::string broken = [&] {
    std::string text = loop;
    for (auto at = text.find(' '); at != std::string::npos; at = text.find(' ', at + 6)) {
      text.replace(at, 1, "\n// * ");
    }
    return text;
  }();
  const std::vector<std::pair<std::string, std::string>> planted = {
      {"docs/results.md", broken},
      {"README.md", "    " + loop},
      {"docs/glossary.md", "| sum | `" + squeezed + "` |"},
      {"docs/images/im2col.svg", "<!-- " + typical + " -->"},
      {"docs/colab.ipynb", "\"" + loop + "\\n\","},
      {"milestones/m2_gpu_baseline/hints.json", " \"" + typical + "\""},
      {"milestones/m1_cpu_baseline/conv_forward.cpp", "// " + loop},
      {"milestones/m2_gpu_baseline/puzzles/vector_add.cu", typical},
      {"common/stage/stage.hpp", "//" + squeezed},
      {"common/emulation/CMakeLists.txt", "# " + loop},
      {"common/setup/lab", "# " + typical},
      {"grader/report/pages/page.css", "/* " + loop + " */"},
      {"reference/results/nvidia-h200.m1.json", loop},
      {"docs/timing.md",
       "`" + line_of("m4_optimizations/puzzles/7_tree.change", "part[c] +=").substr(2)},
      {".gitignore", "# " + loop}};
  for (const auto& [file, line] : planted) append(copy.tree / file, line + "\n");
  // Exercises that are solved, also under other names.
  const fs::path m2 = "m2_gpu_baseline/conv_forward.cu";
  std::string solved = read_text(copy.tree / "reference/solutions" / m2);
  for (auto at = solved.find("output"); at != std::string::npos;
       at = solved.find("output", at + 1)) {
    solved.replace(at, 6, "result");
  }
  write_atomically(copy.tree / "milestones" / m2, solved);
  const FinishedProcess run = copy.make("a");
  CHECK(run.exit_code == 1);
  // The lines of the terminal wrap.
  const std::string output = [&] {
    std::string text = run.output;
    std::erase_if(text, [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; });
    return text;
  }();
  for (const auto& [file, line] : planted) {
    INFO(file << "\n" << run.output);
    const auto number = lines_of(read_text(copy.tree / file)).size();
    // A page may be shorter for students.
    const bool page = file.ends_with(".md");
    CHECK(contains(output, file + ":" + (page ? "" : std::to_string(number) + "tells")));
  }
  CHECK(contains(output, m2.string() + "issolved"));
  CHECK_FALSE(fs::exists(copy.folder.path() / "a/convlab-SP27"));
  CHECK_FALSE(fs::exists(copy.folder.path() / "a/convlab-SP27.tar.gz"));
}

TEST_CASE(
    "grader lint: a stage of one's own is private; any other new file is missing in the list") {
  const Copy copy;
  if (!copy.made) CONVLAB_SKIP("this is no git working tree with solutions");
  const fs::path folder = copy.tree / "milestones" / "m1_cpu_baseline";
  write_atomically(folder / "stages" / "my_idea.cpp", "");
  write_atomically(folder / "other.cpp", "");
  const auto lint = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {CONVLAB_BINARY_DIR "/grader", "lint", "m1"};
    words.insert(words.end(), more.begin(), more.end());
    return run_process({.words = words,
                        .environment = {"CONVLAB_HOME=" + copy.tree.string()},
                        .output = Command::Output::kTogether});
  };
  const FinishedProcess missing = lint({});
  INFO(missing.output);
  CHECK(missing.exit_code == 1);
  CHECK(contains(missing.output, "m1_cpu_baseline/other.cpp is not in"));
  CHECK(contains(missing.output, "private: milestones/m1_cpu_baseline/stages/my_idea.cpp"));
  fs::remove(folder / "other.cpp");
  CHECK(lint({"--update"}).exit_code == 0);
  CHECK_FALSE(contains(read_text(copy.tree / "milestones" / "handout.sha256"), "my_idea"));
}
