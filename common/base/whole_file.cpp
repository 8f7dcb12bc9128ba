#include "common/base/whole_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "common/base/error.hpp"

namespace convlab {

namespace {

std::string mend_of(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return "; free some space, then run this again";
    case EACCES:
    case EPERM:
    case EROFS:
      return "; name a folder that you may write to, or change its permissions";
    default:
      return "";
  }
}

[[noreturn]] void fail(const std::filesystem::path& file, int error) {
  throw EnvironmentError("Cannot write " + file.string() + ": " + std::strerror(error) +
                         mend_of(error) + ".");
}

bool write_all(int descriptor, const char* text, std::size_t size) {
  // Beyond the limit of this process (ulimit -f) write() then fails, and no signal ends the
  // program.
  std::signal(SIGXFSZ, [](int /*signal*/) {});
  while (size > 0) {
    const ssize_t step = ::write(descriptor, text, size);
    if (step < 0 && errno == EINTR) continue;
    if (step <= 0) return false;
    text += step;
    size -= static_cast<std::size_t>(step);
  }
  return true;
}

// A device or a pipe (/dev/stdout, /dev/full) cannot be renamed over, so the text is written to it
// directly.
void write_in_place(const std::filesystem::path& file, std::string_view text) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) fail(file, errno);
  const bool written = write_all(descriptor, text.data(), text.size());
  const int reason = errno;
  ::close(descriptor);
  if (!written) fail(file, reason);
}

bool is_device(const std::filesystem::path& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  const bool other = std::filesystem::exists(status) && !std::filesystem::is_directory(status) &&
                     !std::filesystem::is_regular_file(status);
  // /dev/stdout may lead to a regular file that the shell holds open.
  return other || (std::filesystem::is_symlink(file, error) && file.string().starts_with("/dev/"));
}

struct Temporary {
  std::string name;
  int descriptor;
};

Temporary open_beside(const std::filesystem::path& file) {
  std::error_code error;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), error);
  if (error) fail(file, error.value());
  if (std::filesystem::is_directory(file, error)) fail(file, EISDIR);
  Temporary temporary{file.string() + ".XXXXXX", -1};
  temporary.descriptor = ::mkostemp(temporary.name.data(), O_CLOEXEC);
  if (temporary.descriptor < 0) fail(file, errno);
  return temporary;
}

}  // namespace

void require_writable(const std::filesystem::path& file) {
  if (is_device(file)) return;
  const auto [temporary, descriptor] = open_beside(file);
  ::close(descriptor);
  ::unlink(temporary.c_str());
}

void write_atomically(const std::filesystem::path& file, std::string_view text) {
  if (is_device(file)) {
    write_in_place(file, text);
    return;
  }
  const auto [temporary, descriptor] = open_beside(file);
  // mkostemp makes the file private, but everyone with access to the folder may read a result.
  const bool written = ::fchmod(descriptor, 0644) == 0 &&
                       write_all(descriptor, text.data(), text.size()) && ::fsync(descriptor) == 0;
  const int reason = errno;
  ::close(descriptor);
  if (!written || ::rename(temporary.c_str(), file.c_str()) != 0) {
    const int cause = written ? errno : reason;
    ::unlink(temporary.c_str());
    fail(file, cause);
  }
}

void write_atomically(const std::filesystem::path& file, std::span<const std::uint8_t> bytes) {
  write_atomically(file,
                   std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

std::string read_text(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::error_code unknown;
  if (!stream || std::filesystem::is_directory(file, unknown)) {
    throw EnvironmentError("Cannot read " + file.string() + ": " +
                           (std::filesystem::is_directory(file, unknown) ? "it is a folder."
                            : std::filesystem::exists(file, unknown)
                                ? "you may not; change its permissions."
                                : "there is no such file."));
  }
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

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

}  // namespace convlab
