#include "common/device/sm_clock.hpp"

#include "common/base/shared_library.hpp"

namespace convlab {

namespace {

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
  auto* const get_clock = device == nullptr ? nullptr : find_function<GetClock>(kLibrary, function);
  if (get_clock == nullptr || get_clock(device, kClockSm, &clock) != 0) return {};
  return static_cast<int>(clock);
}

}  // namespace

SmClock::SmClock(const std::string& pci_bus_id) {
  auto* const init = find_function<Init>(kLibrary, "nvmlInit_v2");
  auto* const get_handle = find_function<GetHandle>(kLibrary, "nvmlDeviceGetHandleByPciBusId_v2");
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
