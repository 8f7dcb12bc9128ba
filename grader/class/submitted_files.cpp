#include "grader/class/submitted_files.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <clocale>
#include <functional>
#include <memory>
#include <new>
#include <set>
#include <system_error>

#include "common/base/address_sanitizer.hpp"
#include "common/base/error.hpp"
#include "common/base/printable.hpp"
#include "common/base/whole_file.hpp"
#include "common/serve/channel.hpp"
#include "common/serve/serve.hpp"
#include "grader/submission/sandbox/child_process.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

[[maybe_unused]] bool is_isolated = false;

// Counts the files and bytes of one submission, so that an archive made to fill a disk is not read
// to its end.
class Allowance {
 public:
  void entry() {
    if (++entries_ <= kMostEntries) return;
    throw RefusedSubmission("It holds more than " + std::to_string(kMostEntries) +
                            " files; hand in only what grader submit packs.");
  }
  void bytes(std::size_t count) {
    bytes_ += count;
    if (bytes_ <= kMostBytes) return;
    throw RefusedSubmission("Unpacked it is larger than " + std::to_string(kMostBytes >> 20) +
                            " MiB; hand in only what grader submit packs.");
  }

 private:
  std::size_t entries_ = 0;
  std::size_t bytes_ = 0;
};

// The name between quotes, printable and not too long.
std::string quoted_name(const std::string& name) {
  constexpr int kShown = 80;
  return "'" + short_line(name, kShown) + "'";
}

void require_short(const std::string& path, std::size_t size) {
  if (size <= kMostSourceBytes) return;
  throw RefusedSubmission("Its source " + quoted_name(path) + " is longer than " +
                          std::to_string(kMostSourceBytes >> 20) + " MiB.");
}

void require_short_name(const std::string& path) {
  if (path.size() <= kLongestPath) return;
  throw RefusedSubmission("The path " + quoted_name(path) + " in it has " +
                          std::to_string(path.size()) + " bytes, more than " +
                          std::to_string(kLongestPath) + "; use shorter names.");
}

// The ending of a name, one of these; empty if it has none.
std::string ending_of(const std::string& name, const std::vector<std::string>& endings) {
  const auto found = std::ranges::find_if(
      endings, [&](const std::string& ending) { return name.ends_with(ending); });
  return found == endings.end() ? "" : *found;
}

// Of sources that count in a submission, of the sources among them that are compiled, and of
// archives.
const std::vector<std::string> kSources = {".cpp", ".cc", ".cu", ".cuh", ".h", ".hpp"};
const std::vector<std::string> kCompiled = {".cpp", ".cc", ".cu"};
const std::vector<std::string> kArchives = {".tar",     ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2",
                                            ".tar.zst", ".zip",    ".7z",  ".rar"};

bool is_source(const std::string& path) {
  return !ending_of(path, kSources).empty();
}

// What grader submit packs beside the sources; no point depends on it.
bool is_note(const fs::path& file) {
  return file.filename() == "notebook.json" || file.filename() == "history.jsonl";
}

// What is no work of the student's: what begins with a dot, the folder that macOS adds to archives,
// and build folders.
bool is_left_out(const fs::path& path) {
  return std::ranges::any_of(path, [](const fs::path& part) {
    return part.string().starts_with('.') || part == "__MACOSX" || part == "build";
  });
}

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

/// A checked name of an archive: it stays inside the folder and is printable.
std::string safe_path(const char* name) {
  if (name == nullptr || *name == '\0') throw RefusedSubmission("A file in it has no name.");
  std::string path = name;
  std::ranges::replace(path, '\\', '/');  // as some programs of Windows pack
  require_short_name(path);
  if (printable_line(path) != path) {
    throw RefusedSubmission("The name " + quoted_name(path) +
                            " in it holds control characters or is no UTF-8; use plain letters.");
  }
  const fs::path normal = fs::path(path).lexically_normal();
  const fs::path raw(path);
  if (normal.is_absolute() ||
      std::ranges::any_of(raw, [](const fs::path& part) { return part == ".."; })) {
    throw RefusedSubmission("The name " + quoted_name(path) +
                            " in it leaves the archive's folder: it begins with '/', or has '..'.");
  }
  return normal.generic_string();
}

