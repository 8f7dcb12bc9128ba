#include "common/data/file_bytes.hpp"
#include "common/error/error.hpp"
#include "common/testing/catch.hpp"
#include "common/testing/message_of.hpp"
#include "common/testing/temporary_folder.hpp"

using convlab::read_bytes;
using convlab::write_bytes;
using convlab::testing::message_of;
using convlab::testing::TemporaryFolder;
using Bytes = std::vector<std::uint8_t>;

TEST_CASE("file bytes: what is written is read, and nothing else is left in the folder") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "data";
  write_bytes(file, Bytes{1, 2, 3});
  write_bytes(file, Bytes{4, 0, 255, 10});
  CHECK(read_bytes(file, 4) == Bytes{4, 0, 255, 10});
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
  write_bytes(file, Bytes{});
  CHECK(read_bytes(file, 0).empty());
}

TEST_CASE("file bytes: errors name the file") {
  const TemporaryFolder folder;
  const auto missing = folder.path() / "missing";
  CHECK(message_of([&] { read_bytes(missing, 10); }) ==
        "Cannot read " + missing.string() + ": No such file or directory.");
  CHECK_THROWS_AS(read_bytes(folder.path(), 10), convlab::EnvironmentError);
  CHECK_THROWS_AS(write_bytes(missing / "file", Bytes{1}), convlab::EnvironmentError);

  const auto file = folder.path() / "data";
  write_bytes(file, Bytes(11));
  CHECK(message_of([&] { read_bytes(file, 10); }) ==
        file.string() + " has 11 bytes, more than the 10 that such a file may have.");
}

TEST_CASE("file bytes: a failed write leaves the old file") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "occupied";
  std::filesystem::create_directories(file / "inner");  // a folder cannot be renamed over
  CHECK_THROWS_AS(write_bytes(file, Bytes{1}), convlab::EnvironmentError);
  CHECK(std::filesystem::is_directory(file));
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}
