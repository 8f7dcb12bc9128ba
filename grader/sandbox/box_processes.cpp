#include "grader/sandbox/box_processes.hpp"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

void add_with_children(pid_t process, std::vector<pid_t>& processes) {
  if (std::find(processes.begin(), processes.end(), process) != processes.end()) return;
  processes.push_back(process);
  std::error_code gone;
  for (const auto& thread :
       fs::directory_iterator("/proc/" + std::to_string(process) + "/task", gone)) {
    std::ifstream children(thread.path() / "children");
    for (pid_t child = 0; children >> child;) add_with_children(child, processes);
  }
}

// The letter behind the name, which stands in parentheses and may hold anything; 'X' if it is gone.
char state_of(const fs::path& thread) {
  std::ifstream stat(thread / "stat");
  std::string line;
  std::getline(stat, line);
  const auto end = line.rfind(") ");
  return end == std::string::npos || end + 2 >= line.size() ? 'X' : line[end + 2];
}

}  // namespace

std::vector<pid_t> box_processes(pid_t first) {
  std::vector<pid_t> processes;
  if (first > 0) add_with_children(first, processes);
  return processes;
}

bool all_stopped(const std::vector<pid_t>& processes) {
  constexpr std::string_view kStill = "TtZXx";
  for (const pid_t process : processes) {
    std::error_code gone;
    for (const auto& thread :
         fs::directory_iterator("/proc/" + std::to_string(process) + "/task", gone)) {
      if (kStill.find(state_of(thread.path())) == std::string_view::npos) return false;
    }
  }
  return true;
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

}  // namespace convlab::grader
