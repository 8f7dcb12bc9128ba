#pragma once

#include <optional>
#include <string>

namespace convlab {

/// The name of the first GPU that NVIDIA's driver lists, "NVIDIA H200"; empty if none answers. Asks
/// the driver in a separate process, without any code of a submission and without the CUDA Toolkit.
/// CUDA_VISIBLE_DEVICES hides GPUs from this as from every program.
std::optional<std::string> answering_gpu();

/// The current clock of a GPU's multiprocessors, from the driver's management library (NVML).
class SmClock {
 public:
  /// @param pci_bus_id  "00000000:3b:00.0"; empty: of no GPU
  explicit SmClock(const std::string& pci_bus_id);

  /// In MHz; nothing without NVML, or if it gives no answer.
  [[nodiscard]] std::optional<int> mhz() const;

  /// The highest clock, in MHz; nothing in the same cases.
  [[nodiscard]] std::optional<int> highest_mhz() const;

 private:
  void* device_ = nullptr;
};

}  // namespace convlab
