#include "common/device/gpu_driver.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "common/base/library_function.hpp"

namespace convlab {

namespace {

using Name = std::array<char, 256>;

enum Answer { kAnswers, kSilent, kNoDriver };

// The driver's own interface, because the grader is built without the CUDA Toolkit.
// Source: CUDA Driver API reference, cuInit, cuDeviceGetCount, cuDeviceGetName.
Answer ask_driver(Name& name) {
  constexpr const char* kDriver = "libcuda.so.1";
  auto* const init = library_function<int(unsigned flags)>(kDriver, "cuInit");
  if (init == nullptr) return kNoDriver;
  auto* const get_count = library_function<int(int* count)>(kDriver, "cuDeviceGetCount");
  auto* const get_name =
      library_function<int(char* name, int size, int device)>(kDriver, "cuDeviceGetName");
  int count = 0;
  if (init(0) != 0 || get_count(&count) != 0 || count == 0) return kSilent;
  get_name(name.data(), static_cast<int>(name.size() - 1), 0);
  return kAnswers;
}

// The used part of NVML, declared here because only the CUDA Toolkit has its header. It stays
// loaded and open until the process ends: its shutdown may wait for the driver. Source: NVML API
// reference.
constexpr const char* kLibrary = "libnvidia-ml.so.1";
using Init = int();
using GetHandle = int(const char* pci_bus_id, void** device);
using GetClock = int(void* device, int which, unsigned int* mhz);

std::optional<int> ask(const char* function, void* device) {
  constexpr int kClockSm = 1;
  unsigned int clock = 0;
  auto* const get_clock =
      device == nullptr ? nullptr : library_function<GetClock>(kLibrary, function);
  if (get_clock == nullptr || get_clock(device, kClockSm, &clock) != 0) return {};
  return static_cast<int>(clock);
}

}  // namespace

std::optional<std::string> answering_gpu() {
  // In a separate process: the driver starts threads, and may hang.
  constexpr unsigned kLimitSeconds = 30;
  // A check asks at each start of a program. What has no driver now gets none meanwhile.
  static std::atomic<bool> has_no_driver{false};
  std::array<int, 2> pipe{};
  if (has_no_driver || ::pipe2(pipe.data(), O_CLOEXEC) != 0) return std::nullopt;
  const pid_t process = ::fork();
  if (process == 0) {
    ::signal(SIGALRM, SIG_DFL);
    ::alarm(kLimitSeconds);
    Name name{"a GPU"};
    const Answer answer = ask_driver(name);
    const bool is_told =
        answer == kAnswers && ::write(pipe[1], name.data(), std::strlen(name.data())) > 0;
    ::_exit(is_told ? kAnswers : answer == kNoDriver ? kNoDriver : kSilent);
  }
  ::close(pipe[1]);
  Name name{};
  while (process > 0 && ::read(pipe[0], name.data(), name.size() - 1) < 0 && errno == EINTR) {
  }
  ::close(pipe[0]);
  int status = 0;
  while (process > 0 && ::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (process > 0 && WIFEXITED(status) && WEXITSTATUS(status) == kNoDriver) has_no_driver = true;
  if (name[0] == '\0') return std::nullopt;
  return name.data();
}

SmClock::SmClock(const std::string& pci_bus_id) {
  if (pci_bus_id.empty()) return;
  auto* const init = library_function<Init>(kLibrary, "nvmlInit_v2");
  auto* const get_handle =
      library_function<GetHandle>(kLibrary, "nvmlDeviceGetHandleByPciBusId_v2");
  if (init == nullptr || get_handle == nullptr || init() != 0 ||
      get_handle(pci_bus_id.c_str(), &device_) != 0) {
    device_ = nullptr;
  }
}

std::optional<int> SmClock::mhz() const {
  return ask("nvmlDeviceGetClockInfo", device_);
}

std::optional<int> SmClock::highest_mhz() const {
  return ask("nvmlDeviceGetMaxClockInfo", device_);
}

}  // namespace convlab
