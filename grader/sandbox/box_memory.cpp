#include "grader/sandbox/box_memory.hpp"

#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>

#include "grader/sandbox/box_processes.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kKibibyte = 1024;

// Of /proc/PID/status; RssShmem holds shared memory, with and without a name.
std::int64_t mapped_bytes(const std::string& place) {
  constexpr std::array<std::string_view, 4> kCounted = {
      "RssAnon:", "RssShmem:", "VmSwap:", "VmPTE:"};
  std::ifstream status(place + "/status");
  std::int64_t bytes = 0;
  std::string name;
  while (status >> name) {
    std::int64_t kibibytes = 0;
    for (const std::string_view counted : kCounted) {
      if (name == counted && status >> kibibytes) bytes += kibibytes * kKibibyte;
    }
    std::getline(status, name);
  }
  return bytes;
}

// Memory files that are both open and mapped count twice: no convolution needs both.
std::int64_t open_memory_files(const std::string& place, std::set<ino_t>& seen) {
  constexpr std::int64_t kBlock = 512;
  std::int64_t bytes = 0;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(place + "/fd", unreadable)) {
    const fs::path target = fs::read_symlink(entry.path(), unreadable);
    struct stat status {};
    if (target.string().rfind("/memfd:", 0) != 0) continue;
    if (::stat(entry.path().c_str(), &status) != 0 || !seen.insert(status.st_ino).second) continue;
    bytes += std::int64_t{status.st_blocks} * kBlock;
  }
  return bytes;
}

std::int64_t bytes_of(pid_t process, std::set<pid_t>& visited, std::set<ino_t>& files) {
  if (!visited.insert(process).second) return 0;
  const std::string place = living_thread(process);
  std::int64_t bytes = mapped_bytes(place) + open_memory_files(place, files);
  std::error_code gone;
  for (const auto& thread :
       fs::directory_iterator("/proc/" + std::to_string(process) + "/task", gone)) {
    std::ifstream children(thread.path() / "children");
    for (pid_t child = 0; children >> child;) bytes += bytes_of(child, visited, files);
  }
  return bytes;
}

}  // namespace

std::int64_t box_memory(pid_t process) {
  std::set<pid_t> visited;
  std::set<ino_t> files;
  return bytes_of(process, visited, files);
}

}  // namespace convlab::grader
