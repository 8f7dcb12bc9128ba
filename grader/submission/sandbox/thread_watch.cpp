#include "grader/submission/sandbox/thread_watch.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <sstream>
#include <utility>

#include "common/base/error.hpp"

namespace convlab::grader {

namespace {

constexpr int kOpen = O_RDONLY | O_CLOEXEC;

// The whole text of a small file of /proc from its beginning; empty if what it tells of is gone.
std::string text_of(const Descriptor& file) {
  std::string text;
  std::array<char, 1024> part{};
  for (;;) {
    const ssize_t size =
        ::pread(file.get(), part.data(), part.size(), static_cast<off_t>(text.size()));
    if (size > 0) text.append(part.data(), static_cast<std::size_t>(size));
    // Less than was asked for is the end: a second read would only say so.
    if (size < static_cast<ssize_t>(part.size())) return text;
  }
}

struct Stat {
  char state = 'X';
  std::size_t threads = 0;  ///< of its process
};

// The name stands in parentheses and may contain anything. Field 3 is the state, field 20 the
// number of threads.
Stat stat_of(const Descriptor& file) {
  const std::string text = text_of(file);
  const auto end = text.rfind(") ");
  if (end == std::string::npos) return {};
  std::istringstream fields(text.substr(end + 2));
  Stat stat;
  fields >> stat.state;
  std::string skipped;
  for (int field = 4; field < 20; ++field) fields >> skipped;
  fields >> stat.threads;
  return stat;
}

// An open file that tells of a thread, if that still exists.
Descriptor open_at(const Descriptor& folder, const std::string& name, int more = 0) {
  Descriptor file(::openat(folder.is_open() ? folder.get() : AT_FDCWD, name.c_str(), kOpen | more));
  if (!file.is_open() && errno != ENOENT && errno != ESRCH) {
    throw EnvironmentError("Cannot look at the submission's threads (" + name +
                           "): " + std::strerror(errno) + ".");
  }
  return file;
}

}  // namespace

void ThreadWatch::list_threads(Process& process) {
  if (!process.tasks.is_open()) {
    process.tasks = open_at({}, "/proc/" + std::to_string(process.number) + "/task", O_DIRECTORY);
    // The clock of all threads of a process; the C library would ask the system whether it exists.
    constexpr unsigned kOfScheduler = 2;
    process.clock =
        static_cast<clockid_t>(~static_cast<unsigned>(process.number) << 3 | kOfScheduler);
  }
  std::vector<Thread> before = std::exchange(process.threads, {});
  if (!process.tasks.is_open()) return;
  const int again = open_at(process.tasks, ".", O_DIRECTORY).release();
  if (again < 0) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::fdopendir(again), ::closedir);
  while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
    const std::string name = entry->d_name;
    const pid_t number = std::atoi(name.c_str());
    if (number <= 0) continue;
    const auto known = std::ranges::find(before, number, &Thread::number);
    if (known != before.end() && stat_of(known->stat).state != 'X') {
      process.threads.push_back(std::move(*known));
    } else {
      process.threads.push_back({.number = number,
                                 .stat = open_at(process.tasks, name + "/stat"),
                                 .children = open_at(process.tasks, name + "/children")});
    }
  }
}

void ThreadWatch::look_at(Process& process) {
  // A second time if threads have come or gone since the last look.
  for (int attempt = 0;; ++attempt) {
    bool is_complete = !process.threads.empty();
    for (Thread& thread : process.threads) {
      const Stat stat = stat_of(thread.stat);
      thread.state = stat.state;
      is_complete = is_complete && stat.threads == process.threads.size();
    }
    if (is_complete || attempt == 1) return;
    list_threads(process);
  }
}

void ThreadWatch::look_at_all() {
  const auto children_of = [](const Process& process) {
    std::string numbers;
    for (const Thread& thread : process.threads) numbers += text_of(thread.children) + ' ';
    return numbers;
  };
  look_at(warden_);
  std::istringstream found(children_of(warden_));
  for (std::size_t i = 0;; ++i) {
    for (pid_t number = 0; found >> number;) {
      if (std::ranges::find(processes_, number, &Process::number) != processes_.end()) continue;
      processes_.emplace_back().number = number;
    }
    if (i == processes_.size()) break;
    look_at(processes_[i]);
    found = std::istringstream(children_of(processes_[i]));
  }
  std::erase_if(processes_, [](const Process& process) { return process.threads.empty(); });
}

ThreadUse ThreadWatch::use_of(const std::vector<Process>& processes) {
  ThreadUse use;
  for (const Process& process : processes) {
    std::string states;
    for (const Thread& thread : process.threads) states += thread.state;
    const bool has_begun = states.find_first_of("Tt") != std::string::npos;
    const char* const quiet = has_begun ? "TtZXxS" : "ZXx";
    use.stopped = use.stopped && states.find_first_not_of(quiet) == std::string::npos;
    use.states += states;
  }
  return use;
}

ThreadUse ThreadWatch::look() {
  look_at_all();
  return use_of(processes_);
}

bool ThreadWatch::are_stopped() {
  for (Process& process : processes_) {
    for (Thread& thread : process.threads) thread.state = stat_of(thread.stat).state;
  }
  return use_of(processes_).stopped;
}

ThreadUse ThreadWatch::look_with_times() {
  ThreadUse use = look();
  use.computed = processor_time();
  for (const Process& process : processes_) {
    for (const Thread& thread : process.threads) {
      std::istringstream text(
          text_of(open_at(process.tasks, std::to_string(thread.number) + "/schedstat")));
      std::int64_t computed = 0;
      std::int64_t waited = 0;
      if (text >> computed >> waited) use.waited += std::chrono::nanoseconds(waited);
    }
  }
  return use;
}

std::chrono::nanoseconds ThreadWatch::processor_time() const {
  std::chrono::nanoseconds sum{processes_.empty() ? -1 : 0};
  for (const Process& process : processes_) {
    timespec time{};
    if (::clock_gettime(process.clock, &time) != 0) continue;
    sum += std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  }
  return sum;
}

std::vector<pid_t> ThreadWatch::processes() const {
  std::vector<pid_t> numbers;
  for (const Process& process : processes_) numbers.push_back(process.number);
  return numbers;
}

std::string ThreadWatch::folder_of(pid_t process) {
  const std::string folder = "/proc/" + std::to_string(process);
  std::error_code gone;
  for (const auto& thread : std::filesystem::directory_iterator(folder + "/task", gone)) {
    const char state = stat_of(open_at({}, thread.path().string() + "/stat")).state;
    if (state != 'Z' && state != 'X') return thread.path().string();
  }
  return folder;
}

}  // namespace convlab::grader
