#include <archive_entry.h>

#include <filesystem>

#include "common/file/whole_file.hpp"
#include "common/testing/catch.hpp"
#include "common/testing/contains.hpp"
#include "common/testing/temporary_folder.hpp"
#include "grader/class/archive_files.hpp"
#include "grader/class/submitted_files.hpp"
#include "grader/class/tests/made_up_class.hpp"
#include "grader/class/work_of.hpp"

using namespace convlab;
using namespace convlab::grader;
using convlab::grader::testing::ArchiveEntry;
using convlab::grader::testing::write_archive;
using convlab::testing::contains;

namespace {

const std::string kPlace = "milestones/m1_cpu_baseline/conv_forward.cpp";

// The message about an archive with these entries.
std::string refusal(const std::vector<ArchiveEntry>& entries) {
  const convlab::testing::TemporaryFolder folder;
  const auto file = folder.path() / "a.tar.gz";
  write_archive(file, entries);
  try {
    read_submitted_files(file, read_archive);
  } catch (const RefusedSubmission& refused) {
    return refused.what();
  }
  return "read";
}

}  // namespace

TEST_CASE("submitted files: an archive of grader submit, a zip, a tree and a file") {
  const convlab::testing::TemporaryFolder folder;
  const std::vector<ArchiveEntry> entries = {{"m1-submission", "", AE_IFDIR},
                                             {"m1-submission/" + kPlace, "int a;\n"},
                                             {"m1-submission/result.json", "{}"}};
  for (const char* name : {"a.tar.gz", "b.zip"}) {
    write_archive(folder.path() / name, entries);
    const auto files = read_submitted_files(folder.path() / name, read_archive);
    REQUIRE(files.size() == 1);
    CHECK(files[0] == SubmittedFile{"m1-submission/" + kPlace, "int a;\n"});
    const auto works = work_of(files, "");
    REQUIRE(works.size() == 1);
    CHECK(works[0].milestone == "m1");
  }
  write_atomically(folder.path() / "tree" / kPlace, "int b;\n");
  write_atomically(folder.path() / "tree/.git/hidden.cpp", "int c;\n");
  CHECK(read_submitted_files(folder.path() / "tree").size() == 1);
  write_atomically(folder.path() / "alone.cpp", "int d;\n");
  CHECK(read_submitted_files(folder.path() / "alone.cpp").at(0).text == "int d;\n");
}

TEST_CASE("submitted files: hostile archives are refused with what is wrong") {
  CHECK(contains(refusal({{"../" + kPlace, "x"}}), "leaves the archive's folder by '..'"));
  CHECK(contains(refusal({{"a/../../b.cpp", "x"}}), "leaves the archive's folder by '..'"));
  CHECK(contains(refusal({{"/tmp/b.cpp", "x"}}), "does not start from the archive's own folder"));
  CHECK(contains(refusal({{"a\\b.cpp", "x"}}), "does not start from the archive's own folder"));
  CHECK(contains(refusal({{"a.cpp", "", AE_IFLNK, "/etc/passwd"}}), "is a symbolic link"));
  CHECK(contains(refusal({{"a.cpp", "x"}, {"b.cpp", "", AE_IFREG, "", "a.cpp"}}), "a hard link"));
  CHECK(contains(refusal({{"a.cpp", "", AE_IFCHR}}), "is a device"));
  CHECK(contains(refusal({{"a.cpp", "", AE_IFIFO}}), "is a pipe"));
  CHECK(contains(refusal({{"a.cpp", "x"}, {"./a.cpp", "y"}}), "two files of the name 'a.cpp'"));
  const std::string controls = refusal({{"a\x1b[2Jb.cpp", "x"}});
  CHECK(contains(controls, "control characters"));
  CHECK_FALSE(contains(controls, "\x1b"));
  CHECK(contains(refusal({{"README.md", "x"}}), "no source file"));
  CHECK(contains(refusal({}), "empty"));
}

