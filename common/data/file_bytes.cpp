#include "common/data/file_bytes.hpp"

#include <unistd.h>

#include <fstream>
#include <string>
#include <system_error>

#include "common/error/error.hpp"

namespace convlab {

std::vector<std::uint8_t> read_bytes(const std::filesystem::path& file, std::size_t max_size) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  if (error) throw EnvironmentError("Cannot read " + file.string() + ": " + error.message() + ".");
  if (size > max_size) {
    throw EnvironmentError(file.string() + " has " + std::to_string(size) +
                           " bytes, more than the " + std::to_string(max_size) +
                           " that such a file may have.");
  }
  std::vector<std::uint8_t> bytes(size);
  std::ifstream stream(file, std::ios::binary);
  stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (!stream) {
    throw EnvironmentError("Cannot read " + file.string() +
                           ": check that it exists and that you may read it.");
  }
  return bytes;
}

void write_bytes(const std::filesystem::path& file, std::span<const std::uint8_t> bytes) {
  std::filesystem::path temporary = file;
  temporary += std::to_string(::getpid()) + ".part";
  bool complete = false;
  {
    std::ofstream stream(temporary, std::ios::binary);
    stream.write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
    stream.close();
    complete = stream.good();
  }
  std::error_code error;
  if (complete) std::filesystem::rename(temporary, file, error);
  if (!complete || error) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw EnvironmentError("Cannot write " + file.string() +
                           ": check that the folder exists, that you may write there, and that "
                           "the disk is not full.");
  }
}

}  // namespace convlab
