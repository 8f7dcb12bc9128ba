#pragma once

#include <string>

#include "common/emulation/include/convlab_emulation/runtime_types.hpp"

namespace convlab::emulation {

/// How the tensor cores of a GPU add: so many products and C in one sum, cut to so many bits below
/// those of a float.
struct TensorCores {
  int extra_bits;  ///< at most 2
  int group;       ///< products of halves or bfloat16, at most 16
  int tf32_group;  ///< at most 8
};

/// What a GPU has, as far as a program can find it out. A row of the table in gpu_model.cpp.
struct GpuModel {
  const char* name;  ///< what CONVLAB_EMU_GPU calls it
  int major, minor;  ///< compute capability
  int multiprocessors;
  int shared_kib;           ///< of a multiprocessor
  int shared_block_kib;     ///< most for one block, static and dynamic, after cudaFuncSetAttribute
  int shared_reserved_kib;  ///< what the system takes of each block's part
  int threads;              ///< most at the same time on a multiprocessor
  int blocks;               ///< the same
  int memory_mib;           ///< unless CONVLAB_EMU_MEMORY says otherwise
  int l2_kib, bus_bits, memory_khz, clock_khz;
  TensorCores tensor_cores;
};

/// The GPU that is emulated, by CONVLAB_EMU_GPU; without it the limits of an A100 with
/// 16 GiB and the arithmetic of an H200.
const GpuModel& gpu_model();

/// What cudaGetDeviceProperties says of gpu_model().
const cudaDeviceProp& device_model();

/// The row with this name. @throws convlab::UsageError naming all rows
const GpuModel& find_gpu(const std::string& name);

}  // namespace convlab::emulation
