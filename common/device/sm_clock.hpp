#pragma once

#include <memory>
#include <optional>
#include <string>

namespace convlab {

/// The current clock of a GPU's multiprocessors, from the driver's management library (NVML). It is
/// loaded at run time, so neither building nor running needs it.
class SmClock {
 public:
  /// @param pci_bus_id  "00000000:3b:00.0"
  explicit SmClock(const std::string& pci_bus_id);
  ~SmClock();
  SmClock(const SmClock&) = delete;
  SmClock& operator=(const SmClock&) = delete;

  /// In MHz; nothing without NVML, or if it gives no answer.
  [[nodiscard]] std::optional<int> mhz() const;

  /// The highest clock, in MHz; nothing in the same cases.
  [[nodiscard]] std::optional<int> highest_mhz() const;

 private:
  struct Library;
  using GetClock = int (*)(void* device, int which, unsigned int* mhz);
  [[nodiscard]] std::optional<int> ask(GetClock get_clock) const;

  std::unique_ptr<Library> library_;
  void* device_ = nullptr;
};

}  // namespace convlab
