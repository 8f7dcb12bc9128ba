#include "common/base/whole_file.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "common/base/error.hpp"

namespace convlab {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& file, int error) {
  const bool is_full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  const bool is_forbidden = error == EACCES || error == EPERM || error == EROFS;
  const char* const next = is_full ? "; free some space, then run this again."
                           : is_forbidden
                               ? "; name a folder that you may write to, or change its permissions."
                               : ".";
  throw EnvironmentError("Cannot write " + file.string() + ": " + std::strerror(error) + next);
}

// A device or a pipe (/dev/stdout, /dev/full) cannot be renamed over, so the text is written to it
// directly. /dev/stdout may lead to a regular file that the shell holds open.
bool is_device(const fs::path& file) {
  std::error_code error;
  return fs::is_other(file, error) ||
         (fs::is_symlink(file, error) && file.string().starts_with("/dev/"));
}

fs::path temporary_beside(const fs::path& file) {
  std::error_code error;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), error);
  if (error) fail(file, error.value());
  if (fs::is_directory(file, error)) fail(file, EISDIR);
  return file.string() + "." + std::to_string(std::random_device{}());
}

/// Writes a text to `place`, which is `file` or a temporary file beside it.
void write_to(const fs::path& place, std::string_view text, const fs::path& file) {
  // A limit of the size of files shall be an error that can be told, and programs that are started
  // shall not inherit this, as they would inherit SIG_IGN.
  std::signal(SIGXFSZ, [](int /*signal*/) {});
  std::ofstream stream(place, std::ios::binary);
  stream << text;
  stream.close();
  if (stream) return;
  const int reason = errno;
  std::error_code ignored;
  if (place != file) fs::remove(place, ignored);
  fail(file, reason);
}

}  // namespace

void require_writable(const fs::path& file) {
  if (is_device(file)) return;
  const fs::path temporary = temporary_beside(file);
  write_to(temporary, "", file);
  fs::remove(temporary);
}

void write_atomically(const fs::path& file, std::string_view text) {
  if (is_device(file)) return write_to(file, text, file);
  const fs::path temporary = temporary_beside(file);
  write_to(temporary, text, file);
  std::error_code error;
  fs::rename(temporary, file, error);
  if (!error) return;
  fs::remove(temporary);
  fail(file, error.value());
}

void write_atomically(const fs::path& file, std::span<const std::uint8_t> bytes) {
  write_atomically(file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::string read_text(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::error_code unknown;
  if (!stream || fs::is_directory(file, unknown)) {
    throw EnvironmentError("Cannot read " + file.string() + ": " +
                           (fs::is_directory(file, unknown) ? "it is a folder."
                            : fs::exists(file, unknown)     ? "you may not; change its permissions."
                                                            : "there is no such file."));
  }
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::vector<std::uint8_t> read_bytes(const fs::path& file, std::size_t max_size) {
  std::error_code unknown;
  if (const auto size = fs::file_size(file, unknown); !unknown && size > max_size) {
    throw EnvironmentError(file.string() + " has " + std::to_string(size) +
                           " bytes, more than the " + std::to_string(max_size) +
                           " that such a file may have.");
  }
  const std::string text = read_text(file);
  return {text.begin(), text.end()};
}

}  // namespace convlab
