#include "grader/class/submitted_files.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>

#include "common/error/error.hpp"
#include "common/process/descriptor.hpp"
#include "common/text/printable.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

constexpr std::array kSources = {".cpp", ".cu", ".cuh", ".h", ".hpp"};

bool is_source(const fs::path& file) {
  return std::find(kSources.begin(), kSources.end(), file.extension().string()) != kSources.end();
}

std::string quoted_name(const std::string& name) {
  constexpr std::size_t kShown = 80;
  return "'" + printable_line(name.substr(0, kShown)) + "'";
}

/// Counts what one submission takes, so that nothing that was made to fill a disk is read to its
/// end.
class Allowance {
 public:
  void entry() {
    if (++entries_ > kMostEntries) {
      throw RefusedSubmission("It holds more than " + std::to_string(kMostEntries) +
                              " files; hand in only what grader submit packs.");
    }
  }
  void bytes(std::size_t count) {
    bytes_ += count;
    if (bytes_ > kMostBytes) {
      throw RefusedSubmission("Unpacked it is larger than " + std::to_string(kMostBytes >> 20) +
                              " MiB; hand in only what grader submit packs.");
    }
  }

 private:
  std::size_t entries_ = 0;
  std::size_t bytes_ = 0;
};

void require_short(const std::string& path, std::size_t size) {
  if (size > kMostSourceBytes) {
    throw RefusedSubmission("Its source " + quoted_name(path) + " is longer than " +
                            std::to_string(kMostSourceBytes >> 20) + " MiB.");
  }
}

/// A name of an archive, checked: it stays inside the folder and can be shown.
std::string safe_path(const char* name) {
  if (name == nullptr || *name == '\0') throw RefusedSubmission("A file in it has no name.");
  const std::string path = name;
  if (printable_line(path) != path) {
    throw RefusedSubmission("The name " + quoted_name(path) +
                            " in it holds control characters or is no UTF-8.");
  }
  const fs::path normal = fs::path(path).lexically_normal();
  if (normal.is_absolute() || path.find('\\') != std::string::npos) {
    throw RefusedSubmission("The name " + quoted_name(path) +
                            " in it does not start from the archive's own folder.");
  }
  const fs::path raw(path);
  if (std::any_of(raw.begin(), raw.end(), [](const fs::path& part) { return part == ".."; })) {
    throw RefusedSubmission("The name " + quoted_name(path) +
                            " in it leaves the archive's folder by '..'.");
  }
  return normal.generic_string();
}

/// Words for what is neither a file nor a folder.
const char* kind_of(archive_entry* entry) {
  if (::archive_entry_hardlink(entry) != nullptr) return "a hard link";
  switch (::archive_entry_filetype(entry)) {
    case AE_IFLNK:
      return "a symbolic link";
    case AE_IFCHR:
    case AE_IFBLK:
      return "a device";
    case AE_IFIFO:
      return "a pipe";
    case AE_IFSOCK:
      return "a socket";
    default:
      return nullptr;
  }
}

class Archive {
 public:
  explicit Archive(const fs::path& file) : archive_(::archive_read_new()) {
    archive* a = archive_.get();
    if (a == nullptr) throw EnvironmentError("There is not enough memory to read archives.");
    ::archive_read_support_format_tar(a);
    ::archive_read_support_format_zip(a);
    ::archive_read_support_format_empty(a);
    ::archive_read_support_filter_gzip(a);
    ::archive_read_support_filter_bzip2(a);
    ::archive_read_support_filter_xz(a);
    ::archive_read_support_filter_zstd(a);
    constexpr std::size_t kBlock = std::size_t{64} << 10;
    require(::archive_read_open_filename(a, file.c_str(), kBlock));
  }

  std::vector<SubmittedFile> files() {
    std::vector<SubmittedFile> found;
    std::set<std::string> names;
    archive_entry* entry = nullptr;
    while (true) {
      const int code = ::archive_read_next_header(archive_.get(), &entry);
      if (code == ARCHIVE_EOF) break;
      require(code);
      allowance_.entry();
      const std::string path = safe_path(::archive_entry_pathname(entry));
      if (const char* kind = kind_of(entry)) {
        throw RefusedSubmission(quoted_name(path) + " in it is " + kind +
                                "; hand in plain files only.");
      }
      if (::archive_entry_filetype(entry) == AE_IFDIR) continue;
      if (!names.insert(path).second) {
        throw RefusedSubmission("It holds two files of the name " + quoted_name(path) + ".");
      }
      std::string text = data(path, is_source(path));
      if (is_source(path)) found.push_back({path, std::move(text)});
    }
    if (names.empty()) throw RefusedSubmission("The archive is empty.");
    return found;
  }

 private:
  struct Free {
    void operator()(archive* a) const { ::archive_read_free(a); }
  };

  void require(int code) const {
    // A warning is about times, owners or a name's encoding, which count for nothing here.
    if (code == ARCHIVE_OK || code == ARCHIVE_WARN) return;
    const char* reason = ::archive_error_string(archive_.get());
    throw RefusedSubmission("It cannot be read as an archive: " +
                            printable_line(reason == nullptr ? "it is damaged" : reason) + ".");
  }

  // Data of other files are read, too, because only then they are counted.
  std::string data(const std::string& path, bool keep) {
    std::string text;
    const void* block = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    while (true) {
      const int code = ::archive_read_data_block(archive_.get(), &block, &size, &offset);
      if (code == ARCHIVE_EOF) return text;
      require(code);
      allowance_.bytes(size);
      if (!keep) continue;
      // A sparse file may claim any offset.
      require_short(path, static_cast<std::size_t>(offset) + size);
      text.resize(static_cast<std::size_t>(offset), '\0');
      text.append(static_cast<const char*>(block), size);
    }
  }

  std::unique_ptr<archive, Free> archive_;
  Allowance allowance_;
};

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
  // Of a copy of the workbook only what students write.
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
  return std::any_of(endings.begin(), endings.end(),
                     [&](const std::string& ending) { return name.ends_with(ending); });
}

}  // namespace

bool has_archive_name(const fs::path& file) {
  return ends_with_any(file,
                       {".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2", ".tar.zst", ".zip"});
}

bool has_source_name(const fs::path& file) {
  return ends_with_any(file, {".cpp", ".cu"});
}

std::vector<SubmittedFile> read_submitted_files(const fs::path& place) {
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
    files = Archive(place).files();
  }
  if (files.empty()) throw RefusedSubmission("It holds no source file (.cpp or .cu).");
  std::sort(files.begin(), files.end(),
            [](const SubmittedFile& a, const SubmittedFile& b) { return a.path < b.path; });
  return files;
}

}  // namespace convlab::grader
