#include "grader/submission/sandbox/sandbox_processes.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>
#include <vector>

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> threads_of(pid_t process) {
  std::vector<fs::path> threads;
  std::error_code gone;
  const fs::path tasks = "/proc/" + std::to_string(process) + "/task";
  for (const auto& thread : fs::directory_iterator(tasks, gone)) threads.push_back(thread.path());
  return threads;
}

// Also orphans of descendants that ended.
std::vector<pid_t> with_descendants(pid_t first) {
  std::vector<pid_t> processes;
  if (first > 0) processes.push_back(first);
  for (std::size_t i = 0; i < processes.size(); ++i) {
    for (const fs::path& thread : threads_of(processes[i])) {
      std::ifstream children(thread / "children");
      for (pid_t child = 0; children >> child;) {
        if (std::ranges::find(processes, child) == processes.end()) processes.push_back(child);
      }
    }
  }
  return processes;
}

// The letter after the name, which is in parentheses and may contain anything; 'X' if it is gone.
char state_of(const fs::path& thread) {
  std::ifstream stat(thread / "stat");
  std::string line;
  std::getline(stat, line);
  const auto end = line.rfind(") ");
  return end == std::string::npos || end + 2 >= line.size() ? 'X' : line[end + 2];
}

// Memory files that are both open and mapped count twice: no convolution needs both.
std::int64_t open_memory_files(const std::string& place, std::set<ino_t>& seen) {
  constexpr std::int64_t kBlock = 512;
  std::int64_t bytes = 0;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(place + "/fd", unreadable)) {
    const fs::path target = fs::read_symlink(entry.path(), unreadable);
    struct stat status {};
    if (!target.string().starts_with("/memfd:")) continue;
    if (::stat(entry.path().c_str(), &status) != 0 || !seen.insert(status.st_ino).second) continue;
    bytes += std::int64_t{status.st_blocks} * kBlock;
  }
  return bytes;
}

}  // namespace

std::string living_thread(pid_t process) {
  for (const fs::path& thread : threads_of(process)) {
    const char state = state_of(thread);
    if (state != 'Z' && state != 'X') return thread.string();
  }
  return "/proc/" + std::to_string(process);
}

std::string thread_states(pid_t first) {
  std::string states;
  for (const pid_t process : with_descendants(first)) {
    for (const fs::path& thread : threads_of(process)) states += state_of(thread);
  }
  return states;
}

std::chrono::nanoseconds processor_time(pid_t first) {
  const std::vector<pid_t> processes = with_descendants(first);
  std::chrono::nanoseconds sum{processes.empty() ? -1 : 0};
  for (const pid_t process : processes) {
    clockid_t clock{};
    timespec time{};
    if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &time) != 0) continue;
    sum += std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  }
  return sum;
}

ThreadUse thread_use(pid_t first) {
  ThreadUse use{.computed = processor_time(first)};
  for (const pid_t process : with_descendants(first)) {
    for (const fs::path& thread : threads_of(process)) {
      use.states += state_of(thread);
      std::ifstream schedstat(thread / "schedstat");
      std::int64_t computed = 0;
      std::int64_t waited = 0;
      if (schedstat >> computed >> waited) use.waited += std::chrono::nanoseconds(waited);
    }
  }
  return use;
}

std::int64_t status_bytes(const std::string& place, std::initializer_list<const char*> counted) {
  constexpr std::int64_t kKibibyte = 1024;
  std::ifstream status(place + "/status");
  std::int64_t bytes = 0;
  for (std::string name; status >> name; std::getline(status, name)) {
    std::int64_t kibibytes = 0;
    const bool counts = std::ranges::find(counted, name) != counted.end();
    if (counts && status >> kibibytes) bytes += kibibytes * kKibibyte;
  }
  return bytes;
}

std::int64_t box_memory(pid_t first) {
  std::set<ino_t> files;
  std::int64_t bytes = 0;
  for (const pid_t process : with_descendants(first)) {
    const std::string place = living_thread(process);
    // RssShmem holds shared memory, with and without a name.
    bytes += status_bytes(place, {"RssAnon:", "RssShmem:", "VmSwap:", "VmPTE:"}) +
             open_memory_files(place, files);
  }
  return bytes;
}

}  // namespace convlab::grader
