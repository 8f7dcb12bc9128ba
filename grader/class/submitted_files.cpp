#include "grader/class/submitted_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "common/error/error.hpp"
#include "common/process/descriptor.hpp"
#include "common/text/printable.hpp"
#include "grader/class/archive_files.hpp"
#include "grader/class/submission_limits.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

constexpr std::array kSources = {".cpp", ".cu", ".cuh", ".h", ".hpp"};

// Opened without following a link, so that a tree cannot show a file of the instructor's.
std::string text_of(const fs::path& file, const std::string& path, Allowance& allowance) {
  const Descriptor descriptor(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!descriptor.is_open() || ::fstat(descriptor.get(), &status) != 0) {
    throw EnvironmentError("Cannot read " + file.string() + ": " + std::strerror(errno) + ".");
  }
  if (!S_ISREG(status.st_mode)) {
    throw RefusedSubmission(quoted_name(path) + " is no plain file.");
  }
  require_short(path, static_cast<std::size_t>(status.st_size));
  allowance.bytes(static_cast<std::size_t>(status.st_size));
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::read(descriptor.get(), text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      throw EnvironmentError("Cannot read " + file.string() + ": " + std::strerror(errno) + ".");
    }
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  text.resize(done);
  return text;
}

std::vector<SubmittedFile> files_of_folder(const fs::path& folder) {
  std::vector<SubmittedFile> found;
  Allowance allowance;
  // In a copy of the workbook only the files that students write count.
  const fs::path milestones = folder / "milestones";
  const bool is_workbook = fs::is_directory(fs::symlink_status(milestones));
  auto entry = fs::recursive_directory_iterator(is_workbook ? milestones : folder);
  for (; entry != fs::recursive_directory_iterator(); ++entry) {
    const fs::file_status status = entry->symlink_status();
    const std::string name = entry->path().filename().string();
    if (fs::is_directory(status) && (name == ".git" || name == "build")) {
      entry.disable_recursion_pending();
      continue;
    }
    allowance.entry();
    if (fs::is_directory(status) || !is_source(entry->path())) continue;
    const std::string path = entry->path().lexically_relative(folder).generic_string();
    if (fs::is_symlink(status)) {
      throw RefusedSubmission(quoted_name(path) +
                              " in it is a symbolic link; hand in plain files only.");
    }
    found.push_back({path, text_of(entry->path(), path, allowance)});
  }
  return found;
}

bool ends_with_any(const fs::path& file, const std::vector<std::string>& endings) {
  const std::string name = file.filename().string();
  return std::ranges::any_of(endings,
                             [&](const std::string& ending) { return name.ends_with(ending); });
}

}  // namespace

bool is_source(const fs::path& file) {
  return std::ranges::find(kSources, file.extension().string()) != kSources.end();
}

void Allowance::entry() {
  if (++entries_ > kMostEntries) {
    throw RefusedSubmission("It holds more than " + std::to_string(kMostEntries) +
                            " files; hand in only what grader submit packs.");
  }
}

void Allowance::bytes(std::size_t count) {
  bytes_ += count;
  if (bytes_ > kMostBytes) {
    throw RefusedSubmission("Unpacked it is larger than " + std::to_string(kMostBytes >> 20) +
                            " MiB; hand in only what grader submit packs.");
  }
}

void require_short(const std::string& path, std::size_t size) {
  if (size > kMostSourceBytes) {
    throw RefusedSubmission("Its source " + quoted_name(path) + " is longer than " +
                            std::to_string(kMostSourceBytes >> 20) + " MiB.");
  }
}

std::string quoted_name(const std::string& name) {
  constexpr std::size_t kShown = 80;
  return "'" + printable_line(name.substr(0, kShown)) + "'";
}

bool has_archive_name(const fs::path& file) {
  return ends_with_any(file,
                       {".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2", ".tar.zst", ".zip"});
}

bool has_source_name(const fs::path& file) {
  return ends_with_any(file, {".cpp", ".cu"});
}

std::vector<SubmittedFile> read_submitted_files(const fs::path& place) {
  return read_submitted_files(place, read_archive_in_box);
}

std::vector<SubmittedFile> read_submitted_files(const fs::path& place, ArchiveReader read) {
  std::vector<SubmittedFile> files;
  const fs::file_status status = fs::symlink_status(place);
  if (fs::is_directory(status)) {
    files = files_of_folder(place);
  } else if (fs::is_symlink(status)) {
    throw RefusedSubmission("It is a symbolic link; hand in plain files only.");
  } else if (!fs::is_regular_file(status)) {
    throw RefusedSubmission("It is neither a file nor a folder.");
  } else if (fs::file_size(place) == 0) {
    throw RefusedSubmission("The file is empty.");
  } else if (is_source(place)) {
    Allowance allowance;
    const std::string name = place.filename().string();
    files = {{name, text_of(place, name, allowance)}};
  } else {
    files = read(place);
  }
  if (files.empty()) throw RefusedSubmission("It holds no source file (.cpp or .cu).");
  std::ranges::sort(files, {}, &SubmittedFile::path);
  return files;
}

}  // namespace convlab::grader
