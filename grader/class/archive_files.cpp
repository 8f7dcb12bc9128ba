#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <chrono>
#include <clocale>
#include <memory>
#include <new>
#include <set>

#include "common/base/error.hpp"
#include "common/base/printable.hpp"
#include "common/serve/channel.hpp"
#include "common/serve/serve.hpp"
#include "grader/class/submitted_files.hpp"
#include "grader/submission/sandbox/child_process.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

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
    ::archive_read_support_format_tar(a);
    ::archive_read_support_format_zip(a);
    ::archive_read_support_format_7zip(a);
    ::archive_read_support_format_rar(a);
    ::archive_read_support_format_rar5(a);
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
                            ". Hand in a .cpp or .cu file, or a .zip or .tar.gz of them.");
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

}  // namespace

std::vector<SubmittedFile> read_archive(const fs::path& file) {
  return Archive(file).files();
}

// A message is a file's path, a zero byte and a piece of its text; with an empty path it is the
// sentence of a refusal.
void answer_in_sandbox(const fs::path& file) {
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

}  // namespace convlab::grader
