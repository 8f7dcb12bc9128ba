#include "common/device/sm_clock.hpp"

#include <dlfcn.h>

namespace convlab {

// The used part of NVML, declared here because only the CUDA Toolkit has its header.
// Source: NVML API reference.
struct SmClock::Library {
  using Init = int (*)();
  using GetHandle = int (*)(const char* pci_bus_id, void** device);

  Library() : handle(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (handle == nullptr) return;
    const auto init = reinterpret_cast<Init>(dlsym(handle, "nvmlInit_v2"));
    get_handle = reinterpret_cast<GetHandle>(dlsym(handle, "nvmlDeviceGetHandleByPciBusId_v2"));
    get_clock = reinterpret_cast<GetClock>(dlsym(handle, "nvmlDeviceGetClockInfo"));
    get_highest_clock = reinterpret_cast<GetClock>(dlsym(handle, "nvmlDeviceGetMaxClockInfo"));
    usable = init != nullptr && get_handle != nullptr && get_clock != nullptr && init() == 0;
  }
  // NVML stays loaded until the process ends: its shutdown may wait for the driver.

  void* handle = nullptr;
  GetHandle get_handle = nullptr;
  GetClock get_clock = nullptr;
  GetClock get_highest_clock = nullptr;
  bool usable = false;
};

SmClock::SmClock(const std::string& pci_bus_id) : library_(std::make_unique<Library>()) {
  if (library_->usable && library_->get_handle(pci_bus_id.c_str(), &device_) != 0) {
    device_ = nullptr;
  }
}

SmClock::~SmClock() = default;

std::optional<int> SmClock::ask(GetClock get_clock) const {
  constexpr int kClockSm = 1;
  unsigned int clock = 0;
  if (device_ == nullptr || get_clock == nullptr || get_clock(device_, kClockSm, &clock) != 0) {
    return {};
  }
  return static_cast<int>(clock);
}

std::optional<int> SmClock::mhz() const {
  return ask(library_->get_clock);
}

std::optional<int> SmClock::highest_mhz() const {
  return ask(library_->get_highest_clock);
}

}  // namespace convlab