TEST_CASE("submitted files: bombs are refused before they are unpacked") {
  // 300 MiB of zeros are 300 KiB in the archive.
  const std::string zeros(std::size_t{300} << 20, '\0');
  CHECK(contains(refusal({{"data.bin", zeros}}), "larger than 256 MiB"));
  CHECK(contains(refusal({{"a.cpp", zeros}}), "longer than 2 MiB"));
  std::vector<ArchiveEntry> many;
  for (std::size_t i = 0; i <= kMostEntries; ++i) many.push_back({std::to_string(i) + ".txt"});
  CHECK(contains(refusal(many), "more than 20000 files"));
}

TEST_CASE("submitted files: what is broken, empty or a link says so") {
  const convlab::testing::TemporaryFolder folder;
  const auto said_of = [&](const char* name) {
    try {
      read_submitted_files(folder.path() / name, read_archive);
    } catch (const RefusedSubmission& refused) {
      return std::string(refused.what());
    }
    return std::string("read");
  };
  write_atomically(folder.path() / "text.tar.gz", "no archive at all");
  CHECK(contains(said_of("text.tar.gz"), "cannot be read as an archive"));
  write_atomically(folder.path() / "empty.zip", "");
  CHECK(contains(said_of("empty.zip"), "The file is empty"));
  write_archive(folder.path() / "whole.tar.gz", {{"a.cpp", std::string(100'000, 'x')}});
  const std::string whole = read_text(folder.path() / "whole.tar.gz");
  write_atomically(folder.path() / "half.tar.gz", whole.substr(0, whole.size() / 2));
  CHECK(contains(said_of("half.tar.gz"), "cannot be read as an archive"));
  std::filesystem::create_symlink("/etc/passwd", folder.path() / "link.cpp");
  CHECK(contains(said_of("link.cpp"), "symbolic link"));
  std::filesystem::create_directories(folder.path() / "tree");
  CHECK(contains(said_of("tree"), "no source file"));
  std::filesystem::create_symlink("/etc/passwd", folder.path() / "tree" / "a.cpp");
  CHECK(contains(said_of("tree"), "symbolic link"));
}

TEST_CASE("work of a submission: only what was changed, and only if it is clear") {
  const auto said_of = [](const std::vector<SubmittedFile>& files, const char* milestone) {
    try {
      return "work of " + work_of(files, milestone).at(0).milestone;
    } catch (const RefusedSubmission& refused) {
      return std::string(refused.what());
    }
  };
  const std::string handed_out = read_text(CONVLAB_SOURCE_DIR "/" + kPlace);
  CHECK(contains(said_of({{kPlace, handed_out}}, ""), "as it was handed out"));
  CHECK(said_of({{kPlace, handed_out + "//\n"}}, "") == "work of m1");
  CHECK(said_of({{"a.cpp", "x"}}, "") == "work of m1");
  CHECK(contains(said_of({{"a.cu", "x"}}, ""), "--milestone"));
  CHECK(said_of({{"doejane-m2.cu", "x"}}, "") == "work of m2");
  CHECK(said_of({{"doejane-m9.cpp", "x"}}, "") == "work of m1");
  CHECK(contains(said_of({{"doejane-m2.cpp", "x"}}, ""), "no .cu file"));
  CHECK(said_of({{"a.cu", "x"}}, "m2") == "work of m2");
  CHECK(contains(said_of({{"a.cpp", "x"}}, "m2"), "no .cu file"));
  CHECK(contains(said_of({{"a.cpp", "x"}, {"b.cpp", "y"}}, "m1"), "2 .cpp files (a.cpp, b.cpp)"));
  const auto digest = [](const std::string& text) { return digest_of({"m1", {{"a.cpp", text}}}); };
  CHECK(digest("x").size() == 64);
  CHECK(digest("x") == digest("x"));
  CHECK(digest("x") != digest("y"));
}
