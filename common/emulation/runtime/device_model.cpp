#include "common/emulation/runtime/device_model.hpp"

#include "common/emulation/runtime/settings.hpp"

namespace convlab::emulation {
namespace {

constexpr std::size_t kKibibyte = 1024;

DeviceModel make_model(int compute_capability, std::size_t memory_bytes) {
  DeviceModel model;
  model.major = compute_capability / 10;
  model.minor = compute_capability % 10;
  if (memory_bytes != 0) model.memory_bytes = memory_bytes;
  if (compute_capability < 70) {
    model.shared_per_block_optin = 48 * kKibibyte;
    model.shared_per_multiprocessor = 64 * kKibibyte;
    model.shared_reserved = 0;
  } else if (compute_capability < 75) {
    model.shared_per_block_optin = 96 * kKibibyte;
    model.shared_per_multiprocessor = 96 * kKibibyte;
    model.shared_reserved = 0;
  } else if (compute_capability < 80) {
    model.shared_per_block_optin = 64 * kKibibyte;
    model.shared_per_multiprocessor = 64 * kKibibyte;
    model.shared_reserved = 0;
    model.max_threads_per_multiprocessor = 1024;
    model.max_blocks_per_multiprocessor = 16;
  } else if (compute_capability == 86 || compute_capability == 89) {
    model.shared_per_block_optin = 99 * kKibibyte;
    model.shared_per_multiprocessor = 100 * kKibibyte;
    model.max_threads_per_multiprocessor = 1536;
    model.max_blocks_per_multiprocessor = compute_capability == 89 ? 24 : 16;
  } else if (compute_capability >= 90) {
    model.shared_per_block_optin = 227 * kKibibyte;
    model.shared_per_multiprocessor = 228 * kKibibyte;
  }
  return model;
}

}  // namespace

const DeviceModel& device_model() {
  static const DeviceModel model =
      make_model(settings().compute_capability, settings().memory_bytes);
  return model;
}

}  // namespace convlab::emulation
