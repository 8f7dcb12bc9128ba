#include "common/emulation/runtime/device_model.hpp"

#include <iterator>

#include "common/emulation/runtime/settings.hpp"

namespace convlab::emulation {
namespace {

constexpr std::size_t kKibibyte = 1024;

/// Limits by compute capability; a row holds for all capabilities below the next row's.
/// Source: CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability".
struct Limits {
  int compute_capability;
  std::size_t shared_per_block_optin;  ///< this and the next in KiB
  std::size_t shared_per_multiprocessor;
  int max_threads_per_multiprocessor;
  int max_blocks_per_multiprocessor;
};
constexpr Limits kLimits[] = {
    {50, 48, 64, 2048, 32},    {52, 48, 96, 2048, 32},   {53, 48, 64, 2048, 32},
    {61, 48, 96, 2048, 32},    {62, 48, 64, 2048, 32},   {70, 96, 96, 2048, 32},
    {75, 64, 64, 1024, 16},    {80, 163, 164, 2048, 32}, {86, 99, 100, 1536, 16},
    {87, 163, 164, 1536, 16},  {89, 99, 100, 1536, 24},  {90, 227, 228, 2048, 32},
    {110, 227, 228, 1536, 24}, {120, 99, 100, 1536, 24},
};

}  // namespace

DeviceModel make_device_model(int compute_capability, std::size_t memory_bytes) {
  const Limits* limits = std::begin(kLimits);
  for (const Limits& row : kLimits)
    if (row.compute_capability <= compute_capability) limits = &row;
  DeviceModel model;
  model.major = compute_capability / 10;
  model.minor = compute_capability % 10;
  if (memory_bytes != 0) model.memory_bytes = memory_bytes;
  model.shared_per_block_optin = limits->shared_per_block_optin * kKibibyte;
  model.shared_per_multiprocessor = limits->shared_per_multiprocessor * kKibibyte;
  model.shared_reserved = compute_capability < 80 ? 0 : kKibibyte;
  model.max_threads_per_multiprocessor = limits->max_threads_per_multiprocessor;
  model.max_blocks_per_multiprocessor = limits->max_blocks_per_multiprocessor;
  return model;
}

const DeviceModel& device_model() {
  static const DeviceModel model =
      make_device_model(settings().compute_capability, settings().memory_bytes);
  return model;
}

}  // namespace convlab::emulation
