#include "common/milestone/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "common/error/error.hpp"

namespace convlab {

namespace {

[[noreturn]] void fail(const std::filesystem::path& file, int error) {
  throw EnvironmentError("Cannot write " + file.string() + ": " + std::strerror(error) + ".");
}

bool write_all(int descriptor, const std::string& text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t step = ::write(descriptor, text.data() + written, text.size() - written);
    if (step < 0 && errno == EINTR) continue;
    if (step <= 0) return false;
    written += static_cast<std::size_t>(step);
  }
  return ::fsync(descriptor) == 0;
}

}  // namespace

void write_atomically(const std::filesystem::path& file, const std::string& text) {
  std::error_code error;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), error);
  if (error) fail(file, error.value());
  std::string temporary = file.string() + ".XXXXXX";
  const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) fail(file, errno);
  // mkostemp makes the file private; a result is for everybody who may read the folder.
  const bool written = ::fchmod(descriptor, 0644) == 0 && write_all(descriptor, text);
  const int reason = errno;
  ::close(descriptor);
  if (!written || ::rename(temporary.c_str(), file.c_str()) != 0) {
    const int cause = written ? errno : reason;
    ::unlink(temporary.c_str());
    fail(file, cause);
  }
}

std::string read_text(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream || std::filesystem::is_directory(file)) {
    throw EnvironmentError("Cannot read " + file.string() + ": there is no such file.");
  }
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace convlab
