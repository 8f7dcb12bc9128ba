#include "grader/submission/sandbox/scratch_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "common/base/error.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

constexpr const char* kBeginning = "convlab-";

Descriptor open_folder(const fs::path& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool lock(const Descriptor& folder) {
  return folder.is_open() && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0;
}

// Another grader's folder has no lock in the first moment after its creation, so only folders older
// than a minute are removed.
bool is_fresh(const Descriptor& folder) {
  constexpr std::time_t kMinute = 60;
  struct stat status {};
  return ::fstat(folder.get(), &status) != 0 || status.st_mtime > std::time(nullptr) - kMinute;
}

}  // namespace

void remove_leftovers(const fs::path& parent, const char* beginning) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(parent, failed)) {
    if (entry.path().filename().string().rfind(beginning, 0) != 0) continue;
    const Descriptor folder = open_folder(entry.path());
    if (!folder.is_open() || is_fresh(folder) || !lock(folder)) continue;
    fs::remove_all(entry.path(), failed);
  }
}

ScratchFolder::ScratchFolder() {
  std::error_code failed;
  const fs::path parent = fs::temp_directory_path(failed);
  static std::atomic<bool> tidied = false;
  if (!tidied.exchange(true)) remove_leftovers(parent, kBeginning);
  std::string name = (parent / (std::string(kBeginning) + "XXXXXX")).string();
  if (failed || ::mkdtemp(name.data()) == nullptr) {
    throw EnvironmentError("Cannot make a folder for the submission in " + parent.string() + ": " +
                           (failed ? failed.message() : std::strerror(errno)) + ".");
  }
  path_ = name;
  lock_ = open_folder(path_);
  lock(lock_);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace convlab::grader
