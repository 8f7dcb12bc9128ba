#include "grader/submission/sandbox/sandbox_processes.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

template <class Look>
void for_each_thread(const std::vector<pid_t>& processes, Look look) {
  for (const pid_t process : processes) {
    std::error_code gone;
    const fs::path tasks = "/proc/" + std::to_string(process) + "/task";
    for (const auto& thread : fs::directory_iterator(tasks, gone)) look(thread.path());
  }
}

void add_with_children(pid_t process, std::vector<pid_t>& processes) {
  if (std::find(processes.begin(), processes.end(), process) != processes.end()) return;
  processes.push_back(process);
  for_each_thread({process}, [&](const fs::path& thread) {
    std::ifstream children(thread / "children");
    for (pid_t child = 0; children >> child;) add_with_children(child, processes);
  });
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
    if (target.string().rfind("/memfd:", 0) != 0) continue;
    if (::stat(entry.path().c_str(), &status) != 0 || !seen.insert(status.st_ino).second) continue;
    bytes += std::int64_t{status.st_blocks} * kBlock;
  }
  return bytes;
}

}  // namespace

std::vector<pid_t> sandbox_processes(pid_t first) {
  std::vector<pid_t> processes;
  if (first > 0) add_with_children(first, processes);
  return processes;
}

std::string living_thread(pid_t process) {
  std::string living;
  for_each_thread({process}, [&](const fs::path& thread) {
    const char state = state_of(thread);
    if (living.empty() && state != 'Z' && state != 'X') living = thread.string();
  });
  return living.empty() ? "/proc/" + std::to_string(process) : living;
}

std::string thread_states(const std::vector<pid_t>& processes) {
  std::string states;
  for_each_thread(processes, [&](const fs::path& thread) { states += state_of(thread); });
  return states;
}

bool all_stopped(const std::string& states) {
  return states.find_first_not_of("TtZXx") == std::string::npos;
}

bool one_is_ready(const std::string& states) {
  return states.find('R') != std::string::npos;
}

std::chrono::nanoseconds processor_time(const std::vector<pid_t>& processes) {
  std::chrono::nanoseconds sum{processes.empty() ? -1 : 0};
  for (const pid_t process : processes) {
    clockid_t clock{};
    timespec time{};
    if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &time) != 0) continue;
    sum += std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  }
  return sum;
}

std::chrono::nanoseconds waiting_time(const std::vector<pid_t>& processes) {
  std::chrono::nanoseconds sum{0};
  for_each_thread(processes, [&](const fs::path& thread) {
    std::ifstream schedstat(thread / "schedstat");
    std::int64_t computed = 0;
    std::int64_t waited = 0;
    if (schedstat >> computed >> waited) sum += std::chrono::nanoseconds(waited);
  });
  return sum;
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
  for (const pid_t process : sandbox_processes(first)) {
    const std::string place = living_thread(process);
    // RssShmem holds shared memory, with and without a name.
    bytes += status_bytes(place, {"RssAnon:", "RssShmem:", "VmSwap:", "VmPTE:"}) +
             open_memory_files(place, files);
  }
  return bytes;
}

}  // namespace convlab::grader
