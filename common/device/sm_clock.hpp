#pragma once

#include <memory>
#include <optional>
#include <string>

namespace convlab {

/// The present clock of a GPU's multiprocessors, from the driver's management library (NVML). It is
/// loaded when asked for: neither building nor running needs it.
class SmClock {
 public:
  /// @param pci_bus_id  "00000000:3b:00.0"
  explicit SmClock(const std::string& pci_bus_id);
  ~SmClock();
  SmClock(const SmClock&) = delete;
  SmClock& operator=(const SmClock&) = delete;

  /// In MHz; nothing where there is no NVML or it does not tell.
  [[nodiscard]] std::optional<int> mhz() const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
  void* device_ = nullptr;
};

}  // namespace convlab
