#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

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
  require_writable("/dev/null");
  CHECK_THROWS_AS(require_writable("/proc/nonesuch/data"), EnvironmentError);
  CHECK(message_of([&] { require_writable(folder.path()); }).find("directory") !=
        std::string::npos);
  CHECK(message_of([&] { read_text(folder.path()); }).find("it is a folder") != std::string::npos);
}

TEST_CASE("whole file: errors name the file, and a failed write leaves the old one") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "data";
  CHECK(message_of([&] { read_bytes(file, 10); }) ==
        "Cannot read " + file.string() + ": there is no such file.");
  CHECK_THROWS_AS(read_bytes(folder.path(), 10), EnvironmentError);
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

TEST_CASE("whole file: without room the old file stays, and the reason is told") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "data";
  write_atomically(file, "old");
  // In a separate process, because the limit cannot be undone.
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const rlimit limit{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::signal(SIGXFSZ, SIG_IGN);
    const std::string complaint =
        message_of([&] { write_atomically(file, std::string(10000, 'x')); });
    ::_exit(complaint == "Cannot write " + file.string() +
                             ": File too large; free some space, then run this again."
                ? 0
                : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(read_text(file) == "old");
  CHECK(entries(folder.path()) == 1);
}

TEST_CASE("whole file: a device stays a device, and a full one is told") {
  CHECK(message_of([] { write_atomically("/dev/full", "x"); }) ==
        "Cannot write /dev/full: No space left on device; free some space, then run this again.");
  write_atomically("/dev/null", "x");
  CHECK(std::filesystem::is_character_file("/dev/full"));
  CHECK(std::filesystem::is_character_file("/dev/null"));
}
