#include "grader/submission/gpu_probe.hpp"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "common/error/error.hpp"

namespace convlab::grader {

namespace {

// The driver's own interface, because the grader is built without the CUDA Toolkit.
// Source: CUDA Driver API reference, cuInit and cuDeviceGetCount.
bool ask_driver() {
  using Init = int (*)(unsigned flags);
  using GetCount = int (*)(int* count);
  void* driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return false;
  const auto init = reinterpret_cast<Init>(::dlsym(driver, "cuInit"));
  const auto get_count = reinterpret_cast<GetCount>(::dlsym(driver, "cuDeviceGetCount"));
  int count = 0;
  return init != nullptr && get_count != nullptr && init(0) == 0 && get_count(&count) == 0 &&
         count > 0;
}

}  // namespace

bool gpu_answers() {
  // In a process of its own: the driver starts threads, and may hang.
  constexpr unsigned kLimitSeconds = 30;
  const pid_t process = ::fork();
  if (process < 0) return false;
  if (process == 0) {
    ::signal(SIGALRM, SIG_DFL);
    ::alarm(kLimitSeconds);
    ::_exit(ask_driver() ? 0 : 1);
  }
  int status = 0;
  while (::waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) return false;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void refuse_silent_emulation(const DeviceState& device) {
  if (device.no_gpu.empty() || !gpu_answers()) return;
  throw EnvironmentError(
      "This machine has a GPU, but it does not answer the isolated program, which says: " +
      device.no_gpu +
      " So nothing was checked. build/bin/grader doctor tells what isolates it; "
      "CONVLAB_ISOLATION_READABLE=FOLDER lets it read a folder of libraries more, "
      "CONVLAB_ISOLATION_WITHOUT=files (or root, calls, proc, namespaces) leaves a part out; with "
      "CUDA_VISIBLE_DEVICES=-1 the check emulates a GPU.");
}

}  // namespace convlab::grader
