#pragma once

#include <cstdint>

#include "common/base/conv_shape.hpp"
#include "common/base/precision.hpp"
#include "common/device/device_info.hpp"

namespace convlab {

/// The limits of a device; 0 if unknown. A multiply-add counts as two operations.
struct DeviceLimits {
  double bytes_per_second = 0.0;        ///< of the device's memory, reads and writes together
  double cache_bytes_per_second = 0.0;  ///< between the L2 cache and all multiprocessors
  std::int64_t cache_bytes = 0;         ///< of the L2 cache
  double fp32_per_second = 0.0;         ///< operations of the arithmetic units
  double tf32_per_second = 0.0;         ///< of the tensor cores
  double fp16_per_second = 0.0;         ///< of the tensor cores, sums in single precision

  [[nodiscard]] double operations_per_second(Precision precision) const;
};

/// The limits that a GPU's properties promise: memory clock × bus width, multiprocessors × units ×
/// highest clock. Nothing runs faster; copies and kernels reach about nine tenths of it. All zero
/// unless the device is a GPU. A compute capability newer than the table of units counts as the
/// newest one there. Sources: CUDA C++ Programming Guide, "Throughput of native arithmetic
/// instructions"; NVIDIA's architecture white papers for the tensor cores (dense).
DeviceLimits limits_of(const DeviceInfo& info);

/// The measured limits, or the promised ones if none was measured. A measurement above the promise
/// is wrong and does not count.
DeviceLimits with_measured(DeviceLimits promised, const DeviceLimits& measured);

/// The least traffic of one convolution, each element once, in bytes.
struct CompulsoryTraffic {
  std::int64_t read = 0;     ///< input elements that some window covers, and the weights
  std::int64_t written = 0;  ///< the output

  [[nodiscard]] std::int64_t bytes() const { return read + written; }
};

CompulsoryTraffic compulsory_traffic(const ConvShape& shape);

/// The least time of one convolution, in milliseconds; 0 if a limit is unknown.
struct PhysicalBound {
  /// All compulsory traffic at the memory's full speed: for data that is not in a cache before and
  /// must be in memory afterwards.
  double memory_ms = 0.0;
  /// All operations of the direct sum at the peak of the units of that precision.
  double arithmetic_ms = 0.0;
  /// No honest time is shorter, whatever the method; see physical_bound.
  double impossible_ms = 0.0;

  /// The bound that plots show and stages try to reach.
  [[nodiscard]] double ms() const { return memory_ms > arithmetic_ms ? memory_ms : arithmetic_ms; }
};

/// An honest stage may be faster than ms(): at small batches the L2 cache still holds inputs or
/// keeps outputs, and Winograd's method or a Fourier transform replaces most of the operations.
/// impossible_ms counts only what no method avoids: inputs beyond the size of the cache come from
/// memory, outputs beyond it must reach memory before the kernel ends, and everything passes
/// between the cache and the multiprocessors.
///
/// Source of the idea: Williams, Waterman, Patterson, Roofline, CACM 52 (2009).
PhysicalBound physical_bound(const ConvShape& shape, const DeviceLimits& limits,
                             Precision precision = Precision::kFp32);

}  // namespace convlab
