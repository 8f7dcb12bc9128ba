// Files in the course's own interfaces, through m1 --solution FILE and m2 --solution FILE.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/run_command.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
#include "common/custom_submission/build_custom_submission.hpp"
#include "common/data/tests/made_up_data.hpp"
#include "common/result/result.hpp"

using namespace convlab;
using convlab::testing::CommandResult;
using convlab::testing::run_command;
using convlab::testing::TemporaryFolder;

namespace {

const std::string kSources = CONVLAB_SOURCE_DIR "/common/custom_submission/tests/sources/";
const std::string kSource = kSources + "one_function.cu";

CommandResult run_source(const TemporaryFolder& folder, const std::string& arguments,
                         const std::string& milestone = "m2") {
  return run_command("CUDA_VISIBLE_DEVICES=-1 CONVLAB_DATA='" + folder.path().string() +
                     "' " CONVLAB_BINARY_DIR "/" + milestone + " " + arguments);
}

}  // namespace

TEST_CASE(
    "custom submission: a folder that several make at the same time lacks no file at any moment") {
  const TemporaryFolder folder;
  const std::filesystem::path made = folder.path() / "made";
  const std::filesystem::path program = made / "program";
  const auto make = [](const std::filesystem::path& scratch) {
    write_atomically(scratch / kAllTexts, "text");
    write_atomically(scratch / "program", "text");
  };
  fill_folder(made, make);
  std::atomic<int> missing = 0;
  std::atomic<bool> done = false;
  std::thread reader([&] {
    while (!done) missing += std::filesystem::exists(program) ? 0 : 1;
  });
  std::vector<std::thread> makers;
  for (int i = 0; i < 3; ++i) {
    makers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) fill_folder(made, make);
    });
  }
  for (std::thread& maker : makers) maker.join();
  done = true;
  reader.join();
  CHECK(missing == 0);
  const std::filesystem::directory_iterator all(folder.path());
  CHECK(std::distance(begin(all), end(all)) == 1);  // no scratch folder is left
}

TEST_CASE(
    "custom submission: of the folders that nobody used for an hour the newest hundred stay") {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  const auto now = fs::file_time_type::clock::now();
  const auto place = [&](int i) { return folder.path() / ("file-" + std::to_string(i)); };
  for (int i = 0; i < 150; ++i) {
    fs::create_directories(place(i));
    write_atomically(place(i) / "program", "text");
    fs::last_write_time(place(i), now - std::chrono::minutes(30 + i));
  }
  CHECK_FALSE(keep_folder(place(149), "text"));
  int left = 0;
  for (int i = 0; i < 150; ++i) left += fs::exists(place(i)) ? 1 : 0;
  CHECK(left == 100);
  CHECK(fs::exists(place(149) / "program"));
  CHECK(fs::exists(place(98)));
  CHECK_FALSE(fs::exists(place(99)));
}

// All forms of the interface: grader/corpus/course_files.
TEST_CASE(
    "custom submission: a file of the course runs as its milestone and gives the same values") {
  const TemporaryFolder folder;
  write_dataset(folder.path(), Split::kTest, synthetic_dataset(12, 1));
  const auto json = folder.path() / "result.json";
  int correct = -1;
  for (const std::string source :
       {"one_function.cu", "cpu_with_stride.cc", "cpu_without_stride.cc"}) {
    const bool on_cpu = source.ends_with(".cc");
    const CommandResult run = run_source(folder,
                                         "12 --network sp19 --repeats 2 --json " + json.string() +
                                             " --solution=" + kSources + source,
                                         on_cpu ? "m1" : "m2");
    INFO(source << "\n" << run.err);
    REQUIRE(run.exit_code == 0);
    const Result result = read_result(json);
    REQUIRE(result.runs.size() == 1);
    CHECK(result.runs[0].stage.id == "source");
    CHECK(result.runs[0].device == (on_cpu ? Device::kCpu : Device::kEmulated));
    if (on_cpu) CHECK(result.runs[0].layers[1].op_ms.size() == 2);
    REQUIRE(result.runs[0].accuracy);
    if (correct < 0) correct = result.runs[0].accuracy->correct;
    CHECK(result.runs[0].accuracy->correct == correct);
  }
}

