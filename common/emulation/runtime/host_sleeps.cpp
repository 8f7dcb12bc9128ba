#include "common/emulation/runtime/host_sleeps.hpp"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>
#include <utility>

#include "common/emulation/runtime/handles.hpp"
#include "common/emulation/runtime/kernel_process.hpp"
#include "common/emulation/runtime/signals.hpp"

namespace convlab::emulation {
namespace {

/// The threads that run kernels.
struct Workers {
  std::mutex mutex;
  std::set<std::string> numbers;
};

constexpr const char* kThreads = "/proc/self/task";

/// The other threads of the host, and how often each has gone to sleep.
struct OtherThreads {
  bool sleep = true;
  std::map<std::string, std::int64_t> wakings{};
};

OtherThreads look_at_others() {
  OtherThreads others;
  const std::lock_guard lock(only<Workers>().mutex);
  const std::string own = std::to_string(::syscall(SYS_gettid));
  std::error_code gone;
  for (const auto& thread : std::filesystem::directory_iterator(kThreads, gone)) {
    const std::string number = thread.path().filename();
    if (number == own || only<Workers>().numbers.contains(number)) continue;
    std::ifstream status(thread.path() / "status");
    std::string rest;
    for (std::string key; status >> key; std::getline(status, rest)) {
      std::string state;
      if (key == "State:" && status >> state && state != "S" && state != "Z") others.sleep = false;
      std::int64_t switches = 0;
      if (key.ends_with("voluntary_ctxt_switches:") && status >> switches)
        others.wakings[number] += switches;
    }
  }
  return others;
}

void refuse_thread() {
  EmulationReport report{.fault = {.kind = FaultKind::kHostThread}};
  report.what =
      "a thread of the host ran while a copy used device memory, where nobody sees "
      "what it reads";
  fail_on_host(std::move(report), __builtin_return_address(0));
}

}  // namespace

void note_worker() {
  if (is_copy()) return;  // there nobody asks for them
  const std::lock_guard lock(only<Workers>().mutex);
  only<Workers>().numbers.insert(std::to_string(::syscall(SYS_gettid)));
}

HostSleeps::HostSleeps() {
  if (!runs_apart()) return;
  static std::recursive_mutex one_at_a_time;
  lock_ = std::unique_lock(one_at_a_time);
  struct stat threads {};
  // "." and the directory above count, too; and this thread.
  if (::stat(kThreads, &threads) != 0 || threads.st_nlink <= 3) return;
  // Of the processor, so that a busy machine refuses nobody.
  constexpr std::clock_t kPatience = 2 * CLOCKS_PER_SEC;
  const std::clock_t start = std::clock();
  std::chrono::microseconds pause(20);
  OtherThreads others = look_at_others();
  for (; !others.sleep; others = look_at_others()) {
    if (std::clock() - start > kPatience) refuse_thread();
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(1000));
  }
  wakings_ = std::move(others.wakings);
}

HostSleeps::~HostSleeps() {
  if (!wakings_) return;
  const OtherThreads others = look_at_others();
  // One that runs kernels may have said so only now.
  for (const auto& [number, wakings] : others.wakings) {
    const auto before = wakings_->find(number);
    if (before != wakings_->end() && before->second == wakings) continue;
    refuse_thread();
    return;
  }
  if (!others.sleep) refuse_thread();
}

}  // namespace convlab::emulation
