#include <archive_entry.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>

#include "common/base/descriptor.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/base/tests/support/message_of.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
#include "grader/class/submitted_files.hpp"
#include "grader/class/tests/made_up_class.hpp"

using namespace convlab;
using namespace convlab::grader;
using convlab::grader::testing::ArchiveEntry;
using convlab::grader::testing::write_archive;
using convlab::testing::contains;
using convlab::testing::message_of;
namespace fs = std::filesystem;

namespace {

const std::string kPlace = "milestones/m1_cpu_baseline/conv_forward.cpp";

// Of a path that is too long for a call with the whole.
void write_text_here(const char* name) {
  const Descriptor file(::open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  REQUIRE(file.is_open());
}

// The message about an archive with these entries; empty if it can be read.
std::string refusal(const std::vector<ArchiveEntry>& entries) {
  const convlab::testing::TemporaryFolder folder;
  const auto file = folder.path() / "a.tar.gz";
  write_archive(file, entries);
  return message_of([&] { read_submitted_files(file, read_archive); });
}

}  // namespace

TEST_CASE("submitted files: hostile archives are refused with what is wrong") {
  for (const std::string& name : {"../" + kPlace, std::string("a/../../b.cpp"),
                                  std::string("/tmp/b.cpp"), std::string("a\\..\\..\\b.cpp")}) {
    CHECK(contains(refusal({{name, "x"}}), "leaves the archive's folder"));
  }
  CHECK(contains(refusal({{"a.cpp", "", AE_IFLNK, "/etc/passwd"}}), "a link, a device or a pipe"));
  CHECK(contains(refusal({{"a.cpp", "x"}, {"b.cpp", "", AE_IFREG, "", "a.cpp"}}), "is a link"));
  CHECK(contains(refusal({{"a.cpp", "", AE_IFCHR}}), "a device or a pipe"));
  CHECK(contains(refusal({{"a.cpp", "", AE_IFIFO}}), "a device or a pipe"));
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

TEST_CASE("submitted files: a folder is as late as its newest source") {
  using namespace std::chrono_literals;
  const convlab::testing::TemporaryFolder folder;
  const auto now = fs::file_time_type::clock::now();
  const auto make = [&](const std::string& name, std::chrono::hours age) {
    write_atomically(folder.path() / name, "x");
    fs::last_write_time(folder.path() / name, now - age);
  };
  make("tree/milestones/m1/old.cpp", 90h);
  make("tree/milestones/m1/sub/new.cpp", 50h);
  make("tree/milestones/m1/notes.txt", 20h);
  make("tree/README.md", 10h);
  fs::last_write_time(folder.path() / "tree", now - 100h);
  CHECK(last_change(folder.path() / "tree") == now - 50h);
  make("alone.cpp", 30h);
  CHECK(last_change(folder.path() / "alone.cpp") == now - 30h);
  CHECK_FALSE(last_change(folder.path() / "nothing"));
}

TEST_CASE("submitted files: what is broken, empty or a link says so") {
  const convlab::testing::TemporaryFolder folder;
  const auto said_of = [&](const char* name) {
    return message_of([&] { read_submitted_files(folder.path() / name, read_archive); });
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
  CHECK(contains(said_of("link.cpp"), "neither a plain file"));
  std::filesystem::create_directories(folder.path() / "tree");
  CHECK(contains(said_of("tree"), "no source file"));
  std::filesystem::create_symlink("/etc/passwd", folder.path() / "tree" / "a.cpp");
  CHECK(contains(said_of("tree"), "symbolic link"));
}

TEST_CASE("submitted files: nothing that a student can make is a fault of the machine") {
  const convlab::testing::TemporaryFolder folder;
  const auto refused = [&](const std::string& name) {
    CHECK_THROWS_AS(read_submitted_files(folder.path() / name, read_archive), RefusedSubmission);
  };
  const auto make = [&](const std::string& place) {
    fs::create_directories((folder.path() / place).parent_path());
    return folder.path() / place;
  };
  const Descriptor listener(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string place = make("a/x.cpp").string();
  REQUIRE(place.size() < sizeof(address.sun_path));
  place.copy(address.sun_path, place.size());
  REQUIRE(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  refused("a");
  ::mkfifo(make("b/x.cpp").c_str(), 0600);
  refused("b");
  // A path that is longer than the system's: each folder is made inside the last one.
  const fs::path back = fs::current_path();
  fs::current_path((make("c/x.cpp")).parent_path());
  for (int i = 0; i < 25; ++i) {
    fs::create_directory(std::string(200, 'd'));
    fs::current_path(std::string(200, 'd'));
  }
  write_text_here("x.cpp");
  fs::current_path(back);
  refused("c");
  fs::create_symlink("x.cpp", make("d/x.cpp"));
  refused("d");
  const std::string both = refusal({{"x.cpp", "a"}, {"x.cpp/y.hpp", "b"}});
  CHECK(contains(both, "'x.cpp' in it is a file and a folder"));
}

TEST_CASE("work of a submission: headers come along, tests, backups and other kinds do not count") {
  const std::string folder = "milestones/m2_gpu_baseline/";
  const std::string text = "convlab::ConvolutionStage<Mine> stage;";
  const auto works = work_of({{folder + "conv_forward.cu", text},
                              {folder + "conv_forward_backup.cu", text},
                              {folder + "test.cu", "int main() {}"},
                              {folder + "main.cpp", "int main() {}"},
                              {folder + "mine/tile.cuh", "constexpr int kTile = 16;"}},
                             "");
  REQUIRE(works.size() == 1);
  CHECK(works[0].milestone == "m2");
  REQUIRE(works[0].files.size() == 1);
  CHECK(works[0].files[0].path == folder + "conv_forward.cu");
  REQUIRE(works[0].headers.size() == 1);
  // Loose: what computes, and of those the name that the course asks for.
  const auto loose = work_of({{"x/new-forward.cu", "conv_forward_gpu"},
                              {"x/new-forward_old.cu", "conv_forward_gpu"},
                              {"x/test.cu", "int main() {}"},
                              {"x/main.cpp", "int main() {}"},
                              {"x/util.h", ""}},
                             "", "doejane_1_2_m2-files.zip");
  REQUIRE(loose.size() == 1);
  CHECK(loose[0].milestone == "m2");
  REQUIRE(loose[0].files.size() == 1);
  CHECK(loose[0].files[0].path == "x/new-forward.cu");
  CHECK(loose[0].headers.size() == 1);
  // A new file counts where no handed-out one was changed.
  CHECK(work_of({{folder + "mine.cu", text}}, "").at(0).files.at(0).path == folder + "mine.cu");
}

TEST_CASE("work of a submission: copies and other trees do not count") {
  const std::string text = "convlab::ConvolutionStage<Mine> stage;";
  const auto file_of = [&](const std::vector<SubmittedFile>& files) {
    std::string path;
    const std::string refused = message_of([&] {
      const auto works = work_of(files, "m2");
      path = works.size() == 1 && works[0].files.size() == 1 ? works[0].files[0].path : "several";
    });
    return path + refused;
  };
  CHECK(file_of({{"conv.cu", text},
                 {"conv (copy).cu", text},
                 {"Copy of conv.cu", text},
                 {"old/conv.cu", text},
                 {"test_conv.cu", "int main() {}"}}) == "conv.cu");
  CHECK(contains(file_of({{"a.cu", text}, {"b.cu", text}}), "2 .cu files (a.cu, b.cu)"));
  const std::string folder = "milestones/m2_gpu_baseline/";
  CHECK(file_of({{folder + "mine.cu", text}, {folder + "mine (copy).cu", text}}) ==
        folder + "mine.cu");
  CHECK(contains(file_of({{folder + "a.cu", text}, {folder + "b.cu", text}}),
                 "and m2 consists of one"));
  // A backup inside, of files with the same names; and one that is as near to the top.
  const std::string place = folder + "conv_forward.cu";
  CHECK(file_of({{"lab/" + place, text}, {"lab/old/" + place, "broken"}}) == place);
  CHECK(contains(file_of({{"a/" + place, text}, {"b/" + place, text}}),
                 "twice, in 'a/' and in 'b/'"));
}

TEST_CASE("work of a submission: a tree of the course holds a task in each file") {
  const std::string text = "void GPUInterface::conv_forward_gpu(int B) {\n}";
  const std::string custom = "Project/project/src/layer/custom/";
  const std::vector<SubmittedFile> tree = {
      {custom + "cpu-new-forward.cc", "void conv_forward_cpu(int B) {\n}"},
      {custom + "new-forward.cu", text},
      {custom + "m3-forward.cu", text},
      {custom + "gpu-new-forward.h", "class GPUInterface {};"},
      {custom + "my-try.cu", text},
      {"Project/project/m3/req_0/m3-forward.cu", text},
      {"Project/project/src/layer/conv_cust.cc", "gpu.conv_forward_gpu(B);"}};
  TreeNotes notes;
  const auto named = [&](const std::string& milestone, const std::string& rules) {
    std::string names;
    const std::string refused = message_of([&] {
      for (const MilestoneWork& work : work_of(tree, milestone, "", rules, &notes)) {
        CHECK(work.files.size() == 1);
        CHECK(work.headers.empty());
        names += work.milestone + " ";
      }
    });
    return names + refused;
  };
  CHECK(named("", "") == "sp26-m1-cpu sp26-m1-gpu sp26-req-0 sp26-final ");
  CHECK(notes.not_judged == std::vector<std::string>{custom + "my-try.cu"});
  CHECK(notes.editions == std::vector<std::string>{"fa24", "sp25", "fa25", "sp26"});
  CHECK(named("", "sp25") == "sp25-m1-cpu sp25-m1-gpu sp25-req-0 sp25-final ");
  CHECK(notes.editions.empty());
  // m3 is that of the course: the first kernel is not it.
  CHECK(named("m3", "") == "sp26-req-0 sp26-final ");
  CHECK(named("m1", "fa25") == "fa25-m1-cpu fa25-m1-gpu ");
  CHECK(named("sp25-req-0", "") == "sp25-req-0 ");
  CHECK(named("m4", "") ==
        "It is a tree of sp26 and holds nothing for m4; it holds files for m1, m3 of the course.");
  const std::vector<SubmittedFile> two = {{"a/" + custom + "new-forward.cu", text},
                                          {"b/" + custom + "new-forward.cu", text},
                                          {"b/" + custom + "m3-forward.cu", text}};
  CHECK(contains(message_of([&] { work_of(two, ""); }), "two files for the task sp26-m1-gpu"));
  // One file alone is judged as before, also with the ending that the course uses.
  CHECK(work_of({{"cpu-new-forward.cc", "conv_forward_cpu"}}, "").at(0).milestone == "m1");
}

TEST_CASE("work of a submission: the sum of its files is bounded") {
  const std::string folder = "milestones/m2_gpu_baseline/";
  std::vector<SubmittedFile> many = {{folder + "conv_forward.cu", "x"}};
  for (int i = 0; i < 99; ++i) many.push_back({folder + std::to_string(i) + ".hpp", "x"});
  CHECK(work_of(many, "").at(0).headers.size() == 99);
  many.push_back({folder + "one_more.hpp", "x"});
  CHECK_THROWS_AS(work_of(many, ""), RefusedSubmission);
  const std::string large(std::size_t{2} << 20, 'x');
  CHECK_THROWS_AS(
      work_of(
          {{folder + "conv_forward.cu", "x"}, {folder + "a.hpp", large}, {folder + "b.hpp", large}},
          ""),
      RefusedSubmission);
}

TEST_CASE("work of a submission: only what was changed, and only if it is clear") {
  const auto said_of = [](const std::vector<SubmittedFile>& files, const char* milestone) {
    std::string work;
    const std::string refused =
        message_of([&] { work = "work of " + work_of(files, milestone).at(0).milestone; });
    return work + refused;
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