// Such a symbol stays global through objcopy: it would take the place of one of the workbook or of
// the C library.
TEST_CASE("custom submission: no symbol that is unique in a program leaves the file") {
  const TemporaryFolder folder;
  write_dataset(folder.path(), Split::kTest, synthetic_dataset(2, 1));
  const auto file = folder.path() / "unique.cu";
  const std::string text = read_text(kSource) +
                           "inline int counter() {\n  static int count = 0;\n  return ++count;\n}\n"
                           "const int counted = counter();\n";
  write_atomically(file, text);
  const CommandResult run = run_source(folder, "2 --network sp19 --solution " + file.string());
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  const CommandResult symbols = run_command("nm --defined-only --format=posix " CONVLAB_BINARY_DIR
                                            "/../sources/unique-*/program | grep counter");
  INFO(symbols.out);
  CHECK(symbols.out.find("count b ") != std::string::npos);
}

TEST_CASE("custom submission: what cannot be built is told with the compiler's words") {
  const TemporaryFolder folder;
  write_dataset(folder.path(), Split::kTest, synthetic_dataset(4, 1));
  const auto refused = [&](const std::string& name, const std::string& line) {
    const auto file = folder.path() / name;
    std::ofstream(file) << line << "\nint after;\n";
    const CommandResult run =
        run_source(folder, "4 --solution " + file.string(), name.ends_with(".cc") ? "m1" : "m2");
    CHECK(run.exit_code == 1);
    return run.err;
  };
  using Catch::Matchers::ContainsSubstring;
  CHECK_THAT(refused("broken.cu", "#include \"gpu-new-forward.h\"\nthis is no CUDA"),
             ContainsSubstring("broken.cu does not compile for the emulated device") &&
                 ContainsSubstring("broken.cu:2"));
  std::string many = "#include \"gpu-new-forward.h\"\n";
  for (int i = 0; i < 100; ++i) many += "wrong w" + std::to_string(i) + ";\n";
  CHECK_THAT(refused("many.cu", many), ContainsSubstring("… and more"));
  // The headers that are precompiled bring no name along of one that the file forgets.
  CHECK_THAT(refused("forgets.cu",
                     "#include \"common/stage/stage.hpp\"\n"
                     "void f() { CONVLAB_CUDA_CHECK(cudaGetLastError()); }"),
             ContainsSubstring("forgets.cu:2"));
  CHECK_THAT(refused("empty.cu", "#include \"gpu-new-forward.h\""),
             ContainsSubstring("does not define GPUInterface::conv_forward_gpu"));
  CHECK_THAT(refused("empty.cc", "#include \"cpu-new-forward.h\""),
             ContainsSubstring("does not define conv_forward_cpu"));
}

TEST_CASE("custom submission: what can be no source is refused in one sentence") {
  const TemporaryFolder folder;
  const auto path = [&](const std::string& name) { return folder.path() / name; };
  std::ofstream(path("binary.cu")) << "ELF" << '\0' << "more";
  std::ofstream(path("empty.cu")) << " \n\t\n";
  std::ofstream(path("line\nbreak.cu")) << "int x;\n";
  std::ofstream(path("quo\"te.cu")) << "int x;\n";
  std::filesystem::create_directory(path("folder.cu"));
  std::filesystem::create_symlink(kSource, path("link.cu"));
  std::ofstream(path("huge.cu")).close();
  std::filesystem::resize_file(path("huge.cu"), std::uintmax_t{50} << 20);
  for (const auto& [name, words] :
       {std::pair{"binary.cu", "is no text"},
        {"empty.cu", "is empty"},
        {"line\nbreak.cu", "has a quotation mark, a backslash or a line break"},
        {"quo\"te.cu", "has a quotation mark, a backslash or a line break"},
        {"folder.cu", "is a folder, a link"},
        {"link.cu", "is a folder, a link"},
        {"huge.cu", "has more than 4 MB"},
        {"none.cu", "There is no file"}}) {
    INFO(name);
    const CommandResult refused = run_source(folder, "5 --solution '" + path(name).string() + "'");
    CHECK(refused.exit_code == 2);
    // Where a GPU was hidden, a line before says so.
    CHECK(refused.err.find('\n', refused.err.find(words)) == refused.err.size() - 1);
  }
  // A name with spaces and signs is fine.
  write_dataset(folder.path(), Split::kTest, synthetic_dataset(2, 1));
  write_atomically(path("my work (2)'s.cu"), read_text(kSource));
  const CommandResult run = run_source(
      folder, "2 --network sp19 --solution \"" + path("my work (2)'s.cu").string() + "\"");
  INFO(run.err);
  CHECK(run.exit_code == 0);
}
