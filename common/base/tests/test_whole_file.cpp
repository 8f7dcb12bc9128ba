#include "common/base/error.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/message_of.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/whole_file.hpp"

using namespace convlab;
using convlab::testing::message_of;
using convlab::testing::TemporaryFolder;
using Bytes = std::vector<std::uint8_t>;

namespace {

auto entries(const std::filesystem::path& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

}  // namespace

TEST_CASE("whole file: what is written is read, and nothing else is left in the folder") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "sub" / "data";
  require_writable(file);  // is known before the work
  CHECK(entries(file.parent_path()) == 0);
  for (const Bytes& bytes : {Bytes{1, 2, 3}, Bytes{4, 0, 255, 10}, Bytes{}}) {
    write_atomically(file, bytes);
    require_writable(file);
    CHECK(read_bytes(file, bytes.size()) == bytes);
  }
  write_atomically(file, "a text");
  CHECK(read_text(file) == "a text");
  CHECK(entries(file.parent_path()) == 1);
  CHECK_THROWS_AS(require_writable("/proc/nonesuch/data"), EnvironmentError);
  CHECK_THROWS_AS(require_writable(folder.path()), EnvironmentError);
  // A device stays one; a full one and a limit of the size: grader/cli/tests/test_reliability.cpp.
  require_writable("/dev/null");
  write_atomically("/dev/null", "x");
  CHECK(std::filesystem::is_character_file("/dev/null"));
}

TEST_CASE("whole file: errors name the file, and a failed write leaves the old one") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "data";
  CHECK(message_of([&] { read_bytes(file, 10); }) ==
        "Cannot read " + file.string() + ": there is no such file.");
  CHECK(message_of([&] { read_bytes(folder.path(), 10); }) ==
        "Cannot read " + folder.path().string() + ": it is a folder.");
  write_atomically(file, Bytes(11));
  CHECK(message_of([&] { read_bytes(file, 10); }) ==
        file.string() + " has 11 bytes, more than the 10 that such a file may have.");
  // A file where a folder should be, so that not even root can write there.
  CHECK(message_of([&] { write_atomically(file / "inner", "x"); }) ==
        "Cannot write " + (file / "inner").string() + ": Not a directory.");
  const auto occupied = folder.path() / "occupied";
  std::filesystem::create_directories(occupied / "inner");  // a folder cannot be renamed over
  CHECK_THROWS_AS(write_atomically(occupied, Bytes{1}), EnvironmentError);
  CHECK(entries(folder.path()) == 2);
}
