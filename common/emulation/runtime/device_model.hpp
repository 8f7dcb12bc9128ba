#pragma once

#include <cstddef>

namespace convlab::emulation {

/// The GPU that is emulated: the limits of compute capability 8.0 (an A100) with 16 GiB, unless
/// CONVLAB_EMU_CC and CONVLAB_EMU_MEMORY say otherwise.
/// Source: CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability".
struct DeviceModel {
  int major = 8;
  int minor = 0;
  std::size_t memory_bytes = std::size_t{16} << 30U;
  int multiprocessors = 108;
  int max_threads_per_block = 1024;
  int max_threads_per_multiprocessor = 2048;
  int max_blocks_per_multiprocessor = 32;
  unsigned max_block_x = 1024, max_block_y = 1024, max_block_z = 64;
  unsigned max_grid_x = 2147483647, max_grid_y = 65535, max_grid_z = 65535;
  std::size_t shared_per_block = std::size_t{48} << 10U;  ///< without opting in
  std::size_t shared_per_block_optin = std::size_t{163} << 10U;
  std::size_t shared_per_multiprocessor = std::size_t{164} << 10U;
  std::size_t shared_reserved = 1024;  ///< for the system, in each block
  std::size_t constant_bytes = std::size_t{64} << 10U;
  int registers_per_block = 65536;
};

/// @param compute_capability  75 for 7.5
/// @param memory_bytes        0 for the usual amount
DeviceModel make_device_model(int compute_capability, std::size_t memory_bytes);

/// The device that the settings of this process ask for.
const DeviceModel& device_model();

}  // namespace convlab::emulation