class Archive {
 public:
  explicit Archive(const fs::path& file) : archive_(::archive_read_new(), ::archive_read_free) {
    archive* a = archive_.get();
    if (a == nullptr) throw EnvironmentError("There is not enough memory to read archives.");
    for (const auto support :
         {::archive_read_support_format_tar, ::archive_read_support_format_zip,
          ::archive_read_support_format_7zip, ::archive_read_support_format_rar,
          ::archive_read_support_format_rar5, ::archive_read_support_format_empty,
          ::archive_read_support_filter_gzip, ::archive_read_support_filter_bzip2,
          ::archive_read_support_filter_xz, ::archive_read_support_filter_zstd}) {
      support(a);
    }
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
      // The other name is none where the sandbox's locale cannot write it.
      const char* name = ::archive_entry_pathname_utf8(entry);
      const std::string path = safe_path(name != nullptr ? name : ::archive_entry_pathname(entry));
      if (is_left_out(path)) {
        data(path, false);
        continue;
      }
      if (::archive_entry_filetype(entry) == AE_IFDIR) continue;
      const bool counts = is_source(path) || is_note(path);
      const bool is_plain =
          ::archive_entry_hardlink(entry) == nullptr && ::archive_entry_filetype(entry) == AE_IFREG;
      if (counts && !is_plain) {
        throw RefusedSubmission(quoted_name(path) +
                                " in it is a link, a device or a pipe; hand in plain files only.");
      }
      if (!names.insert(path).second) {
        throw RefusedSubmission("It holds two files of the name " + quoted_name(path) + ".");
      }
      std::string text = data(path, counts);
      if (counts) found.push_back({path, std::move(text)});
    }
    if (names.empty()) throw RefusedSubmission("The archive is empty.");
    return found;
  }

 private:
  void require(int code) const {
    // A warning concerns times, owners or a name's encoding, which do not matter here.
    if (code == ARCHIVE_OK || code == ARCHIVE_WARN) return;
    const char* reason = ::archive_error_string(archive_.get());
    throw RefusedSubmission("It cannot be read as an archive: " +
                            printable_line(reason == nullptr ? "it is damaged" : reason) +
                            ". Hand in a .cpp, .cc or .cu file, or a .zip or .tar.gz of them.");
  }

  // Other files are read, too, because only then their bytes are counted.
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
      if (is_note(path) && static_cast<std::size_t>(offset) + size > kMostNoteBytes) {
        text.clear();
        keep = false;
        continue;
      }
      require_short(path, static_cast<std::size_t>(offset) + size);
      text.resize(static_cast<std::size_t>(offset), '\0');
      text.append(static_cast<const char*>(block), size);
    }
  }

  std::unique_ptr<archive, decltype(&::archive_read_free)> archive_;
  Allowance allowance_;
};

// An archive is untrusted, and the library that reads it is large. So a separate process reads it
// in the sandbox of a submission, as `grader class unpack`: no network, no file except the archive,
// limits of memory and time.
std::vector<SubmittedFile> read_archive_in_sandbox(const fs::path& file) {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  const fs::path archive = fs::canonical(file);
  constexpr std::uint64_t kMemory = std::uint64_t{2} << 30;
  constexpr std::uint64_t kProcessorSeconds = 60;
  constexpr std::chrono::seconds kPatience{300};
  constexpr std::size_t kLongest = 2 * kMostBytes;
  ChildProcess process(program, {"class", "unpack", archive.string()},
                       {.policy = {.kind = SandboxKind::kCpu,
                                   .readable = {archive},
                                   .cpu_seconds = kProcessorSeconds,
                                   .data_bytes = kMemory}});
  std::vector<SubmittedFile> files;
  std::size_t received = 0;
  auto part = process.receive(kPatience);
  // The answer is not trusted: a broken reader may have written it.
  for (; std::holds_alternative<Message>(part); part = process.receive(kPatience)) {
    const std::string& text = std::get<Message>(part).text;
    const std::string path = text.c_str();  // up to the zero byte
    received += text.size();
    if (path.size() == text.size()) {
      throw RefusedSubmission("It cannot be read as an archive; pack it again.");
    }
    if (path.empty()) throw RefusedSubmission(printable_line(text.substr(1)));
    if (received > kLongest) throw RefusedSubmission("Its sources are too long.");
    if (files.empty() || files.back().path != path) files.push_back({safe_path(path.c_str()), ""});
    files.back().text.append(text, path.size() + 1);
    require_short(path, files.back().text.size());
  }
  const Ending ending = std::get<Ending>(part);
  if (ending.kind == Ending::Kind::kNoStart ||
      (ending.kind == Ending::Kind::kExited && ending.code != 0)) {
    throw EnvironmentError("The program that reads archives failed: " +
                           printable_line(process.output_tail()));
  }
  if (ending.kind != Ending::Kind::kExited) {
    throw RefusedSubmission(
        "Reading it as an archive takes too long or too much memory, or ends the reader; pack it "
        "again with grader submit.");
  }
  return files;
}

}  // namespace

bool has_archive_name(const fs::path& file) {
  return !ending_of(file.string(), kArchives).empty();
}

bool has_source_name(const fs::path& file) {
  return !ending_of(file.string(), kCompiled).empty();
}

std::string without_ending(const std::string& name) {
  const std::string ending = ending_of(name, kArchives) + ending_of(name, kCompiled);
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
  } catch (const std::runtime_error&) {  // whoever reads it says why
  }
  if (!last) see(place);
  return last;
}

std::vector<SubmittedFile> read_archive(const fs::path& file) {
  return Archive(file).files();
}

// A message is a file's path, a zero byte and a piece of its text; with an empty path it is the
// sentence of a refusal.
void answer_in_sandbox(const fs::path& file) {
  is_isolated = true;
  // Otherwise libarchive gives no names of other languages. No variable tells the sandbox a
  // language.
  std::setlocale(LC_CTYPE, "C.UTF-8");
  const auto send = [](const std::string& path, const std::string& text) {
    const std::size_t most = kMaxMessage - path.size() - 1;
    for (std::size_t at = 0; at == 0 || at < text.size(); at += most) {
      if (!send_message(kServeDescriptor, path + '\0' + text.substr(at, most))) return;
    }
  };
  try {
    for (const SubmittedFile& each : read_archive(file)) send(each.path, each.text);
  } catch (const RefusedSubmission& refused) {
    send("", refused.what());
  } catch (const std::bad_alloc&) {
    send("", "Reading it takes too much memory.");
  }
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
    throw RefusedSubmission("It holds no source file; their names end in .cpp, .cc or .cu.");
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

CONVLAB_NO_SEARCH_FOR_LEAKS_IF(convlab::grader::is_isolated)
