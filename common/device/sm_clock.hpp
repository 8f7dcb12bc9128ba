#pragma once

#include <optional>
#include <string>

namespace convlab {

/// The current clock of a GPU's multiprocessors, from the driver's management library (NVML).
class SmClock {
 public:
  /// @param pci_bus_id  "00000000:3b:00.0"
  explicit SmClock(const std::string& pci_bus_id);

  /// In MHz; nothing without NVML, or if it gives no answer.
  [[nodiscard]] std::optional<int> mhz() const;

  /// The highest clock, in MHz; nothing in the same cases.
  [[nodiscard]] std::optional<int> highest_mhz() const;

 private:
  void* device_ = nullptr;
};

}  // namespace convlab
