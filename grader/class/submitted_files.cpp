#include "grader/class/submitted_files.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <system_error>

#include "common/base/error.hpp"
#include "common/base/printable.hpp"
#include "common/base/whole_file.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

constexpr std::array kSources = {".cpp", ".cu", ".cuh", ".h", ".hpp"};

// Paths that are too long, loops of links, folders that nobody may read: whoever handed them in can
// mend them. The machine is at fault only for these.
[[noreturn]] void cannot_read(const fs::path& place, const std::error_code& reason) {
  const bool machine = reason == std::errc::io_error || reason == std::errc::not_enough_memory ||
                       reason == std::errc::too_many_files_open ||
                       reason == std::errc::too_many_files_open_in_system;
  const std::string name = quoted_name(place.filename().string());
  if (machine) throw EnvironmentError("Cannot read " + name + ": " + reason.message() + ".");
  throw RefusedSubmission(name + " in it cannot be read: " + reason.message() + ".");
}

// Follows no link, so that a tree cannot show a file of the instructor's.
std::string text_of(const fs::path& file, const std::string& path, Allowance& allowance) {
  if (!fs::is_regular_file(fs::symlink_status(file))) {
    throw RefusedSubmission(quoted_name(path) + " is no plain file.");
  }
  const std::uintmax_t size = fs::file_size(file);
  require_short(path, size);
  allowance.bytes(size);
  if (::access(file.c_str(), R_OK) != 0) cannot_read(file, {errno, std::generic_category()});
  return read_text(file);
}

using SeeFile = std::function<void(const fs::path& file, const std::string& path)>;

// Shows every file that may count, links too, which it does not follow.
void for_each_file(const fs::path& folder, Allowance& allowance, const SeeFile& see) {
  // In a copy of the workbook only the files that students write count.
  const fs::path milestones = folder / "milestones";
  const bool is_workbook = fs::is_directory(fs::symlink_status(milestones));
  auto entry = fs::recursive_directory_iterator(is_workbook ? milestones : folder);
  for (; entry != fs::recursive_directory_iterator(); ++entry) {
    const bool is_folder = fs::is_directory(entry->symlink_status());
    if (is_left_out(entry->path().filename())) {
      if (is_folder) entry.disable_recursion_pending();
      continue;
    }
    allowance.entry();
    const std::string path = entry->path().lexically_relative(folder).generic_string();
    require_short_name(path);
    if (!is_folder) see(entry->path(), path);
  }
}

std::vector<SubmittedFile> files_of_folder(const fs::path& folder) {
  std::vector<SubmittedFile> found;
  Allowance allowance;
  for_each_file(folder, allowance, [&](const fs::path& file, const std::string& path) {
    if (!is_source(path)) return;
    if (fs::is_symlink(fs::symlink_status(file))) {
      throw RefusedSubmission(quoted_name(path) +
                              " in it is a symbolic link; hand in plain files only.");
    }
    found.push_back({path, text_of(file, path, allowance)});
  });
  return found;
}

// The ending of a name, one of these; empty if it has none.
std::string ending_of(const std::string& name, const std::vector<std::string>& endings) {
  const auto found = std::ranges::find_if(
      endings, [&](const std::string& ending) { return name.ends_with(ending); });
  return found == endings.end() ? "" : *found;
}

const std::vector<std::string> kArchives = {".tar",     ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2",
                                            ".tar.zst", ".zip",    ".7z",  ".rar"};

}  // namespace

bool is_source(const fs::path& file) {
  return std::ranges::find(kSources, file.extension().string()) != kSources.end();
}

bool is_note(const fs::path& file) {
  return file.filename() == kNotebookName || file.filename() == kHistoryName;
}

bool is_left_out(const fs::path& path) {
  return std::ranges::any_of(path, [](const fs::path& part) {
    return part.string().starts_with('.') || part == "__MACOSX" || part == "build";
  });
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

void require_short_name(const std::string& path) {
  if (path.size() > kLongestPath) {
    throw RefusedSubmission("The path " + quoted_name(path) + " in it has " +
                            std::to_string(path.size()) + " bytes, more than " +
                            std::to_string(kLongestPath) + "; use shorter names.");
  }
}

std::string quoted_name(const std::string& name) {
  constexpr int kShown = 80;
  return "'" + short_line(name, kShown) + "'";
}

bool has_archive_name(const fs::path& file) {
  return !ending_of(file.filename().string(), kArchives).empty();
}

bool has_source_name(const fs::path& file) {
  return !ending_of(file.filename().string(), {".cpp", ".cu"}).empty();
}

std::string without_ending(const std::string& name) {
  const std::string ending = ending_of(name, kArchives) + ending_of(name, {".cpp", ".cu"});
  return name.substr(0, name.size() - ending.size());
}

std::optional<fs::file_time_type> last_change(const fs::path& place) {
  std::optional<fs::file_time_type> last;
  const auto see = [&](const fs::path& file) {
    std::error_code gone;
    const auto time = fs::last_write_time(file, gone);
    if (!gone && (!last || time > *last)) last = time;
  };
  try {
    Allowance allowance;
    if (fs::is_directory(fs::symlink_status(place))) {
      for_each_file(place, allowance, [&](const fs::path& file, const std::string& path) {
        if (is_source(path) && fs::is_regular_file(fs::symlink_status(file))) see(file);
      });
    }
  } catch (const fs::filesystem_error&) {  // whoever reads it says why
  } catch (const RefusedSubmission&) {
  }
  if (!last) see(place);
  return last;
}

std::vector<SubmittedFile> read_submitted_files(const fs::path& place, ArchiveReader read) try {
  std::vector<SubmittedFile> files;
  const fs::file_status status = fs::symlink_status(place);
  if (fs::is_directory(status)) {
    files = files_of_folder(place);
  } else if (!fs::is_regular_file(status)) {
    throw RefusedSubmission("It is neither a plain file nor a folder.");
  } else if (fs::file_size(place) == 0) {
    throw RefusedSubmission("The file is empty.");
  } else if (is_source(place)) {
    Allowance allowance;
    const std::string name = place.filename().string();
    files = {{name, text_of(place, name, allowance)}};
  } else {
    files = (read == nullptr ? read_archive_in_sandbox : read)(place);
  }
  if (std::ranges::none_of(files, is_source, &SubmittedFile::path)) {
    throw RefusedSubmission("It holds no source file; their names end in .cpp or .cu.");
  }
  std::ranges::sort(files, {}, &SubmittedFile::path);
  for (const SubmittedFile& file : files) {
    for (fs::path folder = fs::path(file.path).parent_path(); !folder.empty();
         folder = folder.parent_path()) {
      if (!std::ranges::binary_search(files, folder.generic_string(), {}, &SubmittedFile::path)) {
        continue;
      }
      throw RefusedSubmission(quoted_name(folder.generic_string()) +
                              " in it is a file and a folder.");
    }
  }
  return files;
} catch (const fs::filesystem_error& error) {
  cannot_read(error.path1().empty() ? place : error.path1(), error.code());
}

}  // namespace convlab::grader
